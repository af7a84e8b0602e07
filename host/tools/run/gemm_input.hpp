/// The operands of one product, what the device gets of them, and what their product should be.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"
#include "host/reference/comparison.hpp"
#include "weft/spec/chips.hpp"

namespace weft::tools {

/// A (m x k) and B (k x n), row-major: fp32 for bf16, bf16x3 and bf16x6, int8 for int8.
///
/// bf16x3 and bf16x6 split each fp32 value into a sum of bf16 parts and add up the products of parts, pass by pass over
/// the whole of K, into the same accumulators (docs/numerics.md). To the device that is one product whose K is the
/// passes one behind the other.
struct GemmInput {
  weft_mxu_dtype dtype = WEFT_MXU_DTYPE_BF16;
  uint64_t passes = 1;  ///< 1, 3 (bf16x3) or 6 (bf16x6)
  uint64_t m = 0, k = 0, n = 0;
  std::vector<float> a, b;
  std::vector<int8_t> a8, b8;

  /// K of the product that the device computes.
  [[nodiscard]] uint64_t device_k() const { return passes * k; }

  [[nodiscard]] std::vector<std::byte> packed_a() const;
  [[nodiscard]] std::vector<std::byte> packed_b(const spec::Chip& chip) const;

  /// c (m x n of 4 bytes) with the golden model's product, bit by bit.
  [[nodiscard]] Comparison compared_with_golden(const std::vector<std::byte>& c) const;

  /// Bits of A (m x device_k) and B (device_k x n) as the device gets them.
  [[nodiscard]] std::vector<uint16_t> device_a() const;
  [[nodiscard]] std::vector<uint16_t> device_b() const;

  /// Largest |c - exact| of an element divided by the largest |exact| of its row. exact is computed in fp64 from the
  /// unrounded inputs. Elements that are not finite in either are left out; the comparison of bits
  /// sees them. c has m x n elements.
  [[nodiscard]] double max_relative_error(const std::vector<std::byte>& c) const;
};

/// Without operands yet. INVALID_ARGUMENT: an unknown precision.
[[nodiscard]] Result<GemmInput> gemm_of_precision(const std::string& precision);

/// From two .npy files or, if `shape` is not empty, from a seed: uniform in [-1, 1) (bf16) or all of int8.
/// INVALID_ARGUMENT: files and shape together, shapes that do not fit, a wrong dtype, an unknown precision.
/// NO_DEVICE_MEMORY: A, B and C are more than `hbm_bytes`, told before anything is drawn.
[[nodiscard]] Result<GemmInput> make_gemm_input(const std::string& path_a, const std::string& path_b,
                                                const std::string& shape, uint64_t seed, const std::string& precision,
                                                uint64_t hbm_bytes = UINT64_MAX);

}  // namespace weft::tools
