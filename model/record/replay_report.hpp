/// What a replay has found, for people and for programs.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "model/record/replayer.hpp"

namespace weft::record {

struct ReplayContext {
  std::string file;
  std::string_view recorded_core;
  std::string_view core;
  std::string_view recorded_manager, manager;  ///< "native", "rv32", "ibex"
  uint32_t recorded_image = 0, image = 0;      ///< CRC-32 of the firmware's image; 0: native
  Pace pace = Pace::kCycles;
};

/// What was replayed, of one file or of all files of a slice.
struct Recorded {
  std::string preset, slice;  ///< slice: empty if it was a chip alone
  uint32_t chips = 1, functions = 1;
  uint64_t bytes = 0, records = 0;
  std::string ending;
  std::string cut;  ///< why the first file that is cut off was not read to its end
};
[[nodiscard]] Recorded recorded(std::span<const std::unique_ptr<Recording>> recordings);

/// Some lines, the last one without a newline: "identical ..." or the first difference.
std::string replay_text(const ReplayContext& context, const Recorded& recorded, const ReplayResult& result);
/// One object, fields as docs/replay.md lists them.
std::string replay_json(const ReplayContext& context, const Recorded& recorded, const ReplayResult& result);

}  // namespace weft::record
