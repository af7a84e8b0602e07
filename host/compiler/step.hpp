/// What the compiler schedules: the steps of a program on tensors that already have their place in memory.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/compiler/exchange.hpp"
#include "host/compiler/to_bytes.hpp"
#include "host/compiler/windows.hpp"
#include "weft/spec/spec.h"

namespace weft::compiler {

/// A tensor in a segment. Rows of `pitch_bytes` (a multiple of 16); packed weights ignore the pitch.
struct TensorPlace {
  uint8_t segment = 0;
  uint64_t offset_bytes = 0;
  uint64_t pitch_bytes = 0;

  bool operator==(const TensorPlace&) const = default;
};

/// y[m, n] = activation(x[m, k] W[k, n] + bias[n]), W in packed tiles.
struct DenseStep {
  std::string name;
  uint64_t m = 0, k = 0, n = 0;
  weft_mxu_dtype dtype = WEFT_MXU_DTYPE_BF16;  ///< of x and W
  TensorPlace x, weights, y;
  std::optional<TensorPlace> bias;  ///< one row of 4-byte elements, padded with zeros to a multiple of N
  weft_vpu_activation activation = WEFT_VPU_ACTIVATION_NONE;
  weft_vpu_dtype y_dtype = WEFT_VPU_DTYPE_F32;  ///< bf16: f32 or bf16; int8: i32, or i8 (tiles/fused_epilogues)
  ToBytes bytes = {};                           ///< of a result of i8
  std::optional<TensorPlace> scales;            ///< a row of f32, in place of one scale; with a bias
  std::optional<TensorPlace> residual;          ///< f32, m x n: added behind the bias (tiles/fused_epilogues)
  bool of_model = true;                         ///< false: its MACs are not the model's

  bool operator==(const DenseStep&) const = default;
};

/// y[rows, cols] = op(a, b); a and b have `dtype`, y may be cast to the other one. y may be a or b.
struct VectorStep {
  std::string name;
  uint64_t rows = 0, cols = 0;
  weft_vpu_op op = WEFT_VPU_OP_ADD;
  weft_vpu_b_mode b_mode = WEFT_VPU_B_MODE_TENSOR;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_BF16;    ///< bf16, f32 or i32; i8: a is read as f32 (tiles/fused_epilogues)
  TensorPlace a, b, y;                           ///< b: tensor, or one row (b_mode row); unused for scalar
  uint32_t scalar = 0;                           ///< bits in dtype, b_mode scalar; to i8: the zero point
  uint32_t scalar2 = 0;                          ///< bits in dtype: fma, axpy, select; to i8: the scale, f32
  weft_vpu_dtype y_dtype = WEFT_VPU_DTYPE_BF16;  ///< bf16, f32, i32 or i8
  bool uniform = false;                          ///< all columns of a row are equal: one block of them is computed
  bool bits = false;  ///< y is a itself, read in another type of as many bits: nothing is computed

  bool operator==(const VectorStep&) const = default;
};

/// A matrix of rows that elements are taken from.
struct RearrangeSource {
  TensorPlace place;
  uint64_t rows = 0, cols = 0;

  bool operator==(const RearrangeSource&) const = default;
};

/// y[i] = element from[i] of all sources one behind the other; y[rows, cols], everything row by row.
struct RearrangeStep {
  std::string name;
  uint64_t rows = 0, cols = 0;
  std::vector<RearrangeSource> sources;
  std::shared_ptr<const std::vector<uint32_t>> from;
  TensorPlace y;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_F32;    ///< of the sources, f32, bf16 or i32
  weft_vpu_dtype y_dtype = WEFT_VPU_DTYPE_F32;  ///< dtype, or bf16

  bool operator==(const RearrangeStep&) const = default;
};

/// y[r, all columns] = sum, largest or smallest of a[r, 0 .. cols - 1] in its type, as a tree of neighbours.
struct ReduceStep {
  std::string name;
  uint64_t rows = 0, cols = 0;
  weft_vpu_op op = WEFT_VPU_OP_SUM;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_F32;  ///< f32 or i32
  TensorPlace a, y;

  bool operator==(const ReduceStep&) const = default;
};

/// y[b] = x[b] w[b] for each b: x[m, k] bf16, w[k, n] bf16 or f32 rounded to it, y[m, n]; each b's rows behind the last one's.
struct PairProductStep {
  std::string name;
  uint64_t batch = 1, m = 0, k = 0, n = 0;
  TensorPlace x, w, y;
  weft_vpu_dtype y_dtype = WEFT_VPU_DTYPE_F32;  ///< bf16 or f32
  weft_vpu_dtype w_dtype = WEFT_VPU_DTYPE_F32;  ///< bf16 or f32

  bool operator==(const PairProductStep&) const = default;
};

/// y = activation(the sums of a ConvolutionNode + bias), its sources and weights in their places.
struct ConvolutionStep {
  struct Source {
    TensorPlace place;
    uint64_t rows = 0, cols = 0;
    weft_vpu_dtype dtype = WEFT_VPU_DTYPE_BF16;  ///< bf16 or f32; of int8 f32 or i32
    bool operator==(const Source&) const = default;
  };
  std::string name;
  Windows windows;
  bool by_lines = false;                 ///< a row of the source is a line of a channel; else a pixel
  std::array<uint64_t, 2> spread{1, 1};  ///< results of a place
  std::vector<Source> sources;
  uint64_t k = 0, n = 0;
  TensorPlace weights;              ///< packed tiles of (residues x k) x n
  std::optional<TensorPlace> bias;  ///< as a DenseStep's
  weft_vpu_activation activation = WEFT_VPU_ACTIVATION_NONE;
  TensorPlace y;
  weft_vpu_dtype y_dtype = WEFT_VPU_DTYPE_F32;  ///< bf16 or f32; of int8 i32
  std::optional<TensorPlace> residual;          ///< as a DenseStep's
  bool int8 = false;   ///< sources, f32 or i32, become i8; the k of a tap and source is padded to whole pairs
  int8_t padding = 0;  ///< of int8
  ToBytes bytes = {};  ///< of the sources of int8

  bool operator==(const ConvolutionStep&) const = default;
};

/// A WindowNode, its x f32 rows.
struct WindowStep {
  std::string name;
  Windows windows;
  weft_vpu_op op = WEFT_VPU_OP_ADD;
  float padding = 0;
  uint64_t cols = 0;
  TensorPlace x;
  std::optional<TensorPlace> weights;  ///< a row of f32 for each tap
  TensorPlace y;
  weft_vpu_dtype y_dtype = WEFT_VPU_DTYPE_F32;  ///< bf16 or f32

  bool operator==(const WindowStep&) const = default;
};

/// y[i] = row indices[i] of a table in memory; the indices are one row of i32.
struct RowsStep {
  std::string name;
  uint64_t rows = 0, cols = 0, table_rows = 0;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_F32;  ///< f32 or i32
  TensorPlace table, indices, y;

  bool operator==(const RowsStep&) const = default;
};

/// y of the x[rows, cols] that each chip of a group has. Side by side, and of own sums, columns of a chip are whole blocks
/// of N.
struct CollectiveStep {
  std::string name;
  Exchange what = Exchange::kSideBySide;
  uint64_t rows = 0, cols = 0;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_BF16;  ///< bf16 or f32; of sums f32
  TensorPlace x, y;
  TensorPlace landing;  ///< of sums: what comes from the others, matrix behind matrix
  ChipGroup group;
};

}  // namespace weft::compiler
