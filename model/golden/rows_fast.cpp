/// fp32 additions, subtractions and products by the host's vector unit. Compiled with WEFT_FAST_FLAGS.
#include "model/golden/rows_fast.hpp"

#include <string.h>

#include "model/golden/flush_to_zero.hpp"

namespace weft::golden::fast {

#if !WEFT_HAS_FLUSH_TO_ZERO

bool elementwise_f32(weft_vpu_op, const float*, const float*, float*, size_t) { return false; }

#else
namespace {

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
    const float value = Operation::apply(a[i], b[i]);
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
    memcpy(d + i, &bits, sizeof bits);
  }
}

}  // namespace

bool elementwise_f32(weft_vpu_op op, const float* a, const float* b, float* d, size_t count) {
  const FlushToZero environment;
  if (op == WEFT_VPU_OP_ADD) return run<Add>(a, b, d, count), true;
  if (op == WEFT_VPU_OP_SUB) return run<Subtract>(a, b, d, count), true;
  if (op == WEFT_VPU_OP_MUL) return run<Multiply>(a, b, d, count), true;
  return false;
}

#endif

}  // namespace weft::golden::fast
