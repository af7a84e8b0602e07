// What goes from turn to turn of a loop and never changes, as JAX writes all that a turn reads from outside.
#include <algorithm>

#include "host/compiler/ir/region.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"

namespace weft::compiler::passes {
namespace {

using ir::Module;
using ir::Op;
using ir::ValueId;

/// The region with its inputs in this order; of its outputs those that are named.
std::shared_ptr<const Module> reordered(const Module& region, const std::vector<size_t>& inputs,
                                        const std::vector<size_t>& outputs) {
  auto made = std::make_shared<Module>();
  made->name = region.name;
  std::vector<ValueId> arguments(region.inputs.size());
  for (const size_t i : inputs)
    arguments[i] = made->add_parameter(region.input_name(region.inputs[i]), region.type(region.inputs[i]));
  const auto results = ir::write_out(*made, region, arguments);
  for (const size_t i : outputs) made->outputs.push_back({region.outputs[i].name, results[i]});
  return made;
}

}  // namespace

Module loop_constants(const Module& module) {
  Rewriter rewriter(module);
  for (const Op& op : module.ops()) {
    if (op.kind != ir::OpKind::kWhile) {
      rewriter.copy(op);
      continue;
    }
    const Module& body = *op.regions[1];
    std::vector<size_t> changed, order;
    for (size_t i = 0; i < op.results.size(); i++)
      if (body.outputs[i].value != body.inputs[i]) changed.push_back(i);
    if (changed.empty() || changed.size() == op.results.size()) {
      rewriter.copy(op);
      continue;
    }
    order = changed;
    for (size_t i = 0; i < op.operands.size(); i++)
      if (std::ranges::find(changed, i) == changed.end()) order.push_back(i);
    const Op mapped = rewriter.mapped(op);
    Op loop = mapped;
    for (size_t i = 0; i < order.size(); i++) loop.operands[i] = mapped.operands[order[i]];
    loop.attributes["carried"] = static_cast<int64_t>(changed.size());
    loop.regions = {reordered(*op.regions[0], order, {0}), reordered(body, order, changed)};
    const auto results = rewriter.to().op_of(rewriter.to().add(std::move(loop))).results;
    std::vector<ValueId> values(mapped.operands.begin(),
                                mapped.operands.begin() + static_cast<ptrdiff_t>(op.results.size()));
    for (size_t i = 0; i < changed.size(); i++) values[changed[i]] = results[i];
    rewriter.replace_all(op, values);
  }
  return rewriter.finish();
}

}  // namespace weft::compiler::passes
