/// What regions that are applied element by element are made of.
#pragma once
#include "host/compiler/ir/op.hpp"

namespace weft::compiler::ir {

/// Whether an operator of a region on scalars means the same on vectors, element by element.
[[nodiscard]] bool is_elementwise(const Op& op);

}  // namespace weft::compiler::ir
