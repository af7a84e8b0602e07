/// The commands after a program's steps that end it in a fault.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "testbench/random/program_plan.hpp"

namespace weft::random {

inline constexpr uint64_t kEndingWords = 4;

/// What the steps of a program leave for its ending.
struct EndingRoom {
  std::vector<uint8_t> drained;  ///< semaphores that are 0 once all steps have run
  std::vector<uint8_t> unused;   ///< semaphores that no step uses
  std::optional<uint64_t> vmem;  ///< byte address of kEndingWords words that no step touches
  uint64_t draw = 0;             ///< random bits
};

/// Appends the commands of plan.ending to `program` and sets the fault in which it must end. False: there is no room.
[[nodiscard]] bool append_ending(const Plan& plan, const EndingRoom& room, Program& program);

/// The segment that a plan with Ending::kBusError or kIndex maps: it begins where HBM or host memory ends.
[[nodiscard]] golden::Segment beyond_memory(const spec::Chip& chip, weft_address_space space);

}  // namespace weft::random
