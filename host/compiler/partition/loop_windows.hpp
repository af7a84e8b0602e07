/// What a counted loop reads and stores slice by slice, at a place that its turn decides.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "host/compiler/ir/module.hpp"

namespace weft::compiler {

/// In turn t it is slice first + step t of the outermost dimension.
struct LoopWindow {
  size_t operand = 0;  ///< of the loop
  int64_t first = 0, step = 0;
  uint64_t slices = 0;
};

/// A turn whose slices are values of their own. Parameters are "operand N" for operand N of the loop that is still read
/// and for what is carried still, and "slice N" for reads[N].
struct WindowedTurn {
  ir::Module module;            ///< outputs: what is carried still, then what is stored
  std::vector<size_t> carried;  ///< operands of the loop
  std::vector<LoopWindow> reads, stores;
};

/// `turn` has parameters of the same names; the first outputs are what the loop carries. `initial`: numbers that carried
/// values begin with, if they are known. A slice that is stored replaces all that was there in so many turns.
[[nodiscard]] WindowedTurn with_windows(const ir::Module& turn, const std::vector<std::optional<int64_t>>& initial,
                                        uint64_t turns);

}  // namespace weft::compiler
