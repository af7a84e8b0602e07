/// Gradients as a transformation of a network: reverse-mode differentiation of L1.
#pragma once
#include <cstddef>
#include <vector>

#include "host/compiler/ir/module.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler::passes {

/// What is differentiated, and by what.
struct GradientRequest {
  size_t output = 0;                        ///< number of the output, one float element: the loss
  std::vector<size_t> inputs;               ///< numbers of the inputs, of floats
  std::vector<ir::ValueId> constants = {};  ///< values that count as constants: no gradient goes through them
};

/// The module with an output "gradient of NAME" behind its own for each input of the request, in the request's order and
/// of the input's type: the derivative of the loss by each of the input's elements, zero where the loss does not depend on
/// it. A gradient is computed in the type of its value; contributions to one value are added in the reverse order of the
/// operators that read it. Of a maximum or minimum of two values that are equal each gets half, of a value and a constant
/// the value gets nothing (a relu's gradient at 0 is 0); of a reduction to the largest or smallest, equal elements share.
///
/// INVALID_ARGUMENT: there is no such output or input, or it has another type. UNSUPPORTED: the loss depends on a requested
/// input through an operator that has no gradient here; the message names operator and node.
[[nodiscard]] Result<ir::Module> with_gradients(const ir::Module& module, const GradientRequest& request);

}  // namespace weft::compiler::passes
