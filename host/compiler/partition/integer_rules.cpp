// Words of 32 bits: logic, shifts, what u32 has other than i32, and conversions of u32.
#include <cstdint>

#include "host/compiler/partition/graph_builder.hpp"

namespace weft::compiler {

using ir::ElementType;
using ir::Op;
using ir::OpKind;

namespace {

constexpr int32_t kSign = INT32_MIN;
constexpr float kHalfRange = 2147483648.0f;  // of u32

}  // namespace

bool GraphBuilder::is_u32(ir::ValueId value) const { return module_.type(value).element == ElementType::kU32; }

/// The bits of f32 as i32, or the reverse: no command.
size_t GraphBuilder::bits_as(const Op& op, size_t a, weft_vpu_dtype to) {
  if (is_i32(a) == (to == WEFT_VPU_DTYPE_I32)) return a;
  const auto [rows, columns] = std::pair(graph_.tensors[a].rows, graph_.tensors[a].columns);
  const size_t y =
      new_tensor(op.origin.node, {static_cast<int64_t>(rows), static_cast<int64_t>(columns)}, rows, columns);
  graph_.tensors[y].dtype = to;
  graph_.tensors[y].uniform = graph_.tensors[a].uniform;
  graph_.nodes.emplace_back(CopyNode{op.origin.node, a, y, true});
  return y;
}

/// Unsigned numbers are in the order of signed ones whose sign is turned.
GraphBuilder::Second GraphBuilder::sign_turned(const Op& op, const Second& a) {
  if (const auto* integer = std::get_if<int32_t>(&a)) return *integer ^ kSign;
  return emit(op, WEFT_VPU_OP_XOR, std::get<size_t>(a), kSign);
}

/// A constant that is shifted is a tensor.
size_t GraphBuilder::shifted(const Op& op, weft_vpu_op what, size_t a, Second b, bool reversed) {
  if (!reversed) return emit(op, what, a, std::move(b));
  const Aligned like{{}, nullptr, graph_.tensors[a].rows, graph_.tensors[a].columns};
  return emit(op, what, as_tensor(op, b, like), a);
}

/// a op b, or b op a, where that is not what i32 and f32 have in common; nothing: it is.
std::optional<size_t> GraphBuilder::integer_operation(const Op& op, size_t a, const Second& b, bool reversed) {
  if (!is_i32(a)) return std::nullopt;
  switch (op.kind) {
    case OpKind::kAnd:
      return emit(op, WEFT_VPU_OP_AND, a, b);
    case OpKind::kOr:
      return emit(op, WEFT_VPU_OP_OR, a, b);
    case OpKind::kXor:
      return emit(op, WEFT_VPU_OP_XOR, a, b);
    case OpKind::kShiftLeft:
      return shifted(op, WEFT_VPU_OP_SLL, a, b, reversed);
    case OpKind::kShiftRight:
      return shifted(op, WEFT_VPU_OP_SRL, a, b, reversed);
    case OpKind::kShiftRightArithmetic:
      return shifted(op, WEFT_VPU_OP_SRA, a, b, reversed);
    case OpKind::kMaximum:
    case OpKind::kMinimum: {
      if (!is_u32(op.results[0])) return std::nullopt;
      const auto what = op.kind == OpKind::kMaximum ? WEFT_VPU_OP_MAX : WEFT_VPU_OP_MIN;
      return emit(op, WEFT_VPU_OP_XOR, emit(op, what, std::get<size_t>(sign_turned(op, a)), sign_turned(op, b)), kSign);
    }
    case OpKind::kDivide:
      return quotient(op, a, b, reversed).first;
    case OpKind::kRemainder:
      return quotient(op, a, b, reversed).second;
    default:
      return std::nullopt;
  }
}

/// The quotient towards zero and what is left: of x / 0 all bits and x, of the least number by -1 itself and 0.
std::pair<size_t, size_t> GraphBuilder::quotient(const Op& op, size_t a, const Second& b, bool reversed) {
  const Aligned like{{}, nullptr, graph_.tensors[a].rows, graph_.tensors[a].columns};
  const size_t x = reversed ? as_tensor(op, b, like) : a;
  const Second y = reversed ? Second(a) : b;
  const auto* number = std::get_if<int32_t>(&y);
  size_t q = 0;
  if (is_u32(op.results[0])) {
    q = quotient_of_u32(op, x, y);
  } else {
    const auto sign = [&](size_t t) { return emit(op, WEFT_VPU_OP_SRA, t, int32_t{31}); };  // -1 or 0
    const auto with_sign = [&](size_t t, const Second& s) {
      return emit(op, WEFT_VPU_OP_SUB, emit(op, WEFT_VPU_OP_XOR, t, s), s);
    };
    const Second sign_y = number != nullptr ? Second(*number < 0 ? -1 : 0) : Second(sign(std::get<size_t>(y)));
    const Second size_y =
        number != nullptr ? Second(*number < 0 ? static_cast<int32_t>(0u - static_cast<uint32_t>(*number)) : *number)
                          : Second(with_sign(std::get<size_t>(y), sign_y));
    const size_t sign_x = sign(x);
    q = with_sign(quotient_of_u32(op, with_sign(x, sign_x), size_y), emit(op, WEFT_VPU_OP_XOR, sign_x, sign_y));
  }
  if (number == nullptr)
    q = emit(op, WEFT_VPU_OP_OR, q,
             emit(op, WEFT_VPU_OP_MUL, emit(op, WEFT_VPU_OP_EQ, std::get<size_t>(y), int32_t{0}), int32_t{-1}));
  else if (*number == 0)
    q = emit(op, WEFT_VPU_OP_OR, q, int32_t{-1});
  return {q, emit(op, WEFT_VPU_OP_SUB, x, emit(op, WEFT_VPU_OP_MUL, q, y))};
}

/// In f32, a little less than it is, so that no step takes too much: the first one leaves less than 2^14 times y, the
/// second one less than twice y, and a comparison the rest. Of x / 0: anything.
size_t GraphBuilder::quotient_of_u32(const Op& op, size_t x, const Second& y) {
  constexpr float kLess = 1 - 0x1p-20f;  // more than six roundings and a reciprocal's error lose
  const auto* number = std::get_if<int32_t>(&y);
  const Second reciprocal =
      number != nullptr
          ? Second(kLess / static_cast<float>(static_cast<uint32_t>(*number)))
          : Second(emit(op, WEFT_VPU_OP_MUL, emit(op, WEFT_VPU_OP_RCP, float_of_u32(op, std::get<size_t>(y))), kLess));
  const auto estimate = [&](size_t rest) { return emit(op, WEFT_VPU_OP_MUL, float_of_u32(op, rest), reciprocal); };
  const auto without = [&](size_t rest, size_t times) {
    return emit(op, WEFT_VPU_OP_SUB, rest, emit(op, WEFT_VPU_OP_MUL, times, y));
  };
  const size_t first = u32_of_float(op, estimate(x)), after_first = without(x, first);
  const size_t second = towards_zero(op, estimate(after_first)), rest = without(after_first, second);
  const size_t last = emit(op, WEFT_VPU_OP_GEU, rest, y);
  return emit(op, WEFT_VPU_OP_ADD, emit(op, WEFT_VPU_OP_ADD, first, second), last);
}

/// A function of one operand, where f32 does not have it so; nothing: it has.
std::optional<size_t> GraphBuilder::integer_function(const Op& op, size_t a) {
  if (op.kind == OpKind::kBitcastConvert)
    return bits_as(op, a, is_word(module_.type(op.results[0]).element) ? WEFT_VPU_DTYPE_I32 : WEFT_VPU_DTYPE_F32);
  if (!is_i32(a)) return std::nullopt;
  if (op.kind == OpKind::kNot) return emit(op, WEFT_VPU_OP_XOR, a, int32_t{-1});
  if (op.kind == OpKind::kAbs && is_u32(op.operands[0])) return a;
  return std::nullopt;
}

/// The upper half times 2^16 and the lower half: both are exact, so their sum is rounded once.
size_t GraphBuilder::float_of_u32(const Op& op, size_t a) {
  const size_t upper = cast(op, emit(op, WEFT_VPU_OP_SRL, a, int32_t{16}), WEFT_VPU_DTYPE_F32);
  const size_t lower = cast(op, emit(op, WEFT_VPU_OP_AND, a, int32_t{0xffff}), WEFT_VPU_DTYPE_F32);
  return emit(op, WEFT_VPU_OP_AXPY, upper, lower, 65536.0f);
}

/// Towards zero; what is below 0 gives 0, what is too large the largest number, NaN 0. From 2^31 on, where f32 has whole
/// numbers only, the sign is turned.
size_t GraphBuilder::u32_of_float(const Op& op, size_t a) {
  const size_t positive = emit(op, WEFT_VPU_OP_MAX, a, 0.0f), large = emit(op, WEFT_VPU_OP_GE, positive, kHalfRange);
  const size_t inside = emit(op, WEFT_VPU_OP_AXPY, large, positive, -kHalfRange);
  const size_t sign = emit(op, WEFT_VPU_OP_SLL, cast(op, large, WEFT_VPU_DTYPE_I32), int32_t{31});
  return emit(op, WEFT_VPU_OP_XOR, towards_zero(op, inside), sign);
}

}  // namespace weft::compiler
