/// The recipe under FTZ and DAZ. Compiled with WEFT_FAST_FLAGS.
#include "model/golden/vpu_functions_fast.hpp"

#include "model/golden/flush_to_zero.hpp"
#include "model/golden/vpu_function_recipe.hpp"

namespace weft::golden::fast {

#if !WEFT_HAS_FLUSH_TO_ZERO || !defined(__FMA__)

bool vpu_function(weft_vpu_op, const uint32_t*, uint32_t*, size_t) { return false; }

#else
namespace {

float to_float(uint32_t a) { return __builtin_bit_cast(float, a); }
uint32_t to_bits(float a) { return __builtin_bit_cast(uint32_t, a); }

struct Host {
  static uint32_t add(uint32_t a, uint32_t b) { return to_bits(to_float(a) + to_float(b)); }
  static uint32_t fma(uint32_t a, uint32_t b, uint32_t c) {
    return to_bits(__builtin_fmaf(to_float(a), to_float(b), to_float(c)));
  }
  static uint32_t from_integer(int32_t a) { return to_bits(static_cast<float>(a)); }
};

template <class Function>
[[gnu::noinline]] void run(const uint32_t* a, uint32_t* d, size_t count) {
  for (size_t i = 0; i < count; i++) d[i] = Function::template apply<Host>(a[i]);
}

}  // namespace

bool vpu_function(weft_vpu_op op, const uint32_t* a, uint32_t* d, size_t count) {
  const FlushToZero environment;
  if (op == WEFT_VPU_OP_EXP2) return run<recipe::Exp2>(a, d, count), true;
  if (op == WEFT_VPU_OP_LOG2) return run<recipe::Log2>(a, d, count), true;
  if (op == WEFT_VPU_OP_RCP) return run<recipe::Reciprocal>(a, d, count), true;
  if (op == WEFT_VPU_OP_RSQRT) return run<recipe::Rsqrt>(a, d, count), true;
  if (op == WEFT_VPU_OP_TANH) return run<recipe::Tanh>(a, d, count), true;
  if (op == WEFT_VPU_OP_ERF) return run<recipe::Erf>(a, d, count), true;
  return false;
}

#endif

}  // namespace weft::golden::fast
