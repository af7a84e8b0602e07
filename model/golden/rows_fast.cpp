/// fp32 arithmetic and conversions by the host's vector unit. Compiled with WEFT_FAST_FLAGS.
#include "model/golden/rows_fast.hpp"

#include <string.h>

#include "model/golden/flush_to_zero.hpp"

namespace weft::golden::fast {

void to_bf16(const uint32_t* a, uint16_t* d, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const uint32_t size = a[i] & 0x7fffffffu;
    const uint32_t bits = size < 0x00800000u ? a[i] & 0x80000000u : a[i];
    const uint32_t nearest = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    d[i] = static_cast<uint16_t>(size > 0x7f800000u ? 0x7fc0u : nearest);
  }
}

#if !WEFT_HAS_FLUSH_TO_ZERO

bool elementwise_f32(weft_vpu_op, const float*, const float*, float*, size_t) { return false; }
bool sum_neighbours_f32(uint32_t*, size_t) { return false; }

#else
namespace {

float to_float(uint32_t a) { return __builtin_bit_cast(float, a); }
uint32_t to_bits(float a) { return __builtin_bit_cast(uint32_t, a); }
uint32_t canonical_nan(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits; }

struct Add {
  static float apply(float a, float b) { return a + b; }
};
struct Subtract {
  static float apply(float a, float b) { return a - b; }
};
struct Multiply {
  static float apply(float a, float b) { return a * b; }
};

template <class Operation>
[[gnu::noinline]] void run(const float* a, const float* b, float* d, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const uint32_t bits = canonical_nan(to_bits(Operation::apply(a[i], b[i])));
    memcpy(d + i, &bits, sizeof bits);
  }
}

/// One level of the tree, in place: what an iteration reads, no earlier one has written.
[[gnu::noinline]] void add_neighbours(uint32_t* values, size_t pairs) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
  for (size_t i = 0; i < pairs; i++) values[i] = to_bits(to_float(values[2 * i]) + to_float(values[2 * i + 1]));
}

}  // namespace

bool elementwise_f32(weft_vpu_op op, const float* a, const float* b, float* d, size_t count) {
  const FlushToZero environment;
  if (op == WEFT_VPU_OP_ADD) return run<Add>(a, b, d, count), true;
  if (op == WEFT_VPU_OP_SUB) return run<Subtract>(a, b, d, count), true;
  if (op == WEFT_VPU_OP_MUL) return run<Multiply>(a, b, d, count), true;
  return false;
}

bool sum_neighbours_f32(uint32_t* values, size_t count) {
  const FlushToZero environment;
  for (; count > 1; count = (count + 1) / 2) {
    add_neighbours(values, count / 2);
    if (count % 2 != 0) values[count / 2] = values[count - 1];
  }
  values[0] = canonical_nan(values[0]);
  return true;
}

#endif

#if !WEFT_HAS_FLUSH_TO_ZERO || !defined(__FMA__)

bool multiply_add_f32(bool, const uint32_t*, const uint32_t*, uint32_t, uint32_t*, size_t) { return false; }

#else
namespace {

[[gnu::noinline]] void multiply_add(const uint32_t* a, const uint32_t* b, float c, uint32_t* d, size_t count) {
  for (size_t i = 0; i < count; i++) d[i] = canonical_nan(to_bits(__builtin_fmaf(to_float(a[i]), to_float(b[i]), c)));
}
[[gnu::noinline]] void scale_and_add(const uint32_t* a, const uint32_t* b, float c, uint32_t* d, size_t count) {
  for (size_t i = 0; i < count; i++) d[i] = canonical_nan(to_bits(__builtin_fmaf(to_float(a[i]), c, to_float(b[i]))));
}

}  // namespace

bool multiply_add_f32(bool axpy, const uint32_t* a, const uint32_t* b, uint32_t c, uint32_t* d, size_t count) {
  const FlushToZero environment;
  if (axpy)
    scale_and_add(a, b, to_float(c), d, count);
  else
    multiply_add(a, b, to_float(c), d, count);
  return true;
}

#endif

}  // namespace weft::golden::fast
