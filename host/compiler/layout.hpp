/// How tensors lie in HBM: row pitch, packed weight tiles, and the packing of host arrays into them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/spec/chips.hpp"
#include "weft/spec/spec.h"

namespace weft::compiler {

/// Row pitch of a row-major tensor in HBM: the row's bytes rounded up to 64.
[[nodiscard]] constexpr uint64_t row_pitch_bytes(uint64_t columns, uint64_t element_bytes) {
  return (columns * element_bytes + 63) / 64 * 64;
}

[[nodiscard]] constexpr uint64_t element_bytes(weft_argument_dtype dtype) {
  switch (dtype) {
    case WEFT_ARGUMENT_DTYPE_F32:
      return 4;
    case WEFT_ARGUMENT_DTYPE_I32:
      return 4;
    case WEFT_ARGUMENT_DTYPE_BF16:
      return 2;
    case WEFT_ARGUMENT_DTYPE_I8:
      return 1;
  }
  return 0;
}

/// fp32 to bf16: nearest even, subnormals become zero of the same sign, NaN becomes 0x7fc0 (docs/numerics.md).
[[nodiscard]] uint16_t bf16_from_f32(float value);
[[nodiscard]] float f32_from_bf16(uint16_t value);

/// K values of a weight tile: N for bf16, 2 N for int8 (two k-consecutive bytes a lane).
[[nodiscard]] constexpr uint64_t tile_k(const spec::Chip& chip, weft_mxu_dtype dtype) {
  return dtype == WEFT_MXU_DTYPE_INT8 ? 2ull * chip.n : chip.n;
}

/// Bytes of a K x N weight matrix in packed tiles: column blocks outermost, then K tiles of N words.
[[nodiscard]] uint64_t packed_weight_bytes(const spec::Chip& chip, weft_mxu_dtype dtype, uint64_t k, uint64_t n);

/// Packs row-major weights[k][n] (bf16 bits). Rows and lanes beyond K and N are zero.
[[nodiscard]] std::vector<std::byte> pack_weights_bf16(const spec::Chip& chip, std::span<const uint16_t> weights,
                                                       uint64_t k, uint64_t n);

/// Packs row-major weights[k][n] of int8: word i, lane j of a tile holds {W[2i+1, j], W[2i, j]}; the missing half of an
/// odd K is zero.
[[nodiscard]] std::vector<std::byte> pack_weights_int8(const spec::Chip& chip, std::span<const int8_t> weights,
                                                       uint64_t k, uint64_t n);

/// Copies rows of `columns` elements into rows of row_pitch_bytes; the padding is zero.
[[nodiscard]] std::vector<std::byte> pack_rows(std::span<const std::byte> dense, uint64_t rows, uint64_t columns,
                                               uint64_t element_bytes);

/// The same of values in `dtype`: bf16 (rounded), f32, or i32, whose bits they are.
[[nodiscard]] std::vector<std::byte> pack_rows_as(std::span<const float> dense, uint64_t rows, uint64_t columns,
                                                  weft_vpu_dtype dtype);

/// The reverse of pack_rows.
[[nodiscard]] std::vector<std::byte> unpack_rows(std::span<const std::byte> pitched, uint64_t rows, uint64_t columns,
                                                 uint64_t element_bytes);

}  // namespace weft::compiler
