// The lanes' arithmetic, bit for bit against host arithmetic, over millions of seeded vectors.
#include <fmt/core.h>

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <tuple>
#include <vector>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "Vvpu_lane_probe.h"
#include "testbench/rtl/vpu/lane_reference.hpp"
#include "testbench/rtl/vpu/lane_vectors.hpp"

namespace {
using namespace weft::vpu_test;

constexpr unsigned kLanes = 64;
constexpr uint64_t kSeed = 20240611;
using Lanes = std::array<uint32_t, kLanes>;

/// The lane package, Verilated: one function on 64 sets of operands.
class Probe {
 public:
  Lanes apply(LaneFunction f, const Lanes& a, const Lanes& b, const Lanes& c) {
    model_->function_i = static_cast<uint8_t>(f);
    for (unsigned i = 0; i < kLanes; i++) model_->a_i[i] = a[i], model_->b_i[i] = b[i], model_->c_i[i] = c[i];
    model_->eval();
    Lanes y;
    for (unsigned i = 0; i < kLanes; i++) y[i] = model_->y_o[i];
    return y;
  }

 private:
  std::unique_ptr<Vvpu_lane_probe> model_ = std::make_unique<Vvpu_lane_probe>();
};

uint32_t reference(LaneFunction f, uint32_t a, uint32_t b, uint32_t c) {
  switch (f) {
    case LaneFunction::kAdd:
      return add(a, b);
    case LaneFunction::kMul:
      return mul(a, b);
    case LaneFunction::kMin:
      return smaller(a, b);
    case LaneFunction::kMax:
      return larger(a, b);
    case LaneFunction::kRelu:
      return relu_f32(a);
    case LaneFunction::kF32ToBf16:
      return f32_to_bf16(a);
    case LaneFunction::kBf16ToF32:
      return bf16_to_f32(a);
    case LaneFunction::kI32ToF32:
      return i32_to_f32(a);
    case LaneFunction::kF32ToI32:
      return f32_to_i32(a);
    case LaneFunction::kCanonical:
      return canonical(a);
    case LaneFunction::kI32Min:
      return smaller_i32(a, b);
    case LaneFunction::kI32Max:
      return larger_i32(a, b);
    case LaneFunction::kFma:
      return fma(a, b, c);
    case LaneFunction::kLess:
      return less(a, b) ? UINT32_MAX : 0;
    case LaneFunction::kEqual:
      return equal(a, b) ? UINT32_MAX : 0;
    case LaneFunction::kI32Less:
      return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? UINT32_MAX : 0;
    case LaneFunction::kLeaky:
      return leaky(a, b);
    case LaneFunction::kF32ToI8:
      return f32_to_i8(a, static_cast<int8_t>(b));
    case LaneFunction::kU32Less:
      return a < b ? UINT32_MAX : 0;
    case LaneFunction::kShiftLeft:
      return shifted_left(a, b);
    case LaneFunction::kShiftRight:
      return shifted_right(a, b, false);
    case LaneFunction::kShiftRightSigned:
      return shifted_right(a, b, true);
  }
  return 0;
}

/// A third operand: another one of the class, near -a * b, a special value, or any bits.
uint32_t third(uint32_t a, uint32_t b, std::mt19937_64& random) {
  const uint64_t r = random();
  const auto& v = special_values();
  const uint32_t product = mul(a, b);
  switch (r % 8) {
    case 0:
      return v[(r >> 8) % v.size()];
    case 1:
      return static_cast<uint32_t>(r >> 8);
    case 2:  // exponents up to 60 below the product's, and a few above
      return static_cast<uint32_t>(r >> 40 << 31) |
             (product & 0x7f800000u) - (static_cast<uint32_t>(r >> 8) % 60 << 23) |
             (static_cast<uint32_t>(r >> 16) & 0x7fffffu);
    case 3:
      return static_cast<uint32_t>(r >> 40 << 31) |
             (product & 0x7f800000u) + (static_cast<uint32_t>(r >> 8) % 30 << 23) |
             (static_cast<uint32_t>(r >> 16) & 0x7fffffu);
    default:  // cancellation
      return (product ^ kSign) + static_cast<uint32_t>(r >> 8) % 5 - 2;
  }
}

/// Compares `rows` x 64 vectors made by `make`; reports the first that differs.
template <class Make, class Reference>
void compare(LaneFunction f, unsigned rows, Make make, Reference expected) {
  Probe probe;
  std::mt19937_64 random(rows);
  for (unsigned row = 0; row < rows; row++) {
    Lanes a, b, c;
    for (unsigned i = 0; i < kLanes; i++) {
      std::tie(a[i], b[i]) = make();
      c[i] = third(a[i], b[i], random);
    }
    const Lanes y = probe.apply(f, a, b, c);
    for (unsigned i = 0; i < kLanes; i++) {
      const uint32_t want = expected(a[i], b[i], c[i]);
      if (y[i] != want)
        FAIL(fmt::format("{}: a {:08x} b {:08x} c {:08x}: rtl {:08x}, reference {:08x}", name(f), a[i], b[i], c[i],
                         y[i], want));
    }
  }
}

}  // namespace

