// A dimension is in the parts and what is in each of them; the parts come first.
#include "host/compiler/localise/consecutive_parts.hpp"

#include <string>
#include <utility>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/passes/rewriter.hpp"

namespace weft::compiler::localise {
namespace {

using ir::Dims;
using ir::Op;
using ir::ValueId;

bool is_first(const Dims& dims, size_t dimension) {
  for (size_t d = 0; d < dimension; d++)
    if (dims[d] != 1) return false;
  return true;
}

/// Parts of dimension d, one behind the other in a new first dimension.
ValueId parts_first(ir::Builder& b, ValueId x, size_t d, int64_t parts) {
  Dims dims = b.dims(x);
  dims[d] /= parts;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(d), parts);
  Dims permutation = ir::counting(dims.size());
  permutation.erase(permutation.begin() + static_cast<std::ptrdiff_t>(d));
  permutation.insert(permutation.begin(), static_cast<int64_t>(d));
  return b.transpose(b.reshape(x, dims), permutation);
}

/// The reverse: what the first dimension counts goes side by side along dimension d of the rest.
ValueId parts_beside(ir::Builder& b, ValueId x, size_t d) {
  Dims dims = b.dims(x), permutation = ir::counting(dims.size());
  permutation.erase(permutation.begin());
  permutation.insert(permutation.begin() + static_cast<std::ptrdiff_t>(d), 0);
  const int64_t parts = dims[0];
  dims.erase(dims.begin());
  dims[d] *= parts;
  return b.reshape(b.transpose(x, permutation), dims);
}

/// Along the first dimension.
ValueId along_first(ir::Builder& b, const Op& op, ValueId x) {
  ir::Attributes attributes = op.attributes;
  for (const char* name : {"dimension", "concat"})
    if (attributes.contains(name)) attributes[name] = int64_t{0};
  return b.add(op.kind, {x}, std::move(attributes));
}

/// False: its parts are consecutive already, or it has none.
bool rewrite(const Op& op, passes::Rewriter& rewriter, ir::Builder& b) {
  const std::string& kind = op.word("kind");
  const ValueId x = rewriter.value(op.operands[0]);
  const bool gathers = kind == "all_gather", scatters = kind == "reduce_scatter";
  if (!gathers && !scatters && kind != "all_to_all") return false;
  const Dims dims = b.dims(x);
  const auto d = static_cast<size_t>(op.integer("dimension"));
  const size_t to = kind == "all_to_all" ? static_cast<size_t>(op.integer("concat")) : d;
  if (is_first(dims, d) && is_first(dims, to)) return false;
  const int64_t parts = op.integer("group_size");
  b.origin = op.origin;
  if (gathers) {
    Dims one = dims;
    one.insert(one.begin(), 1);
    rewriter.replace(op, parts_beside(b, along_first(b, op, b.reshape(x, one)), d));
    return true;
  }
  const ValueId y = along_first(b, op, parts_first(b, x, d, parts));
  if (scatters) {
    Dims part = dims;
    part[d] /= parts;
    rewriter.replace(op, b.reshape(y, part));
  } else {
    rewriter.replace(op, parts_beside(b, y, to));
  }
  return true;
}

}  // namespace

ir::Module consecutive_parts(const ir::Module& module) {
  passes::Rewriter rewriter(module);
  ir::Builder builder(rewriter.to());
  for (const Op& op : module.ops())
    if (op.kind != ir::OpKind::kCollective || !rewrite(op, rewriter, builder)) rewriter.copy(op);
  return rewriter.finish();
}

}  // namespace weft::compiler::localise
