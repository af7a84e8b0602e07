// Operators as operations of the vector unit, and reductions of rows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "host/compiler/partition/graph_builder.hpp"

namespace weft::compiler {

using ir::Dims;
using ir::Op;
using ir::OpKind;

/// A node on f32; its result.
size_t GraphBuilder::emit(const Op& op, weft_vpu_op what, size_t a, Second b, float c) {
  const auto* tensor = std::get_if<size_t>(&b);
  const bool row = std::holds_alternative<std::vector<float>>(b);
  const bool uniform = graph_.tensors[a].uniform && !row && (tensor == nullptr || graph_.tensors[*tensor].uniform);
  const auto [rows, columns] = std::pair(graph_.tensors[a].rows, graph_.tensors[a].columns);
  const size_t y =
      new_tensor(op.origin.node, {static_cast<int64_t>(rows), static_cast<int64_t>(columns)}, rows, columns);
  graph_.tensors[y].uniform = uniform;
  if (is_i32(a)) graph_.tensors[y].dtype = WEFT_VPU_DTYPE_I32;
  vector_of_[y] = graph_.nodes.size();
  graph_.nodes.emplace_back(VectorNode{op.origin.node, what, a, y, std::move(b), c});
  return y;
}

/// As CAST does it: to i32 the nearest integer.
size_t GraphBuilder::cast(const Op& op, size_t a, weft_vpu_dtype to) {
  if (const auto made = casts_.find({a, to}); made != casts_.end()) return made->second;
  const auto [rows, columns] = std::pair(graph_.tensors[a].rows, graph_.tensors[a].columns);
  const size_t y =
      new_tensor(op.origin.node, {static_cast<int64_t>(rows), static_cast<int64_t>(columns)}, rows, columns);
  graph_.tensors[y].dtype = to;
  if (to == WEFT_VPU_DTYPE_BF16) rounded_.insert(y);
  graph_.nodes.emplace_back(CopyNode{op.origin.node, a, y});
  return casts_[{a, to}] = y;
}

/// The node that has made a tensor, if it is an elementwise operation with a number.
const VectorNode* GraphBuilder::made_with_number(size_t tensor, weft_vpu_op op) const {
  const auto made = vector_of_.find(tensor);
  if (made == vector_of_.end()) return nullptr;
  const auto* node = std::get_if<VectorNode>(&graph_.nodes[made->second]);
  return node != nullptr && node->op == op && std::holds_alternative<float>(node->b) ? node : nullptr;
}

/// exp(x - the largest x of the row) with x = c u is 2 ^ (s u - s times the largest u) with s = c log2 e: one pass over u
/// less than there are operators, and where x is scaled anyhow two.
std::optional<size_t> GraphBuilder::softmax_powers(const Op& op, size_t a) {
  const auto made = vector_of_.find(a);
  if (made == vector_of_.end()) return std::nullopt;
  const auto difference = std::get<VectorNode>(graph_.nodes[made->second]);
  const auto* largest = std::get_if<size_t>(&difference.b);
  if (difference.op != WEFT_VPU_OP_SUB || largest == nullptr) return std::nullopt;
  const auto shift = std::ranges::find_if(graph_.nodes, [&](const Node& node) {
    const auto* reduce = std::get_if<ReduceNode>(&node);
    return reduce != nullptr && reduce->y == *largest && reduce->a == difference.a && reduce->op == WEFT_VPU_OP_RMAX;
  });
  if (shift == graph_.nodes.end()) return std::nullopt;
  size_t u = difference.a, top = *largest;
  float scale = std::numbers::log2e_v<float>;
  if (const auto* node = made_with_number(u, WEFT_VPU_OP_MUL))
    if (const float both = std::get<float>(node->b) * scale; both > 0 && std::isnormal(both)) {
      u = node->a, scale = both;
      top = reduced(op, WEFT_VPU_OP_RMAX, u);
    }
  return emit(op, WEFT_VPU_OP_EXP2, emit(op, WEFT_VPU_OP_AXPY, u, emit(op, WEFT_VPU_OP_MUL, top, -scale), scale));
}

/// (u c) (e + d) is u (e c + c d), one pass less, and where c is a power of two the same but for what leaves f32's range.
std::optional<size_t> GraphBuilder::scaled_sum(const Op& op, size_t a, const Second& b) {
  const auto* other = std::get_if<size_t>(&b);
  if (other == nullptr) return std::nullopt;
  for (const auto& [product, sum] : {std::pair(a, *other), {*other, a}}) {
    const auto *by = made_with_number(product, WEFT_VPU_OP_MUL), *plus = made_with_number(sum, WEFT_VPU_OP_ADD);
    int exponent = 0;
    if (by == nullptr || plus == nullptr || std::frexp(std::abs(std::get<float>(by->b)), &exponent) != 0.5f) continue;
    const float c = std::get<float>(by->b), d = std::get<float>(plus->b);
    const size_t u = by->a, e = plus->a;
    return emit(op, WEFT_VPU_OP_MUL, u, emit(op, WEFT_VPU_OP_AXPY, e, c * d, c));
  }
  return std::nullopt;
}

/// An operand as a tensor of the others' shape.
size_t GraphBuilder::as_tensor(const Op& op, const Second& operand, const Aligned& like) {
  if (const auto* tensor = std::get_if<size_t>(&operand)) return *tensor;
  if (const auto* integer = std::get_if<int32_t>(&operand))
    return constant_tensor(op.origin.node, std::vector<int32_t>(like.rows * like.columns, *integer), like.columns);
  std::vector<float> values;
  if (const auto* row = std::get_if<std::vector<float>>(&operand)) values = *row;
  if (const auto* number = std::get_if<float>(&operand)) values.assign(like.columns, *number);
  std::vector<float> all;
  for (uint64_t r = 0; r < like.rows; r++) all.insert(all.end(), values.begin(), values.end());
  return constant_tensor(op.origin.node, all, like.columns);
}

size_t GraphBuilder::function(const Op& op, size_t a) {
  constexpr auto kLog2E = std::numbers::log2e_v<float>;
  if (const auto y = integer_function(op, a)) return *y;
  switch (op.kind) {
    case OpKind::kAbs:
      return emit(op, WEFT_VPU_OP_MAX, a, emit(op, WEFT_VPU_OP_MUL, a, number(a, -1)));
    case OpKind::kNegate:
      return emit(op, WEFT_VPU_OP_MUL, a, number(a, -1));
    case OpKind::kSign: {
      const size_t sign =
          emit(op, WEFT_VPU_OP_SUB, emit(op, WEFT_VPU_OP_GT, a, 0.0f), emit(op, WEFT_VPU_OP_LT, a, 0.0f));
      return emit(op, WEFT_VPU_OP_ADD, sign, emit(op, WEFT_VPU_OP_SELECT, emit(op, WEFT_VPU_OP_NE, a, a), a, 0.0f));
    }
    case OpKind::kNot:
      return emit(op, WEFT_VPU_OP_EQ, a, 0.0f);
    case OpKind::kConvert:
      return converted(op, a);
    case OpKind::kReducePrecision:  // to bf16's: device_use() allows no other
      return widened(op, cast(op, a, WEFT_VPU_DTYPE_BF16));
    case OpKind::kRoundNearestEven:
      return rounded_to_few_.contains(op.results[0]) ? rounded_to_few(op, a) : rounded_to_whole(op, a);
    case OpKind::kFloor: {
      const size_t whole = rounded_to_whole(op, a);
      return emit(op, WEFT_VPU_OP_SUB, whole, emit(op, WEFT_VPU_OP_GT, whole, a));
    }
    case OpKind::kCeil: {
      const size_t whole = rounded_to_whole(op, a);
      return emit(op, WEFT_VPU_OP_ADD, whole, emit(op, WEFT_VPU_OP_LT, whole, a));
    }
    case OpKind::kExponential:
      if (const auto powers = softmax_powers(op, a)) return *powers;
      return emit(op, WEFT_VPU_OP_EXP2, emit(op, WEFT_VPU_OP_MUL, a, kLog2E));
    case OpKind::kLog:
      return emit(op, WEFT_VPU_OP_MUL, emit(op, WEFT_VPU_OP_LOG2, a), std::numbers::ln2_v<float>);
    case OpKind::kLogPlusOne: {
      // With u = 1 + a: log(u) a / (u - 1) makes up for what u has lost of a; a itself where that is all of it.
      const size_t u = emit(op, WEFT_VPU_OP_ADD, a, 1.0f), gained = emit(op, WEFT_VPU_OP_SUB, u, 1.0f);
      const size_t log = emit(op, WEFT_VPU_OP_MUL, emit(op, WEFT_VPU_OP_LOG2, u), std::numbers::ln2_v<float>);
      const size_t share = emit(op, WEFT_VPU_OP_MUL, a, emit(op, WEFT_VPU_OP_RCP, gained));
      const size_t moderate = emit(op, WEFT_VPU_OP_LT, gained, 65536.0f);  // beyond, what u has lost does not show
      const size_t factor = emit(op, WEFT_VPU_OP_SELECT, moderate, share, 1.0f);
      const size_t none = emit(op, WEFT_VPU_OP_EQ, gained, 0.0f), some = emit(op, WEFT_VPU_OP_EQ, none, 0.0f);
      return emit(op, WEFT_VPU_OP_ADD, emit(op, WEFT_VPU_OP_SELECT, none, a, -0.0f),
                  emit(op, WEFT_VPU_OP_SELECT, some, emit(op, WEFT_VPU_OP_MUL, log, factor), -0.0f));
    }
    case OpKind::kLogistic: {  // 1 / (1 + exp(-a)): small results keep their digits
      const size_t power = emit(op, WEFT_VPU_OP_EXP2, emit(op, WEFT_VPU_OP_MUL, a, -kLog2E));
      return emit(op, WEFT_VPU_OP_RCP, emit(op, WEFT_VPU_OP_ADD, power, 1.0f));
    }
    case OpKind::kSqrt:  // of zero and infinity too, which a * rsqrt(a) is not
      return emit(op, WEFT_VPU_OP_RCP, emit(op, WEFT_VPU_OP_RSQRT, a));
    case OpKind::kRsqrt:
      return emit(op, WEFT_VPU_OP_RSQRT, a);
    case OpKind::kTanh:
      return emit(op, WEFT_VPU_OP_TANH, a);
    default:
      return emit(op, WEFT_VPU_OP_ERF, a);
  }
}

/// Below 2^22 a sum with 1.5 x 2^23 rounds to whole numbers; what is not below is whole, infinite or a NaN.
size_t GraphBuilder::rounded_to_whole(const Op& op, size_t a) {
  constexpr float kShift = 12582912.0f, kWhole = 4194304.0f;
  const size_t size = emit(op, WEFT_VPU_OP_MAX, a, emit(op, WEFT_VPU_OP_MUL, a, -1.0f));
  const size_t small = emit(op, WEFT_VPU_OP_LT, size, kWhole), large = emit(op, WEFT_VPU_OP_EQ, small, 0.0f);
  const size_t rounded = emit(op, WEFT_VPU_OP_SUB, emit(op, WEFT_VPU_OP_ADD, a, kShift), kShift);
  return emit(op, WEFT_VPU_OP_ADD, emit(op, WEFT_VPU_OP_SELECT, small, rounded, -0.0f),
              emit(op, WEFT_VPU_OP_SELECT, large, a, -0.0f));
}

/// To pred: 0 or 1 in f32. To i32 and u32: towards zero. Between the two the bits stay.
size_t GraphBuilder::converted(const Op& op, size_t a) {
  const auto from = module_.type(op.operands[0]).element, to = module_.type(op.results[0]).element;
  if (is_narrow(to)) return narrowed(op, a);
  if (to == ir::ElementType::kF32)
    return from == ir::ElementType::kU32 ? float_of_u32(op, a) : cast(op, a, WEFT_VPU_DTYPE_F32);
  if (to == ir::ElementType::kPred) {
    const size_t is = emit(op, WEFT_VPU_OP_NE, a, number(a, 0));
    return is_i32(a) ? cast(op, is, WEFT_VPU_DTYPE_F32) : is;
  }
  if (from == ir::ElementType::kPred) return cast(op, a, WEFT_VPU_DTYPE_I32);
  if (lies_as_i32(from)) return a;
  return to == ir::ElementType::kU32 ? u32_of_float(op, a) : towards_zero(op, a);
}

/// f32 as i32, which saturates; NaN gives 0.
size_t GraphBuilder::towards_zero(const Op& op, size_t a) {
  const size_t size = emit(op, WEFT_VPU_OP_MAX, a, emit(op, WEFT_VPU_OP_MUL, a, -1.0f));
  const size_t whole = rounded_to_whole(op, size);
  const size_t below = emit(op, WEFT_VPU_OP_SUB, whole, emit(op, WEFT_VPU_OP_GT, whole, size));
  const size_t sign = emit(op, WEFT_VPU_OP_AXPY, emit(op, WEFT_VPU_OP_LT, a, 0.0f), 1.0f, -2.0f);
  return cast(op, emit(op, WEFT_VPU_OP_MUL, below, sign), WEFT_VPU_DTYPE_I32);
}

/// a op b; `reversed`: b op a.
size_t GraphBuilder::operation(const Op& op, size_t a, Second b, bool reversed) {
  if (const auto y = integer_operation(op, a, b, reversed)) return *y;
  switch (op.kind) {
    case OpKind::kAdd:
      return emit(op, WEFT_VPU_OP_ADD, a, std::move(b));
    case OpKind::kMultiply:
      if (const auto product = scaled_sum(op, a, b)) return *product;
      return emit(op, WEFT_VPU_OP_MUL, a, std::move(b));
    case OpKind::kMaximum:
    case OpKind::kOr:
      return emit(op, WEFT_VPU_OP_MAX, a, std::move(b));
    case OpKind::kMinimum:
    case OpKind::kAnd:
      return emit(op, WEFT_VPU_OP_MIN, a, std::move(b));
    case OpKind::kXor:
      return emit(op, WEFT_VPU_OP_NE, a, std::move(b));
    case OpKind::kCompare:
      return compare(op, a, std::move(b), reversed);
    case OpKind::kPower:
      return power(op, a, b, reversed);
    case OpKind::kSubtract:
      if (reversed && is_i32(a)) return emit(op, WEFT_VPU_OP_ADD, emit(op, WEFT_VPU_OP_MUL, a, -1), std::move(b));
      return reversed ? emit(op, WEFT_VPU_OP_AXPY, a, std::move(b), -1.0f) : emit(op, WEFT_VPU_OP_SUB, a, std::move(b));
    default:
      if (const auto* divisor = std::get_if<float>(&b);
          divisor != nullptr && !reversed && exact_quotients_.contains(op.results[0]))
        return exact_quotient(op, a, *divisor);
      if (reversed) return emit(op, WEFT_VPU_OP_MUL, emit(op, WEFT_VPU_OP_RCP, a), std::move(b));
      return emit(op, WEFT_VPU_OP_MUL, a, reciprocal(op, std::move(b)));
  }
}

size_t GraphBuilder::compare(const Op& op, size_t a, Second b, bool reversed) {
  const auto& direction = op.word("direction");
  const bool u32 = is_u32(op.operands[0]);
  const auto either = [&](weft_vpu_op plain, weft_vpu_op turned) {
    const size_t is = emit(op, reversed ? turned : plain, a, std::move(b));
    return is_i32(a) ? cast(op, is, WEFT_VPU_DTYPE_F32) : is;
  };
  if (direction == "eq") return either(WEFT_VPU_OP_EQ, WEFT_VPU_OP_EQ);
  if (direction == "ne") return either(WEFT_VPU_OP_NE, WEFT_VPU_OP_NE);
  const auto lt = u32 ? WEFT_VPU_OP_LTU : WEFT_VPU_OP_LT, le = u32 ? WEFT_VPU_OP_LEU : WEFT_VPU_OP_LE;
  const auto gt = u32 ? WEFT_VPU_OP_GTU : WEFT_VPU_OP_GT, ge = u32 ? WEFT_VPU_OP_GEU : WEFT_VPU_OP_GE;
  if (direction == "lt") return either(lt, gt);
  if (direction == "le") return either(le, ge);
  if (direction == "gt") return either(gt, lt);
  return either(ge, le);
}

/// Small whole exponents are products. Else |base| ^ exponent by logarithms, with the sign of an odd whole exponent; a
/// negative base to another power is NaN, and 0 and 1 have their own cases.
size_t GraphBuilder::power(const Op& op, size_t a, const Second& b, bool reversed) {
  if (const auto* number = std::get_if<float>(&b); number != nullptr && !reversed) {
    if (*number == 0.5f) return emit(op, WEFT_VPU_OP_RCP, emit(op, WEFT_VPU_OP_RSQRT, a));
    if (*number == 1) return emit(op, WEFT_VPU_OP_MUL, a, 1.0f);
    if (*number == 2 || *number == 3) {
      const size_t square = emit(op, WEFT_VPU_OP_MUL, a, a);
      return *number == 2 ? square : emit(op, WEFT_VPU_OP_MUL, square, a);
    }
  }
  const Aligned like{{}, nullptr, graph_.tensors[a].rows, graph_.tensors[a].columns};
  const size_t other = as_tensor(op, b, like), base = reversed ? other : a, exponent = reversed ? a : other;
  const auto choose = [&](size_t mask, const Second& yes, size_t no) {
    const size_t chosen = emit(op, WEFT_VPU_OP_SELECT, mask, yes, -0.0f), rest = emit(op, WEFT_VPU_OP_EQ, mask, 0.0f);
    return emit(op, WEFT_VPU_OP_ADD, chosen, emit(op, WEFT_VPU_OP_SELECT, rest, no, -0.0f));
  };
  const size_t size = emit(op, WEFT_VPU_OP_MAX, base, emit(op, WEFT_VPU_OP_MUL, base, -1.0f));
  const size_t plain =
      emit(op, WEFT_VPU_OP_EXP2, emit(op, WEFT_VPU_OP_MUL, emit(op, WEFT_VPU_OP_LOG2, size), exponent));
  const size_t half = emit(op, WEFT_VPU_OP_MUL, exponent, 0.5f);
  const size_t odd = emit(op, WEFT_VPU_OP_NE, half, rounded_to_whole(op, half));
  const size_t whole = emit(op, WEFT_VPU_OP_EQ, exponent, rounded_to_whole(op, exponent));
  const size_t turned = choose(odd, emit(op, WEFT_VPU_OP_MUL, plain, -1.0f), plain);
  const size_t of_negative = emit(op, WEFT_VPU_OP_SELECT, whole, turned, std::numeric_limits<float>::quiet_NaN());
  const size_t any = choose(emit(op, WEFT_VPU_OP_LT, base, 0.0f), of_negative, plain);
  const size_t one =
      emit(op, WEFT_VPU_OP_MAX, emit(op, WEFT_VPU_OP_EQ, exponent, 0.0f), emit(op, WEFT_VPU_OP_EQ, base, 1.0f));
  return choose(one, 1.0f, any);
}

GraphBuilder::Second GraphBuilder::reciprocal(const Op& op, Second b) {
  if (const auto* tensor = std::get_if<size_t>(&b)) return emit(op, WEFT_VPU_OP_RCP, *tensor);
  if (const auto* number = std::get_if<float>(&b)) return 1 / *number;
  auto row = std::get<std::vector<float>>(std::move(b));
  for (float& value : row) value = 1 / value;
  return row;
}

/// A choice between two tensors is a sum of two choices between a tensor and -0: x + -0 is x.
size_t GraphBuilder::select(const Op& op, const Aligned& operands) {
  const size_t mask = as_tensor(op, operands.operands[0], operands);
  const Second &a = operands.operands[1], &b = operands.operands[2];
  if (lies_as_i32(module_.type(op.results[0]).element)) {
    const size_t is = cast(op, mask, WEFT_VPU_DTYPE_I32), is_not = emit(op, WEFT_VPU_OP_EQ, is, 0);
    return emit(op, WEFT_VPU_OP_ADD, emit(op, WEFT_VPU_OP_SELECT, is, a), emit(op, WEFT_VPU_OP_SELECT, is_not, b));
  }
  if (const auto* number = std::get_if<float>(&b)) return emit(op, WEFT_VPU_OP_SELECT, mask, a, *number);
  const size_t other = emit(op, WEFT_VPU_OP_EQ, mask, 0.0f);
  if (const auto* number = std::get_if<float>(&a)) return emit(op, WEFT_VPU_OP_SELECT, other, b, *number);
  return emit(op, WEFT_VPU_OP_ADD, emit(op, WEFT_VPU_OP_SELECT, mask, a, -0.0f),
              emit(op, WEFT_VPU_OP_SELECT, other, b, -0.0f));
}

/// In all columns of each row.
size_t GraphBuilder::reduced(const Op& op, weft_vpu_op what, size_t a) {
  const auto [rows, columns] = std::pair(graph_.tensors[a].rows, graph_.tensors[a].columns);
  const size_t y =
      new_tensor(op.origin.node, {static_cast<int64_t>(rows), static_cast<int64_t>(columns)}, rows, columns);
  graph_.tensors[y].uniform = true;
  if (is_i32(a)) graph_.tensors[y].dtype = WEFT_VPU_DTYPE_I32;
  graph_.nodes.emplace_back(ReduceNode{op.origin.node, what, a, y});
  return y;
}

/// The dimensions that go are put last, then rows are reduced; products of elements are multiplied one by one.
void GraphBuilder::add_reduce(const Op& op) {
  if (add_whole_images(op)) return;
  const auto& in = module_.type(op.operands[0]);
  const auto& gone = op.list("dimensions");
  const uint64_t count = module_.type(op.results[0]).count(), width = in.count() / count;
  std::vector<size_t> order;
  for (size_t d = 0; d < in.rank(); d++)
    if (std::ranges::find(gone, static_cast<int64_t>(d)) == gone.end()) order.push_back(d);
  for (size_t d = 0; d < in.rank(); d++)
    if (std::ranges::find(gone, static_cast<int64_t>(d)) != gone.end()) order.push_back(d);
  ValueView from = view(op.operands[0], op.origin.node);
  if (!std::ranges::is_sorted(order)) from = picked(graph_, from, permuted(in.dims, order));
  const auto& kind = op.word("kind");
  if (kind == "multiply") {
    size_t y = 0;
    for (uint64_t i = 0; i < width; i++) {
      std::vector<uint32_t> pick(count);
      for (uint64_t r = 0; r < count; r++) pick[r] = static_cast<uint32_t>(r * width + i);
      const size_t factor = tensor_of(op.origin.node, picked(graph_, from, std::move(pick)), count, count);
      y = i == 0 ? factor : emit(op, WEFT_VPU_OP_MUL, y, factor);
    }
    views_[op.results[0]] = {{y}, nullptr};
    return;
  }
  const size_t a = tensor_of(op.origin.node, from, in.count(), width);
  const auto what = kind == "add"                       ? WEFT_VPU_OP_SUM
                    : kind == "maximum" || kind == "or" ? WEFT_VPU_OP_RMAX
                                                        : WEFT_VPU_OP_RMIN;
  const bool turned = is_u32(op.results[0]) && what != WEFT_VPU_OP_SUM;
  size_t y = reduced(op, what, turned ? std::get<size_t>(sign_turned(op, a)) : a);
  if (turned) y = std::get<size_t>(sign_turned(op, y));
  std::vector<uint32_t> first(count);
  for (uint64_t r = 0; r < count; r++) first[r] = static_cast<uint32_t>(r * width);
  views_[op.results[0]] = picked(graph_, {{y}, nullptr}, std::move(first));
}

/// The row's largest element, and the smallest place of an element that equals it or is NaN: the largest is NaN then.
void GraphBuilder::add_search(const Op& op) {
  const auto& in = module_.type(op.operands[0]);
  const auto gone = static_cast<size_t>(op.list("dimensions")[0]);
  const uint64_t count = module_.type(op.results[0]).count(), width = in.count() / count;
  std::vector<size_t> order;
  for (size_t d = 0; d < in.rank(); d++)
    if (d != gone) order.push_back(d);
  order.push_back(gone);
  ValueView from = view(op.operands[0], op.origin.node);
  if (!std::ranges::is_sorted(order)) from = picked(graph_, from, permuted(in.dims, order));
  const size_t a = tensor_of(op.origin.node, from, in.count(), width);
  const bool largest = search_of(module_, op) == Extreme::kLargest;
  const size_t top = reduced(op, largest ? WEFT_VPU_OP_RMAX : WEFT_VPU_OP_RMIN, a);
  const size_t is = emit(op, WEFT_VPU_OP_MAX, emit(op, WEFT_VPU_OP_EQ, a, top), emit(op, WEFT_VPU_OP_NE, a, a));
  std::vector<float> counting(width);
  for (uint64_t i = 0; i < width; i++) counting[i] = static_cast<float>(i);
  const size_t candidates = emit(op, WEFT_VPU_OP_SELECT, is, counting, static_cast<float>(width));
  const size_t place = cast(op, reduced(op, WEFT_VPU_OP_RMIN, candidates), WEFT_VPU_DTYPE_I32);
  std::vector<uint32_t> first(count);
  for (uint64_t r = 0; r < count; r++) first[r] = static_cast<uint32_t>(r * width);
  views_[op.results[0]] = picked(graph_, {{top}, nullptr}, first);
  views_[op.results[1]] = picked(graph_, {{place}, nullptr}, std::move(first));
}

}  // namespace weft::compiler
