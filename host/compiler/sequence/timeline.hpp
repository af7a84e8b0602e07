/// When the commands of programs begin, by the closed forms of their units: an order of commands of several programs in
/// which none waits for one behind it.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/compiler/executable/control_list.hpp"
#include "weft/spec/chips.hpp"

namespace weft::compiler {

/// Cycles at which the commands of each queue begin. Each queue's ascend, and a command's are at least those of all that
/// have posted what it waits for.
using Beginnings = std::array<std::vector<uint64_t>, WEFT_CORE_QUEUES>;

/// From a cycle until before another one.
struct CycleSpan {
  uint64_t begin = 0, end = 0;
};

struct Timeline {
  std::vector<Beginnings> chips;  ///< as the blocks
  uint64_t cycles = 0;            ///< until the last command has ended
  /// By chip: when an MXU or the vector unit works, ascending and apart, and when data leave for another chip.
  std::vector<std::vector<CycleSpan>> work, sent;
};

/// Runs the chips' blocks against each other. `numbers`: of the chips, which remote commands name. `link_bytes_per_second`:
/// of the link to each chip that is sent to; others' data do not share it. Nothing: some command waits for ever.
[[nodiscard]] std::optional<Timeline> timeline(const spec::Chip& chip, uint64_t link_bytes_per_second,
                                               std::span<const Block* const> blocks,
                                               const std::vector<uint32_t>& numbers);

}  // namespace weft::compiler
