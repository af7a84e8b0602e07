// Equal operators on equal operands.
#include <map>
#include <tuple>

#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"

namespace weft::compiler::passes {
namespace {

constexpr size_t kComparedBytes = 64;  // of a constant; larger ones are taken for different

using Key = std::tuple<ir::OpKind, std::vector<ir::ValueId>, ir::Attributes, std::string, std::vector<std::byte>>;

}  // namespace

ir::Module common_subexpressions(const ir::Module& module) {
  Rewriter rewriter(module);
  std::map<Key, ir::ValueId> seen;
  for (const auto& op : module.ops()) {
    auto mapped = rewriter.mapped(op);
    const bool large = op.constant && op.constant->data.size() > kComparedBytes;
    // Regions are not compared.
    if (op.kind == ir::OpKind::kParameter || large || op.results.size() != 1 || !op.regions.empty()) {
      rewriter.add(op, std::move(mapped));
      continue;
    }
    Key key{op.kind, mapped.operands, mapped.attributes, op.constant ? op.constant->type.text() : "",
            op.constant ? op.constant->data : std::vector<std::byte>{}};
    if (const auto found = seen.find(key); found != seen.end()) {
      rewriter.replace(op, found->second);
      continue;
    }
    rewriter.add(op, std::move(mapped));
    seen.emplace(std::move(key), rewriter.value(op.results[0]));
  }
  return rewriter.finish();
}

}  // namespace weft::compiler::passes
