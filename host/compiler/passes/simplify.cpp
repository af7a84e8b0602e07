// Algebra of what moves elements: a reshape of a reshape, a transpose of a transpose, bits that are read as another type
// and back, and what changes nothing.
#include <algorithm>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"

namespace weft::compiler::passes {
namespace {

using ir::Op;
using ir::OpKind;

/// Whether the result is the first operand itself.
bool does_nothing(const ir::Module& to, const Op& op) {
  if (op.operands.empty()) return false;
  const auto& type = to.type(op.operands[0]);
  switch (op.kind) {
    case OpKind::kReshape:
      return op.list("dims") == type.dims;
    case OpKind::kTranspose:
      return op.list("permutation") == ir::counting(type.rank());
    case OpKind::kBroadcast:
      return op.list("dims") == type.dims && op.list("dimensions") == ir::counting(type.rank());
    case OpKind::kConvert:
      return op.element() == type.element;
    case OpKind::kConcatenate:
      return op.operands.size() == 1;
    case OpKind::kSlice:
      return op.list("limit") == type.dims && op.list("start") == ir::Dims(type.rank()) &&
             op.list("stride") == ir::Dims(type.rank(), 1);
    case OpKind::kReverse:
      return op.list("dimensions").empty();
    default:
      return false;
  }
}

/// A broadcast that repeats nothing is a reshape.
void narrow(const ir::Module& to, Op& op) {
  if (op.kind != OpKind::kBroadcast || !std::ranges::is_sorted(op.list("dimensions"))) return;
  const ir::Dims dims = op.list("dims");
  if (ir::count_of(dims) != to.type(op.operands[0]).count() || ir::count_of(dims) == 0) return;
  op.kind = OpKind::kReshape;
  op.attributes = {{"dims", dims}};
}

/// The operator on the operand of its operand, if the two are of one kind.
void join(const ir::Module& to, Op& op) {
  if (op.kind != OpKind::kReshape && op.kind != OpKind::kTranspose) return;
  const Op& before = to.op_of(op.operands[0]);
  if (before.kind != op.kind) return;
  if (op.kind == OpKind::kTranspose) {
    ir::Dims order;
    for (const int64_t d : op.list("permutation")) order.push_back(before.list("permutation")[static_cast<size_t>(d)]);
    op.attributes["permutation"] = order;
  }
  op.operands[0] = before.operands[0];
}

/// Whether the operand's operand has this type, and its bits are read as another one in between only.
bool comes_back(const ir::Module& to, const Op& op, const ir::TensorType& type) {
  if (op.kind != OpKind::kBitcastConvert) return false;
  const Op& before = to.op_of(op.operands[0]);
  return before.kind == OpKind::kBitcastConvert && to.type(before.operands[0]) == type;
}

}  // namespace

ir::Module simplify(const ir::Module& module) {
  Rewriter rewriter(module);
  for (const auto& op : module.ops()) {
    auto mapped = rewriter.mapped(op);
    narrow(rewriter.to(), mapped);
    join(rewriter.to(), mapped);
    if (comes_back(rewriter.to(), mapped, module.type(op.results[0])))
      rewriter.replace(op, rewriter.to().op_of(mapped.operands[0]).operands[0]);
    else if (does_nothing(rewriter.to(), mapped))
      rewriter.replace(op, mapped.operands[0]);
    else
      rewriter.add(op, std::move(mapped));
  }
  return rewriter.finish();
}

}  // namespace weft::compiler::passes
