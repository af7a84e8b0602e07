/// Vector operations on plain arrays with the tensor core's bits, so that a graph can be evaluated layer by layer.
/// Pure and reentrant. fp32 values are passed as float, bf16 as uint16_t; results follow arith.hpp.
/// Spans of one call have equal sizes (checked by assert); the result may be the same array as an operand.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/spec/spec.h"

namespace weft::golden {

/// d[i] = a[i] op b[i]; op has two operands: add to max, or a comparison (another op leaves d untouched and returns
/// false).
bool elementwise_f32(weft_vpu_op op, std::span<const float> a, std::span<const float> b, std::span<float> d);
bool elementwise_i32(weft_vpu_op op, std::span<const int32_t> a, std::span<const int32_t> b, std::span<int32_t> d);
/// Read as f32, computed in f32, rounded once more.
bool elementwise_bf16(weft_vpu_op op, std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> d);

/// One row of the fused epilogue without the cast: d = activation(a + bias). An empty bias: no addition. The activation
/// is none or relu.
void epilogue_row_f32(std::span<const float> a, std::span<const float> bias, weft_vpu_activation activation,
                      std::span<float> d);
void epilogue_row_i32(std::span<const int32_t> a, std::span<const int32_t> bias, weft_vpu_activation activation,
                      std::span<int32_t> d);

void cast_f32_to_bf16(std::span<const float> a, std::span<uint16_t> d);
/// The same of words that hold f32.
void words_to_bf16(std::span<const uint32_t> a, std::span<uint16_t> d);
void cast_bf16_to_f32(std::span<const uint16_t> a, std::span<float> d);
void cast_i32_to_f32(std::span<const int32_t> a, std::span<float> d);
void cast_f32_to_i32(std::span<const float> a, std::span<int32_t> d);

/// Sum of a row as a tree of neighbours (docs/command_checks.md), and its largest value. The row is not empty.
[[nodiscard]] float sum_row_f32(std::span<const float> a);
[[nodiscard]] float max_row_f32(std::span<const float> a);
[[nodiscard]] int32_t sum_row_i32(std::span<const int32_t> a);
[[nodiscard]] int32_t max_row_i32(std::span<const int32_t> a);

}  // namespace weft::golden
