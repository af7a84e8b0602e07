// Packing of host arrays into the layouts of HBM.
#include "host/compiler/layout.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::compiler {

uint16_t bf16_from_f32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
  if ((bits & 0x7f800000u) == 0) return static_cast<uint16_t>((bits >> 16) & 0x8000u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float f32_from_bf16(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

uint64_t packed_weight_bytes(const spec::Chip& chip, weft_mxu_dtype dtype, uint64_t k, uint64_t n) {
  const uint64_t tiles = (k + tile_k(chip, dtype) - 1) / tile_k(chip, dtype);
  const uint64_t blocks = (n + chip.n - 1) / chip.n;
  return tiles * blocks * chip.n * chip.word_bytes;
}

std::vector<std::byte> pack_weights_bf16(const spec::Chip& chip, std::span<const uint16_t> weights, uint64_t k,
                                         uint64_t n) {
  std::vector<std::byte> packed(packed_weight_bytes(chip, WEFT_MXU_DTYPE_BF16, k, n));
  const uint64_t rows = (k + chip.n - 1) / chip.n * chip.n;  // words of one column block
  for (uint64_t n0 = 0; n0 < n; n0 += chip.n) {
    const uint64_t lanes = std::min<uint64_t>(chip.n, n - n0);
    std::byte* block = packed.data() + n0 / chip.n * rows * chip.word_bytes;
    for (uint64_t row = 0; row < k; row++)
      std::memcpy(block + row * chip.word_bytes, &weights[row * n + n0], lanes * 2);
  }
  return packed;
}

std::vector<std::byte> pack_weights_int8(const spec::Chip& chip, std::span<const int8_t> weights, uint64_t k,
                                         uint64_t n) {
  std::vector<std::byte> packed(packed_weight_bytes(chip, WEFT_MXU_DTYPE_INT8, k, n));
  const uint64_t words = (k + 2ull * chip.n - 1) / (2ull * chip.n) * chip.n;
  for (uint64_t n0 = 0; n0 < n; n0 += chip.n) {
    const uint64_t lanes = std::min<uint64_t>(chip.n, n - n0);
    std::byte* block = packed.data() + n0 / chip.n * words * chip.word_bytes;
    for (uint64_t row = 0; row < k; row++)
      for (uint64_t lane = 0; lane < lanes; lane++)
        block[row / 2 * chip.word_bytes + 2 * lane + row % 2] = static_cast<std::byte>(weights[row * n + n0 + lane]);
  }
  return packed;
}

std::vector<std::byte> pack_rows(std::span<const std::byte> dense, uint64_t rows, uint64_t columns, uint64_t bytes) {
  const uint64_t pitch = row_pitch_bytes(columns, bytes);
  std::vector<std::byte> pitched(rows * pitch);
  for (uint64_t row = 0; row < rows; row++)
    std::memcpy(&pitched[row * pitch], &dense[row * columns * bytes], columns * bytes);
  return pitched;
}

std::vector<std::byte> pack_rows_as(std::span<const float> dense, uint64_t rows, uint64_t columns,
                                    weft_vpu_dtype dtype) {
  if (dtype != WEFT_VPU_DTYPE_BF16) return pack_rows(std::as_bytes(dense), rows, columns, 4);
  std::vector<uint16_t> bits(dense.size());
  std::ranges::transform(dense, bits.begin(), bf16_from_f32);
  return pack_rows(std::as_bytes(std::span(bits)), rows, columns, 2);
}

std::vector<std::byte> unpack_rows(std::span<const std::byte> pitched, uint64_t rows, uint64_t columns,
                                   uint64_t bytes) {
  const uint64_t pitch = row_pitch_bytes(columns, bytes);
  std::vector<std::byte> dense(rows * columns * bytes);
  for (uint64_t row = 0; row < rows; row++)
    std::memcpy(&dense[row * columns * bytes], &pitched[row * pitch], columns * bytes);
  return dense;
}

}  // namespace weft::compiler
