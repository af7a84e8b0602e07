/// Vector operations on plain arrays: loops over arith.hpp, and over the host's float unit where that is the same.
#include "model/golden/rows.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "model/golden/arith.hpp"
#include "model/golden/lane_operations.hpp"
#include "model/golden/matmul.hpp"
#include "model/golden/rows_fast.hpp"

namespace weft::golden {
namespace {

uint32_t to_bits(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}
float from_bits(uint32_t bits) {
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

using Binary = uint32_t (*)(uint32_t, uint32_t);

/// Folds neighbours 2i and 2i + 1 until one value is left; a value without a partner passes through.
template <class T>
T fold_neighbours(std::vector<T> values, T (*join)(T, T)) {
  assert(!values.empty());
  for (size_t count = values.size(); count > 1; count = (count + 1) / 2) {
    for (size_t i = 0; i < count / 2; i++) values[i] = join(values[2 * i], values[2 * i + 1]);
    if (count % 2 != 0) values[count / 2] = values[count - 1];
  }
  return values.front();
}

uint32_t fold_f32(std::span<const float> a, Binary join) {
  std::vector<uint32_t> values(a.size());
  std::ranges::transform(a, values.begin(), [](float v) { return canonical_f32(to_bits(v)); });
  if (join == add_f32 && values.size() > 1 && host_fma_is_exact() &&
      fast::sum_neighbours_f32(values.data(), values.size()))
    return values[0];
  return fold_neighbours<uint32_t>(std::move(values), join);
}

}  // namespace

bool elementwise_f32(weft_vpu_op op, std::span<const float> a, std::span<const float> b, std::span<float> d) {
  assert(a.size() == b.size() && a.size() == d.size());
  const Binary function = binary_f32(op);
  if (function == nullptr) return false;
  if (host_fma_is_exact() && fast::elementwise_f32(op, a.data(), b.data(), d.data(), d.size())) return true;
  for (size_t i = 0; i < d.size(); i++) d[i] = from_bits(function(to_bits(a[i]), to_bits(b[i])));
  return true;
}

bool elementwise_i32(weft_vpu_op op, std::span<const int32_t> a, std::span<const int32_t> b, std::span<int32_t> d) {
  assert(a.size() == b.size() && a.size() == d.size());
  const Binary function = binary_i32(op);
  if (function == nullptr) return false;
  for (size_t i = 0; i < d.size(); i++)
    d[i] = static_cast<int32_t>(function(static_cast<uint32_t>(a[i]), static_cast<uint32_t>(b[i])));
  return true;
}

bool elementwise_bf16(weft_vpu_op op, std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> d) {
  assert(a.size() == b.size() && a.size() == d.size());
  const Binary function = binary_f32(op);
  if (function == nullptr) return false;
  for (size_t i = 0; i < d.size(); i++) d[i] = f32_to_bf16(function(bf16_to_f32(a[i]), bf16_to_f32(b[i])));
  return true;
}

void epilogue_row_f32(std::span<const float> a, std::span<const float> bias, weft_vpu_activation activation,
                      std::span<float> d) {
  assert(a.size() == d.size() && (bias.empty() || bias.size() == a.size()));
  if (bias.empty()) {
    for (size_t i = 0; i < d.size(); i++) d[i] = from_bits(canonical_f32(to_bits(a[i])));
  } else {
    elementwise_f32(WEFT_VPU_OP_ADD, a, bias, d);
  }
  if (activation == WEFT_VPU_ACTIVATION_RELU)
    for (float& v : d) v = from_bits(relu_f32(to_bits(v)));
}

void epilogue_row_i32(std::span<const int32_t> a, std::span<const int32_t> bias, weft_vpu_activation activation,
                      std::span<int32_t> d) {
  assert(a.size() == d.size() && (bias.empty() || bias.size() == a.size()));
  std::ranges::copy(a, d.begin());
  if (!bias.empty()) elementwise_i32(WEFT_VPU_OP_ADD, d, bias, d);
  if (activation == WEFT_VPU_ACTIVATION_RELU)
    for (int32_t& v : d) v = std::max(v, 0);
}

void cast_f32_to_bf16(std::span<const float> a, std::span<uint16_t> d) {
  words_to_bf16(std::span(reinterpret_cast<const uint32_t*>(a.data()), a.size()), d);
}

void words_to_bf16(std::span<const uint32_t> a, std::span<uint16_t> d) {
  assert(a.size() == d.size());
  if (host_fma_is_exact()) return fast::to_bf16(a.data(), d.data(), d.size());
  std::ranges::transform(a, d.begin(), f32_to_bf16);
}

void cast_bf16_to_f32(std::span<const uint16_t> a, std::span<float> d) {
  assert(a.size() == d.size());
  for (size_t i = 0; i < d.size(); i++) d[i] = from_bits(bf16_to_f32(a[i]));
}

void cast_i32_to_f32(std::span<const int32_t> a, std::span<float> d) {
  assert(a.size() == d.size());
  for (size_t i = 0; i < d.size(); i++) d[i] = from_bits(i32_to_f32(static_cast<uint32_t>(a[i])));
}

void cast_f32_to_i32(std::span<const float> a, std::span<int32_t> d) {
  assert(a.size() == d.size());
  for (size_t i = 0; i < d.size(); i++) d[i] = static_cast<int32_t>(f32_to_i32(to_bits(a[i])));
}

float sum_row_f32(std::span<const float> a) { return from_bits(fold_f32(a, add_f32)); }
float max_row_f32(std::span<const float> a) { return from_bits(fold_f32(a, max_f32)); }

int32_t sum_row_i32(std::span<const int32_t> a) {
  uint32_t sum = 0;
  for (const int32_t v : a) sum += static_cast<uint32_t>(v);
  return static_cast<int32_t>(sum);
}
int32_t max_row_i32(std::span<const int32_t> a) { return *std::ranges::max_element(a); }

}  // namespace weft::golden
