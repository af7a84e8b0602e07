/// What a run of a program shows from outside: when everything happened, and what is left. Two cores that run the same
/// program have the same record.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::random {

struct RunRecord {
  std::string core;  ///< whose run it is, as it stands in a sentence: "the RTL"
  /// A unit takes a command, or the command retires.
  struct Event {
    bool retires = false;
    unsigned unit = 0;
    uint16_t tag = 0;
    uint64_t cycle = 0;
    bool operator==(const Event&) const = default;
  };
  std::vector<Event> events;        ///< in the order in which the observer was told
  uint64_t end_cycle = 0;           ///< the first one in which the core is not busy
  std::vector<uint64_t> registers;  ///< status, interrupt, first and last cycle, the fault's
  std::vector<uint64_t> counters;   ///< by weft_counter
  std::vector<std::byte> vmem, acc, memory;
};

/// The first thing that differs, as a sentence; empty if nothing does. Records without an event and without a
/// fault differ from each other: where nothing ran, nothing was compared.
[[nodiscard]] std::string first_difference(const RunRecord& one, const RunRecord& other);

}  // namespace weft::random
