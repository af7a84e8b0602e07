/// Whether what a network has computed is what the reference of L1 computes, as near as its arithmetic lets it be.
#pragma once
#include <string>
#include <vector>

#include "host/compiler/ir/module.hpp"

namespace weft::graphs {

struct OutputVerdict {
  std::string wrong;   ///< empty: nothing
  size_t outputs = 0;  ///< that have been compared
  double error = 0;    ///< the largest, relative to the output's size (L2)
};

/// `planned`: a module before any pass, none of whose operators jumps. Its outputs on these inputs, in its order.
[[nodiscard]] OutputVerdict compare_outputs(const compiler::ir::Module& planned,
                                            const std::vector<compiler::ir::TensorPtr>& inputs,
                                            const std::vector<compiler::ir::TensorPtr>& outputs);

}  // namespace weft::graphs
