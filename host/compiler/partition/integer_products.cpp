// Ranges are followed from types of 8 bits through what moves elements, conversions to wider integers, sums and
// differences.
#include "host/compiler/partition/integer_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/partition/value_views.hpp"

namespace weft::compiler {

using ir::Dims;
using ir::ElementType;
using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

namespace {

constexpr int kMostOperators = 12;    // between a value and the bytes that it stems from
constexpr int64_t kMostOfBf16 = 256;  // whole numbers up to it are exact
constexpr int64_t kMostOfF32 = 1 << 24;
constexpr int64_t kMostOfSum = 1 << 20;  // of ranges that are followed
constexpr double kMostLimit = 1 << 20;   // below 2^22 a sum with 1.5 x 2^23 rounds

std::optional<IntegerRange> range_of_type(ElementType element) {
  if (element == ElementType::kI8) return IntegerRange{-128, 127};
  if (element == ElementType::kU8) return IntegerRange{0, 255};
  return std::nullopt;
}

std::optional<IntegerRange> range_of_constant(const Module& module, ValueId value) {
  const Op* constant = constant_behind(module, value);
  if (constant->kind != OpKind::kConstant) return std::nullopt;
  IntegerRange range{INT64_MAX, INT64_MIN};
  for (uint64_t i = 0; i < constant->constant->type.count(); i++) {
    const int64_t v = constant->constant->integer(i);
    range = {std::min(range.least, v), std::max(range.most, v)};
  }
  return range.within(-kMostOfSum, kMostOfSum) ? std::optional(range) : std::nullopt;
}

/// The number that all elements of a constant are.
std::optional<double> number_of(const Module& module, ValueId value) {
  const Op* constant = constant_behind(module, value);
  if (constant == nullptr || !constant->constant || constant->constant->type.count() != 1) return std::nullopt;
  return constant->constant->number(0);
}

}  // namespace

namespace {

/// At most `depth` operators back: sums of sums have many ways back.
std::optional<IntegerRange> range_of(const Module& module, ValueId value, int depth) {
  if (depth == 0) return std::nullopt;
  const auto& type = module.type(value);
  if (ir::is_float(type.element) || type.element == ElementType::kPred || type.count() == 0) return std::nullopt;
  if (constant_behind(module, value) != nullptr) return range_of_constant(module, value);
  if (const auto known = range_of_type(type.element)) return known;
  const Op& op = module.op_of(value);
  const auto operand = [&](size_t i) { return range_of(module, op.operands[i], depth - 1); };
  if (op.kind == OpKind::kAdd || op.kind == OpKind::kSubtract) {
    const auto a = operand(0), b = operand(1);
    if (!a || !b) return std::nullopt;
    const IntegerRange sum = op.kind == OpKind::kAdd ? IntegerRange{a->least + b->least, a->most + b->most}
                                                     : IntegerRange{a->least - b->most, a->most - b->least};
    return sum.within(-kMostOfSum, kMostOfSum) ? std::optional(sum) : std::nullopt;
  }
  if (op.kind == OpKind::kMaximum || op.kind == OpKind::kMinimum) {
    const auto a = operand(0), b = operand(1);
    if (!a || !b) return std::nullopt;
    return op.kind == OpKind::kMaximum ? IntegerRange{std::max(a->least, b->least), std::max(a->most, b->most)}
                                       : IntegerRange{std::min(a->least, b->least), std::min(a->most, b->most)};
  }
  const bool wide = type.element == ElementType::kI32 || type.element == ElementType::kI64;
  if (op.kind == OpKind::kConvert) return wide ? operand(0) : std::nullopt;
  if (op.kind == OpKind::kPad || op.kind == OpKind::kConcatenate) {
    std::optional<IntegerRange> all = operand(0);
    for (size_t i = 1; all && i < op.operands.size(); i++) {
      const auto next = operand(i);
      if (!next) return std::nullopt;
      all = {std::min(all->least, next->least), std::max(all->most, next->most)};
    }
    return all;
  }
  return data_operands(op) == 1 ? operand(0) : std::nullopt;
}

}  // namespace

std::optional<IntegerRange> integer_range_of(const Module& module, ValueId value) {
  return range_of(module, value, kMostOperators);
}

uint64_t exact_terms(const IntegerRange& a, const IntegerRange& b) {
  if (!a.within(-kMostOfBf16, kMostOfBf16) || !b.within(-kMostOfBf16, kMostOfBf16)) return 0;
  const auto size = [](const IntegerRange& r) { return std::max<int64_t>({1, std::abs(r.least), std::abs(r.most)}); };
  return static_cast<uint64_t>(kMostOfF32 / (size(a) * size(b)));
}

bool is_product_of_bytes(const Module& module, const Op& op) {
  if (constant_behind(module, op.operands[1]) == nullptr) return false;
  const auto x = integer_range_of(module, op.operands[0]), w = integer_range_of(module, op.operands[1]);
  if (!x || !w || !x->to_bytes()) return false;
  if (op.kind == OpKind::kConvolution) return op.integer("groups") == 1 && w->within(-128, 127);
  return op.list("lhs_batch").empty() && w->within(-255, 255);
}

std::string refusal_of_integer_product(const Module& module, const Op& op) {
  const auto& result = module.type(op.results[0]);
  if (result.element != ElementType::kI32) return fmt::format("{} to {}", name_of(op.kind), result.text());
  const auto x = integer_range_of(module, op.operands[0]), w = integer_range_of(module, op.operands[1]);
  if (!x || !w) return fmt::format("{} of integers of more than 8 bits", name_of(op.kind));
  if (op.kind == OpKind::kConvolution && std::ranges::any_of(op.list("lhs_dilation"), [](int64_t d) { return d != 1; }))
    return "a transposed convolution of integers";
  if (is_product_of_bytes(module, op)) return {};
  const uint64_t terms = exact_terms(*x, *w);
  if (terms == 0) return fmt::format("{} of integers of more than 8 bits", name_of(op.kind));
  if (op.kind == OpKind::kDotGeneral) return {};
  const auto& filter = module.type(op.operands[1]);
  const uint64_t summed = filter.count() / static_cast<uint64_t>(filter.dims[0]);
  if (summed > terms) return fmt::format("sums of {} products of integers that are not constant", summed);
  return {};
}

std::optional<Quantizer> quantizer_of(const Module& module, const Op& op) {
  if (module.type(op.results[0]).element != ElementType::kF32) return std::nullopt;
  const Op* inner = &op;
  for (const OpKind limit : {OpKind::kMinimum, OpKind::kMaximum}) {
    if (inner->kind != limit) return std::nullopt;
    const auto number = number_of(module, inner->operands[1]);
    if (!number || std::abs(*number) > kMostLimit || *number != std::trunc(*number)) return std::nullopt;
    inner = &module.op_of(inner->operands[0]);
  }
  if (inner->kind == OpKind::kAdd) inner = &module.op_of(inner->operands[0]);
  if (inner->kind != OpKind::kRoundNearestEven) return std::nullopt;
  Quantizer quantizer{inner->results[0], std::nullopt};
  if (module.op_of(inner->operands[0]).kind == OpKind::kDivide) quantizer.quotient = inner->operands[0];
  return quantizer;
}

}  // namespace weft::compiler
