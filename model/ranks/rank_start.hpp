/// What the ranks of a slice were started with, where each was started by itself.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "model/chip/rank_link.hpp"

namespace weft::ranks {

/// Of one rank.
struct RankStart {
  std::string program;  ///< of which build it is
  std::string options;  ///< one a line
  std::string host;
  uint32_t process = 0;

  [[nodiscard]] std::string where() const;  ///< "process 4711 on host"
  friend bool operator==(const RankStart&, const RankStart&) = default;
};

/// Of this process.
[[nodiscard]] RankStart rank_start(std::string options);

/// The rank has died, or is taken for dead: on this machine its process is gone. Of one on another machine nothing is
/// known but how long it has been waited for since all were asked to end.
[[nodiscard]] bool is_gone(const RankStart& rank, const RankStart& own, std::chrono::steady_clock::duration waited);

/// Tells all other ranks of this one, and returns all of them. Blocks until all have come.
[[nodiscard]] std::vector<RankStart> tell_starts(chip::RankLink& link, const RankStart& own);

/// Ranks that simulate a slice together must be one program with the same options: else what the first one that is not
/// like rank 0 has, as a sentence that names it. Empty: all are alike.
[[nodiscard]] std::string find_difference(const std::vector<RankStart>& ranks);

}  // namespace weft::ranks
