// Constant folding, by the reference.
#include <algorithm>

#include "host/compiler/ir/devices.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"
#include "host/compiler/reference/evaluate.hpp"

namespace weft::compiler::passes {
namespace {

constexpr uint64_t kMostBytes = 1ull << 30;   // of a folded result
constexpr uint64_t kRepeatedBytes = 1 << 12;  // of one that repeats or counts: larger ones are made when they are used

bool worth_folding(const ir::Module& module, const ir::Op& op) {
  uint64_t bytes = 0, read = 0;
  for (const auto result : op.results) bytes += module.type(result).bytes();
  for (const auto operand : op.operands) read += module.type(operand).bytes();
  // Bytes as words are weights, to which a zero point comes, and then they are bytes again.
  if (op.kind == ir::OpKind::kConvert && ir::bytes_of(module.type(op.operands[0]).element) == 1 &&
      module.type(op.results[0]).element == ir::ElementType::kI32)
    read *= 4;
  return bytes <= std::max(read, kRepeatedBytes) && bytes <= kMostBytes;
}

/// The value of a constant, or of one that is repeated or counted; null: it is computed.
ir::TensorPtr known(const ir::Module& module, ir::ValueId value) {
  const ir::Op& op = module.op_of(value);
  if (op.constant) return op.constant;
  if (op.kind == ir::OpKind::kIota) return reference::evaluate_op(op, {}, {module.type(value)})[0];
  if (op.kind != ir::OpKind::kBroadcast || !module.op_of(op.operands[0]).constant) return nullptr;
  return reference::evaluate_op(op, {module.op_of(op.operands[0]).constant}, {module.type(value)})[0];
}

bool all_known(const ir::Module& module, const ir::Op& op) {
  return std::ranges::all_of(op.operands, [&](ir::ValueId operand) {
    const ir::Op& from = module.op_of(operand);
    return from.constant || from.kind == ir::OpKind::kIota ||
           (from.kind == ir::OpKind::kBroadcast && module.op_of(from.operands[0]).constant);
  });
}

}  // namespace

ir::Module fold(const ir::Module& module) {
  Rewriter rewriter(module);
  for (const auto& op : module.ops()) {
    auto mapped = rewriter.mapped(op);
    // What repeats or counts stays as it is, and is a constant to whoever reads it. A manual computation may be in another
    // one, where each device has its own result.
    const bool computes = op.kind != ir::OpKind::kParameter && op.kind != ir::OpKind::kConstant &&
                          op.kind != ir::OpKind::kBroadcast && op.kind != ir::OpKind::kIota &&
                          op.kind != ir::OpKind::kManual && !ir::reads_outside(op);
    if (!computes || op.results.size() != 1 || !all_known(rewriter.to(), mapped) || !worth_folding(module, op)) {
      rewriter.add(op, std::move(mapped));
      continue;
    }
    std::vector<ir::TensorPtr> constants;
    for (const auto operand : mapped.operands) constants.push_back(known(rewriter.to(), operand));
    ir::Op constant;
    constant.kind = ir::OpKind::kConstant;
    constant.origin = op.origin;
    constant.constant = reference::evaluate_op(op, constants, {module.type(op.results[0])})[0];
    rewriter.add(op, std::move(constant));
  }
  return rewriter.finish();
}

}  // namespace weft::compiler::passes
