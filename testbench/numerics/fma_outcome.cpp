// What happened in a multiply-add. Written apart from model/golden: it must not share its mistakes.
#include "testbench/numerics/fma_outcome.hpp"

#include <algorithm>
#include <bit>

namespace weft::numerics {
namespace {

using Wide = unsigned __int128;

/// Significand and the exponent of its last place; a subnormal is zero.
struct Number {
  uint64_t significand;
  int exponent;
};

Number f32_number(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 23 & 0xff);
  return {exponent == 0 ? 0 : (bits & 0x7fffff) | 0x800000u, exponent - 150};
}

int width(Wide v) {
  const auto high = static_cast<uint64_t>(v >> 64);
  return high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(v));
}

/// |product + addend| as an integer times 2^exponent; what lies too far below to matter is one unit.
struct Sum {
  Wide magnitude;
  int exponent;
};

Sum add(const Number& p, const Number& c, bool same_sign) {
  constexpr int kGuard = 70;  // 48 bits and this many fit; a smaller number only tells on which side of a tie it lies
  if (p.significand == 0) return {c.significand, c.exponent};
  if (c.significand == 0) return {p.significand, p.exponent};
  const Number& high = p.exponent > c.exponent ? p : c;
  const Number& low = p.exponent > c.exponent ? c : p;
  const int distance = high.exponent - low.exponent;
  const Wide a = Wide{high.significand} << std::min(distance, kGuard);
  const Wide b = distance > kGuard ? 1 : low.significand;
  const int exponent = high.exponent - std::min(distance, kGuard);
  if (same_sign) return {a + b, exponent};
  return {a > b ? a - b : b - a, exponent};
}

FmaOutcome finite_outcome(const Sum& sum) {
  const int bits = width(sum.magnitude);
  const int excess = bits - 24;
  const int top = sum.exponent + bits - 1;  // binade before rounding
  if (excess <= 0) return top > 127 ? FmaOutcome::kOverflow : top < -126 ? FmaOutcome::kFlushed : FmaOutcome::kExact;
  const Wide rest = sum.magnitude & ((Wide{1} << excess) - 1), half = Wide{1} << (excess - 1);
  const auto kept = static_cast<uint32_t>(sum.magnitude >> excess);
  const bool up = rest > half || (rest == half && (kept & 1) != 0);
  const bool carried = up && kept == 0xffffff;
  if (top > 127) return FmaOutcome::kOverflow;
  if (top == 127 && carried) return FmaOutcome::kRoundedToInfinity;
  if (top == -127 && carried) return FmaOutcome::kRescued;
  if (top < -126) return FmaOutcome::kFlushed;
  if (carried) return FmaOutcome::kCarried;
  if (rest == 0) return FmaOutcome::kExact;
  if (rest == half) return up ? FmaOutcome::kTieUp : FmaOutcome::kTieDown;
  return up ? FmaOutcome::kRoundedUp : FmaOutcome::kRoundedDown;
}

}  // namespace

FmaOutcome fma_outcome(const FmaVector& v) {
  constexpr uint32_t kInfinity = 0x7f800000;
  const uint32_t a = uint32_t{v.a} << 16, b = uint32_t{v.b} << 16;
  const auto magnitude = [](uint32_t bits) { return bits & 0x7fffffffu; };
  if (std::max({magnitude(a), magnitude(b), magnitude(v.c)}) > kInfinity) return FmaOutcome::kNanOperand;
  const bool infinite_product = magnitude(a) == kInfinity || magnitude(b) == kInfinity;
  const bool same_sign = ((a ^ b ^ v.c) >> 31) == 0;
  const Number x = f32_number(a), y = f32_number(b), c = f32_number(v.c);
  if (infinite_product && (x.significand == 0 || y.significand == 0)) return FmaOutcome::kInvalid;
  if (infinite_product && magnitude(v.c) == kInfinity && !same_sign) return FmaOutcome::kInvalid;
  if (infinite_product || magnitude(v.c) == kInfinity) return FmaOutcome::kInfiniteOperand;
  const Number product{(x.significand >> 16) * (y.significand >> 16), x.exponent + y.exponent + 32};
  if (product.significand == 0 && c.significand == 0) return FmaOutcome::kZeroSum;
  const Sum sum = add(product, c, same_sign);
  return sum.magnitude == 0 ? FmaOutcome::kCancelled : finite_outcome(sum);
}

}  // namespace weft::numerics
