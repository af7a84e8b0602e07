// Appending operators, and the rules of a module.
#include "host/compiler/ir/module.hpp"

#include <set>

#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::ir {

ValueId Module::add(Op op) {
  for (const ValueId operand : op.operands)
    if (index_of(operand) >= values_.size())
      invalid("{}: operand %{} is not computed before it", name_of(op.kind), index_of(operand));
  if (ops_.size() >= kMaxOps) unsupported("the model has more than {} operators when it is unrolled", kMaxOps);
  const auto first = static_cast<ValueId>(values_.size());
  for (auto& result : infer(op, operand_types(op))) {
    op.results.push_back(static_cast<ValueId>(values_.size()));
    values_.push_back({std::move(result), static_cast<uint32_t>(ops_.size())});
  }
  ops_.push_back(std::move(op));
  return first;
}

ValueId Module::add_parameter(const std::string& called, const TensorType& type) {
  Op op{.kind = OpKind::kParameter,
        .operands = {},
        .results = {},
        .attributes = {},
        .constant = {},
        .regions = {},
        .origin = {}};
  op.attributes = {{"name", called}, {"element", std::string(name_of(type.element))}, {"dims", type.dims}};
  inputs.push_back(add(std::move(op)));
  return inputs.back();
}

Types Module::operand_types(const Op& op) const {
  Types types;
  types.reserve(op.operands.size());
  for (const ValueId operand : op.operands) types.push_back(type(operand));
  return types;
}

Status verify(const Module& module) {
  return guarded([&] {
    std::vector<bool> computed(module.values().size());
    std::set<std::string> names;
    for (size_t i = 0; i < module.ops().size(); i++) {
      const Op& op = module.ops()[i];
      for (const ValueId operand : op.operands)
        if (index_of(operand) >= computed.size() || !computed[index_of(operand)])
          invalid("{}: operand %{} is not computed before it", name_of(op.kind), index_of(operand));
      for (const auto& region : op.regions) {
        if (!region) invalid("{}: a region is missing", name_of(op.kind));
        if (auto status = verify(*region); !status.ok()) throw Refusal{status.error()};
      }
      const Types types = infer(op, module.operand_types(op));
      if (types.size() != op.results.size())
        invalid("{}: {} results; it has {}", name_of(op.kind), op.results.size(), types.size());
      for (size_t r = 0; r < types.size(); r++) {
        const size_t result = index_of(op.results[r]);
        if (result >= computed.size() || computed[result] || module.value(op.results[r]).op != i)
          invalid("{}: result %{} is another operator's", name_of(op.kind), result);
        if (module.type(op.results[r]) != types[r])
          invalid("{}: result %{} has type {}; the operator computes {}", name_of(op.kind), result,
                  module.type(op.results[r]).text(), types[r].text());
        computed[result] = true;
      }
      if (op.kind == OpKind::kParameter && !names.insert(op.word("name")).second)
        invalid("there are two inputs '{}'", op.word("name"));
    }
    if (names.size() != module.inputs.size()) invalid("{} parameters, {} inputs", names.size(), module.inputs.size());
    for (const ValueId input : module.inputs)
      if (index_of(input) >= computed.size() || module.op_of(input).kind != OpKind::kParameter)
        invalid("input %{} is no parameter", index_of(input));
    names.clear();
    for (const auto& output : module.outputs) {
      if (index_of(output.value) >= computed.size() || !computed[index_of(output.value)])
        invalid("output '{}' is computed by nothing", output.name);
      if (!names.insert(output.name).second) invalid("there are two outputs '{}'", output.name);
    }
    return Ok{};
  });
}

}  // namespace weft::compiler::ir
