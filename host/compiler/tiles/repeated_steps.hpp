/// Equal layers of a program: runs of steps, one behind the other, that differ in their constants alone.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "host/compiler/program.hpp"
#include "host/compiler/tiles/step_places.hpp"

namespace weft::compiler::tiles {

/// A value that a turn leaves to the next one.
struct Carry {
  TensorPlace initial;             ///< what the first turn reads: a value before the loop, an argument or a constant
  uint64_t rows = 0, columns = 0;  ///< as the first turn reads it
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_F32;
  TensorPlace in, out;  ///< in the steps of the body
  TensorPlace left;     ///< by the last turn: what the steps behind the loop read
  std::string name;     ///< of the step that computes it
};

/// A program whose equal steps are there once. Its constants are laid out anew: what a turn alone reads lies in a window
/// of `window_bytes` that begins at `window_offset` in the first turn, and as far behind that in each turn as it is long.
struct LoopedSteps {
  std::vector<Step> before, body, after;
  std::vector<Carry> carries;
  std::vector<TensorPlace> kept;  ///< values from before the loop that it, or what is behind it, reads in scratch
  std::vector<std::byte> constants;
  uint64_t window_offset = 0, window_bytes = 0;
  uint8_t window_segment = 0;
  uint32_t turns = 0;
  std::vector<std::vector<std::string>> names;  ///< by turn: those of the body's steps
};

/// Steps [first, first + layers x period) of a program: layers of which each is the one before on other constants.
struct Repetition {
  size_t first = 0, period = 0, layers = 0;
};

/// Those that might be equal layers, the one that leaves fewest steps first.
[[nodiscard]] std::vector<Repetition> repetitions(const Program& program);

/// The repetition as a loop with so many layers in a turn; those that are left come behind it. Nothing: a layer reads
/// what is neither its own, the last layer's, nor from before all of them; or somebody else reads what is in them.
[[nodiscard]] std::optional<LoopedSteps> loop_of(const Program& program, const Repetition& repetition,
                                                 uint32_t layers_of_turn);

}  // namespace weft::compiler::tiles
