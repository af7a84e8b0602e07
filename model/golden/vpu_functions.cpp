/// The recipe in integers.
#include "model/golden/vpu_functions.hpp"

#include <cassert>

#include "model/golden/arith.hpp"
#include "model/golden/matmul.hpp"
#include "model/golden/vpu_function_recipe.hpp"
#include "model/golden/vpu_functions_fast.hpp"

namespace weft::golden {
namespace {

struct Integers {
  static uint32_t add(uint32_t a, uint32_t b) { return add_f32(a, b); }
  static uint32_t fma(uint32_t a, uint32_t b, uint32_t c) { return fma_f32(a, b, c); }
  static uint32_t from_integer(int32_t a) { return i32_to_f32(static_cast<uint32_t>(a)); }
};

}  // namespace

uint32_t vpu_function_f32(weft_vpu_op op, uint32_t a) {
  assert(is_vpu_function(op));
  if (op == WEFT_VPU_OP_EXP2) return recipe::Exp2::apply<Integers>(a);
  if (op == WEFT_VPU_OP_LOG2) return recipe::Log2::apply<Integers>(a);
  if (op == WEFT_VPU_OP_RCP) return recipe::Reciprocal::apply<Integers>(a);
  if (op == WEFT_VPU_OP_RSQRT) return recipe::Rsqrt::apply<Integers>(a);
  if (op == WEFT_VPU_OP_TANH) return recipe::Tanh::apply<Integers>(a);
  return recipe::Erf::apply<Integers>(a);
}

void vpu_function_row(weft_vpu_op op, std::span<const uint32_t> a, std::span<uint32_t> d) {
  assert(a.size() == d.size());
  if (host_fma_is_exact() && fast::vpu_function(op, a.data(), d.data(), d.size())) return;
  for (size_t i = 0; i < d.size(); i++) d[i] = vpu_function_f32(op, a[i]);
}

}  // namespace weft::golden
