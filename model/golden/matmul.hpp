/// Matrix products with the tensor core's bits: each element is one chain of fused multiply-adds in ascending k.
///
/// Two paths give the same bits: the reference (integers only, arith.hpp) and the fast path (host FMA under
/// flush-to-zero, see host_fma_is_exact). Functions are pure and reentrant; MXCSR is restored on return. Nothing is
/// read beyond what the shapes say, and x and w may be unaligned to more than their element.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::golden {

/// Which arithmetic a product uses. kAutomatic: the fast path if host_fma_is_exact(), else the reference.
enum class Path : uint8_t { kAutomatic, kReference, kFast };

/// What the first k adds to. kKeep: what the result array holds.
enum class Seed : uint8_t { kZero, kKeep };

/// True if this build and this host have vector FMA whose results under MXCSR FTZ and DAZ are those of
/// docs/numerics.md. Probed once by a handful of products that tell after-rounding from before-rounding detection of
/// tininess, and DAZ and FTZ from their absence. Where false, Path::kFast is the reference too.
[[nodiscard]] bool host_fma_is_exact();

/// Name of the vector instructions that the fast path was built for: "avx512", "avx2" or "none".
[[nodiscard]] const char* fast_path_name();

/// acc[r][j] = chain over k < depth of x[r][k] * w[k][j], seeded with acc[r][j]. Strides are in elements.
struct PanelBf16 {
  size_t rows, depth, lanes;
  const uint16_t* x;
  size_t x_stride;
  const uint16_t* w;
  size_t w_stride;
  uint32_t* acc;  ///< fp32 bits
  size_t acc_stride;
};
void multiply_panel(const PanelBf16& panel, Path path = Path::kAutomatic);

/// acc[r][j] += x[r][2i] * w[i][j].low + x[r][2i+1] * w[i][j].high over all pairs of depth, exact, modulo 2^32.
/// For an odd depth the high byte of the last pair counts as zero, in x and in w, and is not read from x.
struct PanelInt8 {
  size_t rows, depth, lanes;  ///< depth in k-values: ceil(depth / 2) words of w
  const int8_t* x;
  size_t x_stride;
  const uint16_t* w;  ///< two k-values a lane: {W[2i+1][j], W[2i][j]}
  size_t w_stride;
  uint32_t* acc;  ///< int32 bits
  size_t acc_stride;
};
/// True if adding a pair's sum to a running sum left int32 anywhere; pairs in ascending order.
bool multiply_panel(const PanelInt8& panel, Path path = Path::kAutomatic);

/// C[M,N] = A[M,K] x B[K,N], row-major, leading dimensions in elements. K = 0 with Seed::kZero gives zeros.
void gemm_bf16(size_t m, size_t k, size_t n, const uint16_t* a, size_t lda, const uint16_t* b, size_t ldb, float* c,
               size_t ldc, Seed seed = Seed::kZero, Path path = Path::kAutomatic);

/// The same for int8 x int8 + int32 with plain (not paired) row-major B. True if a running sum overflowed.
bool gemm_int8(size_t m, size_t k, size_t n, const int8_t* a, size_t lda, const int8_t* b, size_t ldb, int32_t* c,
               size_t ldc, Seed seed = Seed::kZero, Path path = Path::kAutomatic);

}  // namespace weft::golden
