// Operators that no output needs. A callback is there for what it does.
#include <algorithm>

#include "host/compiler/ir/callbacks.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"

namespace weft::compiler::passes {

ir::Module dead_code(const ir::Module& module) {
  std::vector<bool> needed(module.values().size());
  for (const auto& output : module.outputs) needed[index_of(output.value)] = true;
  const auto alive = [&](const ir::Op& op) {
    return op.kind == ir::OpKind::kParameter || ir::has_callback(op) ||
           std::ranges::any_of(op.results, [&](ir::ValueId result) { return needed[index_of(result)]; });
  };
  for (size_t i = module.ops().size(); i-- > 0;)
    if (const auto& op = module.ops()[i]; alive(op))
      for (const auto operand : op.operands) needed[index_of(operand)] = true;
  Rewriter rewriter(module);
  for (const auto& op : module.ops())
    if (alive(op)) rewriter.copy(op);
  return rewriter.finish();
}

}  // namespace weft::compiler::passes
