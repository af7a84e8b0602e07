// One operator after the other, by a table.
#include "host/compiler/reference/evaluate.hpp"

#include <algorithm>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/reference/rules.hpp"

namespace weft::compiler::reference {
namespace {

using ir::OpKind;

/// All operators that are no entry are elementwise.
const std::map<OpKind, Rule>& rules() {
  static const std::map<OpKind, Rule> table{
      {OpKind::kParameter, nullptr},
      {OpKind::kConstant, constant},
      {OpKind::kIota, iota},
      {OpKind::kCompare, compare},
      {OpKind::kSelect, select},
      {OpKind::kConvert, convert},
      {OpKind::kBitcastConvert, bitcast_convert},
      {OpKind::kReducePrecision, reduce_precision},
      {OpKind::kBroadcast, broadcast},
      {OpKind::kReshape, reshape},
      {OpKind::kTranspose, transpose},
      {OpKind::kSlice, slice},
      {OpKind::kDynamicSlice, dynamic_slice},
      {OpKind::kDynamicUpdateSlice, dynamic_update_slice},
      {OpKind::kPad, pad},
      {OpKind::kConcatenate, concatenate},
      {OpKind::kReverse, reverse},
      {OpKind::kGather, gather},
      {OpKind::kScatter, scatter},
      {OpKind::kScatterBy, scatter_by},
      {OpKind::kSort, sort},
      {OpKind::kDotGeneral, dot_general},
      {OpKind::kConvolution, convolution},
      {OpKind::kCholesky, cholesky},
      {OpKind::kTriangularSolve, triangular_solve},
      {OpKind::kLu, lu},
      {OpKind::kQr, qr},
      {OpKind::kHouseholderProduct, householder_product},
      {OpKind::kEigh, eigh},
      {OpKind::kReduce, reduce},
      {OpKind::kReduceWindow, reduce_window},
      {OpKind::kReduceBy, reduce_by},
      {OpKind::kReduceWindowBy, reduce_window_by},
      {OpKind::kSelectAndScatter, select_and_scatter},
      {OpKind::kSortBy, sort_by},
      {OpKind::kWhile, while_loop},
      {OpKind::kCase, case_of},
      {OpKind::kManual, manual},
      {OpKind::kCollective, collective},
      {OpKind::kPartitionId, partition_id},
      {OpKind::kCallback, callback},
  };
  return table;
}

constexpr uint64_t kMaxLiveBytes = 12ull << 30;

}  // namespace

Rule rule_of(OpKind kind) {
  const auto found = rules().find(kind);
  return found == rules().end() ? elementwise : found->second;
}

void check_work(const ir::Op& op, double work) {
  if (work > kMaxWork)
    ir::unsupported("{}: {:.3g} operations in one operator; the host computes at most {:.3g}", name_of(op.kind), work,
                    kMaxWork);
}

std::vector<ir::TensorPtr> evaluate_op(const ir::Op& op, const std::vector<ir::TensorPtr>& operands,
                                       const ir::Types& results) {
  const Rule rule = rule_of(op.kind);
  if (rule == nullptr) ir::invalid("{} '{}' has no value", name_of(op.kind), op.word("name"));
  return rule(op, operands, results);
}

void evaluate_ops(const ir::Module& module, const std::vector<uint32_t>& ops, Environment& environment,
                  const std::vector<ir::ValueId>& kept) {
  std::map<ir::ValueId, uint32_t> last;  // operator of `ops` that reads a value last
  for (const uint32_t index : ops)
    for (const ir::ValueId operand : module.ops()[index].operands) last[operand] = index;
  for (const ir::ValueId value : kept) last.erase(value);
  uint64_t live = 0;
  for (const auto& [value, tensor] : environment) live += tensor->data.size();
  for (const uint32_t index : ops) {
    const ir::Op& op = module.ops()[index];
    if (std::ranges::all_of(op.results, [&](ir::ValueId r) { return environment.contains(r); })) continue;
    std::vector<ir::TensorPtr> operands;
    for (const ir::ValueId operand : op.operands) operands.push_back(environment.at(operand));
    ir::Types types;
    for (const ir::ValueId result : op.results) {
      types.push_back(module.type(result));
      live += types.back().bytes();
    }
    if (live > kMaxLiveBytes)
      ir::unsupported("{} '{}': more than {} bytes of values at a time", name_of(op.kind), op.origin.node,
                      kMaxLiveBytes);
    auto values = evaluate_op(op, operands, types);
    for (size_t r = 0; r < values.size(); r++) environment[op.results[r]] = std::move(values[r]);
    for (const ir::ValueId operand : op.operands)
      if (const auto found = last.find(operand); found != last.end() && found->second == index)
        if (const auto value = environment.find(operand); value != environment.end()) {
          live -= value->second->data.size();
          environment.erase(value);
        }
  }
}

Result<std::vector<ir::TensorPtr>> evaluate(const ir::Module& module, const std::vector<ir::TensorPtr>& inputs) {
  return ir::guarded([&] {
    if (inputs.size() != module.inputs.size())
      ir::invalid("{} inputs are given, the model has {}", inputs.size(), module.inputs.size());
    Environment environment;
    for (size_t i = 0; i < inputs.size(); i++) {
      const auto& type = module.type(module.inputs[i]);
      if (inputs[i]->type != type)
        ir::invalid("input '{}' is {}, the model has it as {}", module.input_name(module.inputs[i]),
                    inputs[i]->type.text(), type.text());
      environment[module.inputs[i]] = inputs[i];
    }
    std::vector<uint32_t> ops;
    for (uint32_t i = 0; i < module.ops().size(); i++)
      if (module.ops()[i].kind != OpKind::kParameter) ops.push_back(i);
    std::vector<ir::ValueId> kept;
    for (const auto& output : module.outputs) kept.push_back(output.value);
    evaluate_ops(module, ops, environment, kept);
    std::vector<ir::TensorPtr> outputs;
    for (const auto& output : module.outputs) outputs.push_back(environment.at(output.value));
    return outputs;
  });
}

}  // namespace weft::compiler::reference