TEST_CASE("every lane function equals the reference on every class of vectors") {
  constexpr unsigned kRows = 8000;  // x 64 lanes x 7 classes x 22 functions = 79 million vectors
  for (unsigned f = 0; f < kLaneFunctions; f++)
    for (unsigned c = 0; c < kVectorClasses; c++) {
      const auto vector_class = static_cast<VectorClass>(c);
      const uint64_t seed = kSeed + 100 * f + c;
      INFO("class " << name(vector_class) << ", seed " << seed);
      std::mt19937_64 random(seed);
      const auto function = static_cast<LaneFunction>(f);
      compare(
          function, kRows, [&] { return draw(vector_class, random); },
          [&](uint32_t a, uint32_t b, uint32_t c) { return reference(function, a, b, c); });
    }
}

TEST_CASE("every lane function equals the reference on all pairs of special values") {
  const auto& v = special_values();
  for (unsigned f = 0; f < kLaneFunctions; f++) {
    size_t next = 0;
    const auto function = static_cast<LaneFunction>(f);
    compare(
        function, static_cast<unsigned>((v.size() * v.size() + kLanes - 1) / kLanes),
        [&] {
          const size_t pair = next++ % (v.size() * v.size());
          return std::pair{v[pair / v.size()], v[pair % v.size()]};
        },
        [&](uint32_t a, uint32_t b, uint32_t c) { return reference(function, a, b, c); });
  }
}

TEST_CASE("bf16 to f32 and back is right for all 65536 values") {
  uint32_t next = 0;
  compare(
      LaneFunction::kBf16ToF32, 65536 / kLanes,
      [&] {
        return std::pair{next++, 0u};
      },
      [](uint32_t a, uint32_t, uint32_t) { return bf16_to_f32(a); });
  next = 0;
  compare(
      LaneFunction::kF32ToBf16, 65536 / kLanes,
      [&] {
        return std::pair{next++ << 16, 0u};
      },
      [](uint32_t a, uint32_t, uint32_t) { return canonical(a) >> 16; });
}

TEST_CASE("f32 to bf16 rounds to nearest even around every bf16 value") {
  for (uint32_t rest : {0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
    uint32_t next = 0;
    compare(
        LaneFunction::kF32ToBf16, 65536 / kLanes,
        [&] {
          return std::pair{next++ << 16 | rest, 0u};
        },
        [](uint32_t a, uint32_t, uint32_t) { return f32_to_bf16(a); });
  }
}

TEST_CASE(
    "shifts by every number up to 70 and by every power of two, of every single bit, one missing bit and a random "
    "value") {
  std::vector<uint32_t> counts, values;
  for (uint32_t by = 0; by <= 70; by++) counts.push_back(by);
  for (unsigned bit = 5; bit < 32; bit++) counts.insert(counts.end(), {1u << bit, (1u << bit) + 1, (1u << bit) + 31});
  std::mt19937_64 random(kSeed);
  for (unsigned bit = 0; bit < 32; bit++)
    values.insert(values.end(), {1u << bit, ~(1u << bit), static_cast<uint32_t>(random())});
  for (const LaneFunction f : {LaneFunction::kShiftLeft, LaneFunction::kShiftRight, LaneFunction::kShiftRightSigned}) {
    size_t next = 0;
    compare(
        f, static_cast<unsigned>((counts.size() * values.size() + kLanes - 1) / kLanes),
        [&] {
          const size_t pair = next++ % (counts.size() * values.size());
          return std::pair{values[pair / counts.size()], counts[pair % counts.size()]};
        },
        [&](uint32_t a, uint32_t b, uint32_t c) { return reference(f, a, b, c); });
  }
}

#if defined(__x86_64__)
TEST_CASE("add and mul equal the host's instructions under FTZ and DAZ") {
  const auto on_host = [](LaneFunction f, uint32_t a, uint32_t b) {
    float x = std::bit_cast<float>(a);
    const float y = std::bit_cast<float>(b);
    if (f == LaneFunction::kAdd)
      asm volatile("addss %1, %0" : "+x"(x) : "x"(y));
    else
      asm volatile("mulss %1, %0" : "+x"(x) : "x"(y));
    const auto bits = std::bit_cast<uint32_t>(x);
    return (bits & 0x7fffffff) > kInfinity ? kNan : bits;
  };
  constexpr unsigned kRows = 20000;  // x 64 lanes x 7 classes x 2 = 18 million vectors
  const unsigned saved = _mm_getcsr();
  for (LaneFunction f : {LaneFunction::kAdd, LaneFunction::kMul})
    for (unsigned c = 0; c < kVectorClasses; c++) {
      const uint64_t seed = kSeed + 5000 + 100 * static_cast<unsigned>(f) + c;
      INFO("class " << name(static_cast<VectorClass>(c)) << ", seed " << seed);
      std::mt19937_64 random(seed);
      compare(
          f, kRows, [&] { return draw(static_cast<VectorClass>(c), random); },
          [&](uint32_t a, uint32_t b, uint32_t) {
            _mm_setcsr(saved | 0x8040);
            const uint32_t y = on_host(f, a, b);
            _mm_setcsr(saved);
            return y;
          });
    }
}
#endif
