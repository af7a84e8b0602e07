/// What the compiler schedules: the steps of a program on tensors that already have their place in memory.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/spec/spec.h"

namespace weft::compiler {

/// A tensor in a segment. Rows of `pitch_bytes` (a multiple of 16); packed weights ignore the pitch.
struct TensorPlace {
  uint8_t segment = 0;
  uint64_t offset_bytes = 0;
  uint64_t pitch_bytes = 0;
};

/// y[m, n] = activation(x[m, k] W[k, n] + bias[n]), W in packed tiles.
struct DenseStep {
  std::string name;
  uint64_t m = 0, k = 0, n = 0;
  weft_mxu_dtype dtype = WEFT_MXU_DTYPE_BF16;  ///< of x and W
  TensorPlace x, weights, y;
  std::optional<TensorPlace> bias;  ///< one row of 4-byte elements, padded with zeros to a multiple of N
  weft_vpu_activation activation = WEFT_VPU_ACTIVATION_NONE;
  weft_vpu_dtype y_dtype = WEFT_VPU_DTYPE_F32;  ///< bf16: f32 or bf16; int8: i32
};

/// y[rows, cols] = op(a, b), all bf16; y may be cast to f32.
struct VectorStep {
  std::string name;
  uint64_t rows = 0, cols = 0;
  weft_vpu_op op = WEFT_VPU_OP_ADD;
  weft_vpu_b_mode b_mode = WEFT_VPU_B_MODE_TENSOR;
  TensorPlace a, b, y;                           ///< b: tensor, or one row (b_mode row); unused for scalar
  uint16_t scalar = 0;                           ///< bf16 bits, b_mode scalar
  weft_vpu_dtype y_dtype = WEFT_VPU_DTYPE_BF16;  ///< bf16 or f32
};

}  // namespace weft::compiler
