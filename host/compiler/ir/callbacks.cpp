// Types of callbacks, and where they are.
#include "host/compiler/ir/callbacks.hpp"

#include <algorithm>

#include "host/compiler/ir/infer_rules.hpp"
#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::ir {
namespace {

void collect(const Module& module, Dims& numbers) {
  for (const Op& op : module.ops()) {
    if (op.kind == OpKind::kCallback) numbers.push_back(op.integer("number"));
    for (const auto& region : op.regions) collect(*region, numbers);
  }
}

}  // namespace

bool has_callback(const Op& op) {
  if (op.kind == OpKind::kCallback) return true;
  return std::ranges::any_of(op.regions,
                             [](const auto& region) { return std::ranges::any_of(region->ops(), has_callback); });
}

Dims callbacks_of(const Module& module) {
  Dims numbers;
  collect(module, numbers);
  return numbers;
}

Dims written_types(const Types& types) {
  Dims written;
  for (const auto& type : types) {
    written.push_back(static_cast<int64_t>(type.element));
    written.push_back(static_cast<int64_t>(type.rank()));
    written.insert(written.end(), type.dims.begin(), type.dims.end());
  }
  return written;
}

Types infer_callback(const Op& op, const Types& in) {
  const TensorType token{ElementType::kI32, {}};
  (void)op.integer("number");
  if (in[0] != token) invalid("callback: its token is {}", in[0].text());
  Types results{token};
  const Dims& written = op.list("results");
  for (auto at = written.begin(); at != written.end();) {
    const bool known = written.end() - at >= 2 && at[0] >= 0 && at[0] <= static_cast<int64_t>(ElementType::kF64);
    if (!known || at[1] < 0 || at[1] > written.end() - at - 2) invalid("callback: types of results are not known");
    results.push_back({static_cast<ElementType>(at[0]), {at + 2, at + 2 + at[1]}});
    for (const int64_t size : results.back().dims)
      if (size < 0) invalid("callback: a dimension of {}", size);
    at += 2 + at[1];
  }
  return results;
}

}  // namespace weft::compiler::ir
