/// Who has come to which BARRIER of a slice. No time, no messages.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "model/golden/check.hpp"
#include "weft/spec/commands.hpp"

namespace weft::chip {

/// A chip is at one barrier at a time. A barrier ends when all chips of its group have come with one signature. It
/// fails for all who wait when a signature differs, or when two barriers wait for chips that wait at the other one;
/// whoever of the group comes later fails too, until all have come once.
class SliceBarriers {
 public:
  struct Release {
    uint32_t chip;
    std::optional<golden::Fault> fault;
  };

  /// A chip comes; its command is legal. Those to be released now.
  [[nodiscard]] std::vector<Release> arrive(uint32_t chip, const spec::BarrierCommand& command);
  /// The chip's core was reset: it does not wait any more.
  void forget(uint32_t chip);

 private:
  using Key = std::array<uint16_t, 7>;
  struct Barrier {
    std::vector<uint32_t> group;              // ascending
    std::map<uint32_t, uint32_t> signatures;  // of those who have come, by chip
    std::optional<golden::Fault> failure;
  };
  static Key key_of(const spec::BarrierCommand& command);
  static bool crossed(const Barrier& a, const Barrier& b);
  static void fail(Barrier& barrier, const golden::Fault& fault, std::vector<Release>& released);

  std::map<Key, Barrier> barriers_;
};

}  // namespace weft::chip
