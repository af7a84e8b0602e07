// Which values have a gradient, and the operators in reverse order.
#include "host/compiler/passes/gradients.hpp"

#include <algorithm>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/passes/gradient_rules.hpp"

namespace weft::compiler::passes {

using ir::OpKind;
using ir::ValueId;

namespace {

void check(const ir::Module& module, const GradientRequest& request) {
  if (request.output >= module.outputs.size())
    ir::invalid("gradients of output {} of a module of {}", request.output, module.outputs.size());
  const auto& loss = module.outputs[request.output];
  const auto& type = module.type(loss.value);
  if (!ir::is_float(type.element) || type.count() != 1)
    ir::invalid("gradients of output '{}' of type {}: it must be one float", loss.name, type.text());
  for (const size_t input : request.inputs) {
    if (input >= module.inputs.size())
      ir::invalid("gradients by input {} of a module of {}", input, module.inputs.size());
    const auto& by = module.type(module.inputs[input]);
    if (!ir::is_float(by.element))
      ir::invalid("gradients by input '{}' of type {}: it must be of floats", module.input_name(module.inputs[input]),
                  by.text());
  }
  for (const ValueId value : request.constants)
    if (index_of(value) >= module.values().size())
      ir::invalid("value %{} counts as a constant: there is none", index_of(value));
}

/// By value: whether it is of floats and depends on a requested input.
std::vector<bool> active_values(const ir::Module& module, const GradientRequest& request) {
  std::vector<bool> active(module.values().size());
  for (const size_t input : request.inputs) active[index_of(module.inputs[input])] = true;
  for (const auto& op : module.ops())
    if (std::ranges::any_of(op.operands, [&](ValueId operand) { return active[index_of(operand)]; }))
      for (const ValueId result : op.results)
        active[index_of(result)] = ir::is_float(module.type(result).element) &&
                                   std::ranges::find(request.constants, result) == request.constants.end();
  return active;
}

}  // namespace

void GradientRules::add(ValueId value, ValueId gradient) {
  if (!wanted(value)) return;
  auto& sum = gradients_[index_of(value)];
  sum = sum ? to_.plus(*sum, gradient) : gradient;
}

void GradientRules::pass_on(const ir::Op& op) {
  const bool reads = std::ranges::any_of(op.operands, [this](ValueId operand) { return wanted(operand); });
  const bool has = std::ranges::any_of(op.results, [this](ValueId r) { return gradient_of(r).has_value(); });
  if (!reads || !has) return;
  to_.origin = {"gradient of " + (op.origin.node.empty() ? std::string(name_of(op.kind)) : op.origin.node),
                op.origin.op_type};
  if (op.results.size() == 1) {
    const ValueId y = op.results[0], g = *gradient_of(y);
    if (elementwise(op, y, g) || movement(op, g) || product(op, y, g)) return;
  }
  ir::unsupported("'{}' ({}) has no gradient", op.origin.node, name_of(op.kind));
}

Result<ir::Module> with_gradients(const ir::Module& module, const GradientRequest& request) {
  return ir::guarded([&] {
    check(module, request);
    ir::Module out = module;
    GradientRules rules(out, active_values(module, request));
    ir::Builder to(out);
    const ValueId loss = module.outputs[request.output].value;
    to.origin = {"gradient of " + module.outputs[request.output].name, ""};
    rules.add(loss, to.fill(module.type(loss), 1));
    for (size_t i = module.value(loss).op + size_t{1}; i-- > 0;) rules.pass_on(module.ops()[i]);
    for (const size_t input : request.inputs) {
      const ValueId by = module.inputs[input];
      const auto gradient = rules.gradient_of(by);
      out.outputs.push_back(
          {"gradient of " + module.input_name(by), gradient ? *gradient : to.fill(module.type(by), 0)});
    }
    return out;
  });
}

}  // namespace weft::compiler::passes
