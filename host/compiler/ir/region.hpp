/// What operators with regions share: regions that are applied element by element, and regions in place of their operator.
#pragma once
#include <vector>

#include "host/compiler/ir/module.hpp"

namespace weft::compiler::ir {

/// Whether an operator of a region on scalars means the same on vectors, element by element.
[[nodiscard]] bool is_elementwise(const Op& op);

/// Appends the operators of a region on these arguments; its outputs.
std::vector<ValueId> write_out(Module& to, const Module& region, const std::vector<ValueId>& arguments);

}  // namespace weft::compiler::ir
