/// A loop as one kernel with a control list, whose turns read and write their state in memory.
#pragma once
#include <optional>
#include <vector>

#include "host/compiler/partition/loop_windows.hpp"
#include "host/compiler/program.hpp"

namespace weft::compiler {

/// Programs of lower_joined(). Arguments of each: the state, what else it reads, each slice that a turn reads; the state,
/// which lies as before, and each slice that a turn stores.
struct LoopPrograms {
  size_t state = 0;               ///< values
  std::optional<uint64_t> turns;  ///< none: a word behind the state is 0 when the loop has ended
  std::vector<LoopWindow> slices_read, slices_stored;
  Program turn;
  std::optional<Program> begin;  ///< there unless the turns are counted
};

struct LoopKernel {
  Kernel kernel;
  /// Of the state, of what a turn reads, of what it reads by slices, of what `begin` reads; then of the state when the loop
  /// has ended, and of what is stored by slices.
  std::vector<ArgumentPlace> places;
};

/// Errors of compile_fitting and of a control list.
[[nodiscard]] Result<LoopKernel> compile_loop(const spec::Chip& chip, const LoopPrograms& loop);

}  // namespace weft::compiler
