/// The VPU's operations: a table of tiny functions.
#include "model/golden/lane_operations.hpp"

#include <algorithm>
#include <cassert>

#include "model/golden/arith.hpp"
#include "model/golden/matmul.hpp"
#include "model/golden/rows_fast.hpp"
#include "model/golden/vpu_functions.hpp"

namespace weft::golden {
namespace {

constexpr uint32_t kOneF32 = 0x3f800000;

uint32_t truth(bool value) { return value ? kOneF32 : 0; }
uint32_t eq_f32(uint32_t a, uint32_t b) { return truth(equal_f32(a, b)); }
uint32_t ne_f32(uint32_t a, uint32_t b) { return truth(!equal_f32(a, b)); }
uint32_t lt_f32(uint32_t a, uint32_t b) { return truth(less_f32(a, b)); }
uint32_t gt_f32(uint32_t a, uint32_t b) { return truth(less_f32(b, a)); }
uint32_t le_f32(uint32_t a, uint32_t b) { return truth(less_f32(a, b) || equal_f32(a, b)); }
uint32_t ge_f32(uint32_t a, uint32_t b) { return truth(less_f32(b, a) || equal_f32(a, b)); }

uint32_t add_i32(uint32_t a, uint32_t b) { return a + b; }
uint32_t sub_i32(uint32_t a, uint32_t b) { return a - b; }
uint32_t mul_i32(uint32_t a, uint32_t b) { return a * b; }
uint32_t smaller_i32(uint32_t a, uint32_t b) { return min_i32(a, b); }
uint32_t larger_i32(uint32_t a, uint32_t b) { return max_i32(a, b); }
uint32_t eq_i32(uint32_t a, uint32_t b) { return a == b; }
uint32_t ne_i32(uint32_t a, uint32_t b) { return a != b; }
uint32_t lt_i32(uint32_t a, uint32_t b) { return static_cast<int32_t>(a) < static_cast<int32_t>(b); }
uint32_t gt_i32(uint32_t a, uint32_t b) { return lt_i32(b, a); }
uint32_t le_i32(uint32_t a, uint32_t b) { return lt_i32(b, a) ^ 1; }
uint32_t ge_i32(uint32_t a, uint32_t b) { return lt_i32(a, b) ^ 1; }

uint32_t and_i32(uint32_t a, uint32_t b) { return a & b; }
uint32_t or_i32(uint32_t a, uint32_t b) { return a | b; }
uint32_t xor_i32(uint32_t a, uint32_t b) { return a ^ b; }
uint32_t sll_i32(uint32_t a, uint32_t b) { return b > 31 ? 0 : a << b; }
uint32_t srl_i32(uint32_t a, uint32_t b) { return b > 31 ? 0 : a >> b; }
uint32_t sra_i32(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(static_cast<int32_t>(a) >> std::min<uint32_t>(b, 31));
}
uint32_t ltu_i32(uint32_t a, uint32_t b) { return a < b; }
uint32_t leu_i32(uint32_t a, uint32_t b) { return a <= b; }
uint32_t gtu_i32(uint32_t a, uint32_t b) { return a > b; }
uint32_t geu_i32(uint32_t a, uint32_t b) { return a >= b; }

struct Binary {
  weft_vpu_op op;
  BinaryFunction f32, i32;  ///< nullptr: not of this type
};
constexpr Binary kBinary[] = {
    {WEFT_VPU_OP_ADD, add_f32, add_i32},     {WEFT_VPU_OP_SUB, sub_f32, sub_i32},
    {WEFT_VPU_OP_MUL, mul_f32, mul_i32},     {WEFT_VPU_OP_MIN, min_f32, smaller_i32},
    {WEFT_VPU_OP_MAX, max_f32, larger_i32},  {WEFT_VPU_OP_SUM, add_f32, add_i32},
    {WEFT_VPU_OP_RMAX, max_f32, larger_i32}, {WEFT_VPU_OP_RMIN, min_f32, smaller_i32},
    {WEFT_VPU_OP_EQ, eq_f32, eq_i32},        {WEFT_VPU_OP_NE, ne_f32, ne_i32},
    {WEFT_VPU_OP_LT, lt_f32, lt_i32},        {WEFT_VPU_OP_LE, le_f32, le_i32},
    {WEFT_VPU_OP_GT, gt_f32, gt_i32},        {WEFT_VPU_OP_GE, ge_f32, ge_i32},
    {WEFT_VPU_OP_AND, nullptr, and_i32},     {WEFT_VPU_OP_OR, nullptr, or_i32},
    {WEFT_VPU_OP_XOR, nullptr, xor_i32},     {WEFT_VPU_OP_SLL, nullptr, sll_i32},
    {WEFT_VPU_OP_SRL, nullptr, srl_i32},     {WEFT_VPU_OP_SRA, nullptr, sra_i32},
    {WEFT_VPU_OP_LTU, nullptr, ltu_i32},     {WEFT_VPU_OP_LEU, nullptr, leu_i32},
    {WEFT_VPU_OP_GTU, nullptr, gtu_i32},     {WEFT_VPU_OP_GEU, nullptr, geu_i32},
};
const Binary* find_binary(weft_vpu_op op) {
  const auto* found = std::ranges::find(kBinary, op, &Binary::op);
  return found == std::end(kBinary) ? nullptr : found;
}

/// The operations of three operands, and none.
template <class Fma, class Canonical>
void operate_other(weft_vpu_op op, std::span<const uint32_t> a, std::span<const uint32_t> b, uint32_t c,
                   std::span<uint32_t> d, Fma fma, Canonical canonical) {
  for (size_t i = 0; i < d.size(); i++) {
    if (op == WEFT_VPU_OP_FMA)
      d[i] = fma(a[i], b[i], c);
    else if (op == WEFT_VPU_OP_AXPY)
      d[i] = fma(a[i], c, b[i]);
    else if (op == WEFT_VPU_OP_SELECT)
      d[i] = canonical(canonical(a[i]) << 1 != 0 ? b[i] : c);
    else
      d[i] = canonical(a[i]);
  }
}

}  // namespace

BinaryFunction binary_f32(weft_vpu_op op) {
  const Binary* binary = find_binary(op);
  return binary == nullptr ? nullptr : binary->f32;
}
BinaryFunction binary_i32(weft_vpu_op op) {
  const Binary* binary = find_binary(op);
  return binary == nullptr ? nullptr : binary->i32;
}

void operate_f32(weft_vpu_op op, std::span<const uint32_t> a, std::span<const uint32_t> b, uint32_t c,
                 std::span<uint32_t> d) {
  if (is_vpu_function(op)) return vpu_function_row(op, a, d);
  if (const BinaryFunction function = binary_f32(op)) {
    if (host_fma_is_exact() &&
        fast::elementwise_f32(op, reinterpret_cast<const float*>(a.data()), reinterpret_cast<const float*>(b.data()),
                              reinterpret_cast<float*>(d.data()), d.size()))
      return;
    for (size_t i = 0; i < d.size(); i++) d[i] = function(a[i], b[i]);
    return;
  }
  if ((op == WEFT_VPU_OP_FMA || op == WEFT_VPU_OP_AXPY) && host_fma_is_exact() &&
      fast::multiply_add_f32(op == WEFT_VPU_OP_AXPY, a.data(), b.data(), c, d.data(), d.size()))
    return;
  operate_other(op, a, b, c, d, fma_f32, canonical_f32);
}

void operate_i32(weft_vpu_op op, std::span<const uint32_t> a, std::span<const uint32_t> b, uint32_t c,
                 std::span<uint32_t> d) {
  if (const BinaryFunction function = binary_i32(op)) {
    for (size_t i = 0; i < d.size(); i++) d[i] = function(a[i], b[i]);
    return;
  }
  if (op == WEFT_VPU_OP_SELECT) {
    for (size_t i = 0; i < d.size(); i++) d[i] = a[i] != 0 ? b[i] : c;
    return;
  }
  operate_other(
      op, a, b, c, d, [](uint32_t x, uint32_t y, uint32_t z) { return x * y + z; }, [](uint32_t x) { return x; });
}

void activate_f32(weft_vpu_activation activation, uint32_t first, uint32_t second, std::span<uint32_t> d) {
  switch (activation) {
    case WEFT_VPU_ACTIVATION_NONE:
      return;
    case WEFT_VPU_ACTIVATION_RELU:
      for (uint32_t& v : d) v = relu_f32(v);
      return;
    case WEFT_VPU_ACTIVATION_LEAKY:
      for (uint32_t& v : d) v = leaky_f32(v, second);
      return;
    case WEFT_VPU_ACTIVATION_CLAMP:
      for (uint32_t& v : d) v = min_f32(max_f32(v, first), second);
      return;
  }
}

void activate_i32(weft_vpu_activation activation, uint32_t first, uint32_t second, std::span<uint32_t> d) {
  switch (activation) {
    case WEFT_VPU_ACTIVATION_NONE:
    case WEFT_VPU_ACTIVATION_LEAKY:  // not of i32
      return;
    case WEFT_VPU_ACTIVATION_RELU:
      for (uint32_t& v : d) v = relu_i32(v);
      return;
    case WEFT_VPU_ACTIVATION_CLAMP:
      for (uint32_t& v : d) v = min_i32(max_i32(v, first), second);
      return;
  }
}

}  // namespace weft::golden
