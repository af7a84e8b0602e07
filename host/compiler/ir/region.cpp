// Copies operators, value by value.
#include "host/compiler/ir/region.hpp"

namespace weft::compiler::ir {

std::vector<ValueId> write_out(Module& to, const Module& region, const std::vector<ValueId>& arguments) {
  std::vector<ValueId> values(region.values().size());
  for (size_t i = 0; i < region.inputs.size(); i++) values[index_of(region.inputs[i])] = arguments[i];
  for (const Op& op : region.ops()) {
    if (op.kind == OpKind::kParameter) continue;
    Op copy = op;
    copy.results.clear();
    for (auto& operand : copy.operands) operand = values[index_of(operand)];
    const auto results = to.op_of(to.add(std::move(copy))).results;
    for (size_t r = 0; r < results.size(); r++) values[index_of(op.results[r])] = results[r];
  }
  std::vector<ValueId> outputs;
  for (const auto& output : region.outputs) outputs.push_back(values[index_of(output.value)]);
  return outputs;
}

}  // namespace weft::compiler::ir
