// Operand pairs for the lane functions.
#include "testbench/rtl/vpu/lane_vectors.hpp"

namespace weft::vpu_test {
namespace {

uint32_t compose(uint32_t sign, uint32_t exponent, uint32_t fraction) {
  return sign << 31 | (exponent & 0xff) << 23 | (fraction & 0x7fffff);
}

/// A fraction with runs of equal bits, so that ties and carries through the whole significand are frequent.
uint32_t sparse_fraction(uint64_t r) {
  const uint32_t bit = 1u << (r % 23), below = (r >> 8) % 2 ? bit - 1 : 0;
  const uint32_t value = ((r >> 9) % 2 ? bit : 0) | below;
  return ((r >> 10) % 2 ? ~value : value) & 0x7fffff;
}

}  // namespace

std::string_view name(LaneFunction f) {
  switch (f) {
    case LaneFunction::kAdd:
      return "f32 add";
    case LaneFunction::kMul:
      return "f32 mul";
    case LaneFunction::kMin:
      return "f32 min";
    case LaneFunction::kMax:
      return "f32 max";
    case LaneFunction::kRelu:
      return "relu";
    case LaneFunction::kF32ToBf16:
      return "f32 to bf16";
    case LaneFunction::kBf16ToF32:
      return "bf16 to f32";
    case LaneFunction::kI32ToF32:
      return "i32 to f32";
    case LaneFunction::kF32ToI32:
      return "f32 to i32";
    case LaneFunction::kCanonical:
      return "f32 canonical";
    case LaneFunction::kI32Min:
      return "i32 min";
    case LaneFunction::kI32Max:
      return "i32 max";
    case LaneFunction::kFma:
      return "f32 fma";
    case LaneFunction::kLess:
      return "f32 less";
    case LaneFunction::kEqual:
      return "f32 equal";
    case LaneFunction::kI32Less:
      return "i32 less";
    case LaneFunction::kLeaky:
      return "leaky";
    case LaneFunction::kF32ToI8:
      return "f32 to i8";
    case LaneFunction::kU32Less:
      return "u32 less";
    case LaneFunction::kShiftLeft:
      return "shift left";
    case LaneFunction::kShiftRight:
      return "shift right";
    case LaneFunction::kShiftRightSigned:
      return "shift right signed";
  }
  return "?";
}

std::string_view name(VectorClass c) {
  switch (c) {
    case VectorClass::kRandomBits:
      return "random bits";
    case VectorClass::kSpecials:
      return "specials";
    case VectorClass::kTies:
      return "ties";
    case VectorClass::kCancellation:
      return "cancellation";
    case VectorClass::kUnderflow:
      return "underflow";
    case VectorClass::kOverflow:
      return "overflow";
    case VectorClass::kIntegers:
      return "integers";
  }
  return "?";
}

const std::vector<uint32_t>& special_values() {
  static const std::vector<uint32_t> values = [] {
    std::vector<uint32_t> v;
    for (uint32_t magnitude :
         {0x00000000u, 0x00000001u, 0x00008000u, 0x00400000u, 0x007fffffu,                // zero, subnormals
          0x00800000u, 0x00800001u, 0x00ffffffu, 0x01000000u, 0x0c800000u,                // around the smallest normal
          0x1f800000u, 0x20000000u, 0x1fffffffu, 0x1fb504f3u, 0x1fb504f4u,                // squares at 2^-126
          0x3effffffu, 0x3f000000u, 0x3f000001u, 0x3f7fffffu, 0x3f800000u, 0x3f800001u,   // around 1/2 and 1
          0x3fc00000u, 0x40200000u, 0x4affffffu, 0x4b000000u, 0x4b000001u, 0x4b7fffffu,   // ties, 2^23, 2^24
          0x4b800000u, 0x4effffffu, 0x4f000000u, 0x4f000001u, 0x4f800000u,                // around 2^31
          0x5f000000u, 0x5f7fffffu, 0x7e800000u, 0x7f000000u, 0x7f7f7fffu, 0x7f7f8000u,   // overflow in mul, in bf16
          0x7f7fffffu, 0x7f800000u, 0x7f800001u, 0x7fbfffffu, 0x7fc00000u, 0x7fffffffu})  // infinity, NaNs
      for (uint32_t sign : {0u, 0x80000000u}) v.push_back(magnitude | sign);
    return v;
  }();
  return values;
}

std::pair<uint32_t, uint32_t> draw(VectorClass c, std::mt19937_64& random) {
  const uint64_t r = random(), s = random();
  const auto sign_a = static_cast<uint32_t>(r >> 63), sign_b = static_cast<uint32_t>(s >> 63);
  const auto low = static_cast<uint32_t>(r), high = static_cast<uint32_t>(s);
  switch (c) {
    case VectorClass::kRandomBits:
      return {low, high};
    case VectorClass::kSpecials: {
      const auto& v = special_values();
      return {v[low % v.size()], (r >> 32) % 4 == 0 ? high : v[high % v.size()]};
    }
    case VectorClass::kTies: {  // exponents up to 27 apart, sparse significands
      const auto exponent = static_cast<uint32_t>(30 + (r >> 32) % 190);
      return {compose(sign_a, exponent, sparse_fraction(r)),
              compose(sign_b, exponent - 27 + static_cast<uint32_t>((s >> 32) % 55), sparse_fraction(s))};
    }
    case VectorClass::kCancellation: {  // b near -a, or one binade below
      const uint32_t a = compose(sign_a, low >> 24, low);
      const uint32_t step = static_cast<uint32_t>(s % 9) - 4u + ((s >> 8) % 4 == 0 ? 0x800000u : 0u);
      return {a, (a ^ 0x80000000u) + step};
    }
    case VectorClass::kUnderflow: {  // products and sums around 2^-126
      const auto exponent = static_cast<uint32_t>(1 + (r >> 32) % 126);
      if ((s >> 32) % 4 == 0) return {compose(sign_a, exponent % 4, low), compose(sign_b, (s >> 40) % 4, high)};
      const bool sparse = (s >> 40) % 2 == 0;
      return {compose(sign_a, exponent, sparse ? sparse_fraction(r) : low),
              compose(sign_b, 127 - exponent + static_cast<uint32_t>((s >> 42) % 4) - 1,
                      sparse ? sparse_fraction(s) : high)};
    }
    case VectorClass::kOverflow: {  // products and sums around 2^128
      const auto exponent = static_cast<uint32_t>(127 + (r >> 32) % 128);
      if ((s >> 32) % 4 == 0)
        return {compose(sign_a, 251 + (r >> 40) % 4, low), compose(sign_b, 251 + (s >> 40) % 4, high)};
      const bool sparse = (s >> 40) % 2 == 0;
      return {compose(sign_a, exponent, sparse ? sparse_fraction(r) : low),
              compose(sign_b, 382 - exponent - 1 + static_cast<uint32_t>((s >> 42) % 3),
                      sparse ? sparse_fraction(s) : high)};
    }
    case VectorClass::kIntegers: {  // i32 of every width; floats between 1/4 and 2^33 with ties
      if ((r >> 32) % 2 == 0) return {low >> ((r >> 33) % 32) ^ (0u - sign_a), high};
      return {compose(sign_a, 125 + (r >> 33) % 36, (r >> 40) % 2 ? sparse_fraction(r) : low), high};
    }
  }
  return {0, 0};
}

}  // namespace weft::vpu_test
