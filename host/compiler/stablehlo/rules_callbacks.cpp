// Calls of the host. Whatever tokens a program has itself, all its calls read each other's token, so that they keep the
// order in which they are written.
#include <charconv>

#include "host/compiler/ir/callbacks.hpp"
#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/stablehlo/node.hpp"

namespace weft::compiler::stablehlo {

Values create_token(Node& node) { return {node.around.token()}; }

/// A custom call whose configuration is the number of the function. Before its operands it takes as many tokens as it
/// returns; they say nothing that the order of calls does not say.
Values callback(Node& node) {
  const std::string text = node.text("backend_config");
  int64_t number = 0;
  if (const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
      read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 0)
    ir::invalid("a callback without a number");
  const auto is_token = [&](TypeIndex type) { return node.program.types[type].kind == Type::Kind::kToken; };
  ir::Types types;
  for (size_t i = 0; i < node.op.results.size(); i++)
    if (!is_token(node.op.result_types.at(i))) types.push_back(node.result_type(i));
  const size_t tokens = node.op.results.size() - types.size();
  if (tokens > node.in.size()) ir::invalid("{} tokens are returned, and fewer are given", tokens);
  Values operands{node.around.token()};
  operands.insert(operands.end(), node.in.begin() + static_cast<ptrdiff_t>(tokens), node.in.end());
  Values all = node.b.add_with_regions(OpKind::kCallback, std::move(operands),
                                       {{"number", number}, {"results", ir::written_types(types)}}, {});
  node.around.set_token(all[0]);
  Values results;
  for (size_t i = 0, next = 1; i < node.op.results.size(); i++)
    results.push_back(is_token(node.op.result_types[i]) ? all[0] : all[next++]);
  return results;
}

void give_token(Node& node, const Region& region, Values& operands) {
  if (region.calls) operands.push_back(node.around.token());
}

Values take_token(Node& node, const Region& region, Values results) {
  if (!region.calls) return results;
  node.around.set_token(results.back());
  results.pop_back();
  return results;
}

}  // namespace weft::compiler::stablehlo
