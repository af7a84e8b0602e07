/// The reference: evaluates L1 on the host, one operator after the other. It computes the islands of a program, folds
/// constants, and is what device results are compared with.
#pragma once
#include <map>
#include <vector>

#include "host/compiler/ir/module.hpp"

namespace weft::compiler::reference {

/// Values of one run. A value is there once its operator has been evaluated.
using Environment = std::map<ir::ValueId, ir::TensorPtr>;

/// The operator's results from its operands, which have the operator's types. f32 is computed in f32 (products and sums
/// too), f64 in f64, f16 and bf16 in f32 with one rounding of each result; integers wrap. Gives up (ir::Refusal) where
/// the results or the work are too large. One thread.
[[nodiscard]] std::vector<ir::TensorPtr> evaluate_op(const ir::Op& op, const std::vector<ir::TensorPtr>& operands,
                                                     const ir::Types& results);

/// Evaluates the operators `ops` of the module, ascending. `environment` holds what they read and computes nothing
/// twice; a value that no later operator of `ops` reads is dropped unless it is among `kept`.
void evaluate_ops(const ir::Module& module, const std::vector<uint32_t>& ops, Environment& environment,
                  const std::vector<ir::ValueId>& kept);

/// The outputs of the module on these inputs, both in the module's order. INVALID_ARGUMENT: an input of another type.
/// UNSUPPORTED: it takes too much memory or work.
[[nodiscard]] Result<std::vector<ir::TensorPtr>> evaluate(const ir::Module& module,
                                                          const std::vector<ir::TensorPtr>& inputs);

}  // namespace weft::compiler::reference
