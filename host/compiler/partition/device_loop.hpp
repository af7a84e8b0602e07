/// A loop of L1 as programs that the firmware's control list runs: a turn, and what is before the first one.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/ir/module.hpp"
#include "host/compiler/partition/loop_windows.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler {

/// The state is what goes from turn to turn. Of a loop whose turns have been counted there is no `begin`, and no turn
/// tells whether there is another one; only such a loop reads and stores slices.
struct DeviceLoop {
  std::vector<size_t> state;      ///< operands of the loop, and its results of the same numbers
  std::optional<uint64_t> turns;  ///< counted, 1 or more; none: as long as a turn says so
  /// Inputs: the state, then operands `turn_reads`, then a slice of each of `slices_read`. Outputs: the state behind the
  /// turn, which lies as the state before it; then a slice of each of `slices_stored`, or 1 or 0: whether there is
  /// another turn.
  Graph turn;
  /// Inputs: the state, then operands `begin_reads`. Outputs: the same state, and then the same word.
  std::optional<Graph> begin;
  std::vector<size_t> turn_reads, begin_reads;
  std::vector<LoopWindow> slices_read, slices_stored;

  /// Operands of the loop that a launch reads: the state, turn_reads, slices_read, begin_reads; and results that it
  /// writes: the state, slices_stored.
  [[nodiscard]] std::vector<size_t> operands() const;
  [[nodiscard]] std::vector<size_t> results() const;
  /// These as tensors. It has no nodes.
  [[nodiscard]] Graph signature() const;
};

/// The `while` of a module. UNSUPPORTED: a turn has no product, or something that the host computes; the message is a
/// reason to leave it to the host.
[[nodiscard]] Result<DeviceLoop> device_loop(const ir::Module& module, const ir::Op& loop);

}  // namespace weft::compiler
