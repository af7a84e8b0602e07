/// Matrix products with the host's vector FMA under flush-to-zero, blocked for registers and caches.
///
/// The trick: lanes are independent chains, so a vector holds lanes and never parts of one chain. A block of weights is
/// widened once (64 KiB, second-level cache) and serves all rows; kRows x kVectors accumulators stay in registers.
/// Compiled with WEFT_FAST_FLAGS; uses no library templates, so that no inline function is shared with slower objects.
#include "model/golden/matmul_fast.hpp"

#include <stdlib.h>
#include <string.h>

#if defined(__AVX512F__) && defined(__AVX512BW__)
#define WEFT_VECTOR_BITS 512
#elif defined(__AVX2__) && defined(__FMA__)
#define WEFT_VECTOR_BITS 256
#else
#define WEFT_VECTOR_BITS 0
#endif

#if WEFT_VECTOR_BITS != 0
#include "model/golden/flush_to_zero.hpp"
#endif

namespace weft::golden::fast {

#if WEFT_VECTOR_BITS == 0

const char kIsa[] = "none";
void multiply_panel(const PanelBf16&) {}
bool multiply_panel(const PanelInt8&) { return false; }

#else
namespace {

#if WEFT_VECTOR_BITS == 512
struct Float {
  __m512 v;
  static constexpr size_t kLanes = 16;
  static Float load(const void* p) { return {_mm512_loadu_ps(p)}; }
  static Float broadcast(float x) { return {_mm512_set1_ps(x)}; }
  void multiply_add(Float a, Float b) { v = _mm512_fmadd_ps(a.v, b.v, v); }
  void store_canonical(void* p) const {
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m512i bits = _mm512_castps_si512(v);
    _mm512_storeu_si512(p, _mm512_mask_mov_epi32(bits, nan, _mm512_set1_epi32(0x7fc00000)));
  }
};
struct Int {
  __m512i v;
  static constexpr size_t kLanes = 16;
  static Int load(const void* p) { return {_mm512_loadu_si512(p)}; }
  static Int broadcast(int32_t x) { return {_mm512_set1_epi32(x)}; }
  static Int zero() { return {_mm512_setzero_si512()}; }
  static Int pair_sum(Int a, Int b) { return {_mm512_madd_epi16(a.v, b.v)}; }
  static Int add(Int a, Int b) { return {_mm512_add_epi32(a.v, b.v)}; }
  /// Sign bit set where s = a + b left int32.
  static Int overflow(Int a, Int b, Int s) {
    return {_mm512_and_si512(_mm512_xor_si512(a.v, s.v), _mm512_xor_si512(b.v, s.v))};
  }
  static Int either(Int a, Int b) { return {_mm512_or_si512(a.v, b.v)}; }
  [[nodiscard]] bool any_negative() const { return _mm512_cmplt_epi32_mask(v, _mm512_setzero_si512()) != 0; }
  void store(void* p) const { _mm512_storeu_si512(p, v); }
};
#else
struct Float {
  __m256 v;
  static constexpr size_t kLanes = 8;
  static Float load(const void* p) { return {_mm256_loadu_ps(static_cast<const float*>(p))}; }
  static Float broadcast(float x) { return {_mm256_set1_ps(x)}; }
  void multiply_add(Float a, Float b) { v = _mm256_fmadd_ps(a.v, b.v, v); }
  void store_canonical(void* p) const {
    const __m256 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
    const __m256 quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
    _mm256_storeu_si256(static_cast<__m256i*>(p), _mm256_castps_si256(_mm256_blendv_ps(v, quiet, nan)));
  }
};
struct Int {
  __m256i v;
  static constexpr size_t kLanes = 8;
  static Int load(const void* p) { return {_mm256_loadu_si256(static_cast<const __m256i*>(p))}; }
  static Int broadcast(int32_t x) { return {_mm256_set1_epi32(x)}; }
  static Int zero() { return {_mm256_setzero_si256()}; }
  static Int pair_sum(Int a, Int b) { return {_mm256_madd_epi16(a.v, b.v)}; }
  static Int add(Int a, Int b) { return {_mm256_add_epi32(a.v, b.v)}; }
  /// Sign bit set where s = a + b left int32.
  static Int overflow(Int a, Int b, Int s) {
    return {_mm256_and_si256(_mm256_xor_si256(a.v, s.v), _mm256_xor_si256(b.v, s.v))};
  }
  static Int either(Int a, Int b) { return {_mm256_or_si256(a.v, b.v)}; }
  [[nodiscard]] bool any_negative() const { return _mm256_movemask_ps(_mm256_castsi256_ps(v)) != 0; }
  void store(void* p) const { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
};
#endif

constexpr size_t kLaneBlock = 128;                         // lanes of a weight block
constexpr size_t kDepthBlock = 128;                        // rows of a weight block (int8: pairs)
constexpr size_t kRows = WEFT_VECTOR_BITS == 512 ? 8 : 6;  // rows of x in registers, of which AVX2 has 16
constexpr size_t kVectors = 2;                             // vectors of lanes in registers
constexpr size_t kGroup = kVectors * Float::kLanes;

/// Widened operands of one block. On the heap: callers may run on small stacks. Below malloc's mapping threshold.
struct Workspace {
  alignas(64) uint32_t w[kDepthBlock * kLaneBlock];  // fp32 bits, or two int16
  alignas(64) uint32_t x[kRows * kDepthBlock];
  alignas(64) uint32_t tile[kRows * kGroup];  // accumulators where lanes are no multiple of a group
};

class WorkspaceOwner {
 public:
  WorkspaceOwner() : workspace_(static_cast<Workspace*>(aligned_alloc(64, sizeof(Workspace)))) {
    if (workspace_ == nullptr) abort();
  }
  ~WorkspaceOwner() { free(workspace_); }
  WorkspaceOwner(const WorkspaceOwner&) = delete;
  WorkspaceOwner& operator=(const WorkspaceOwner&) = delete;
  Workspace& operator*() const { return *workspace_; }

 private:
  Workspace* workspace_;
};

/// The calling thread's: each call writes what it reads. Small products are many, and malloc tidies up behind each block of this size.
Workspace& workspace() {
  thread_local const WorkspaceOwner owner;
  return *owner;
}

constexpr size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
constexpr size_t round_up(size_t a, size_t unit) { return (a + unit - 1) / unit * unit; }

/// The bf16 product: how to widen, and R x kVectors accumulators over one block.
struct Bf16 {
  using Panel = PanelBf16;
  static size_t steps(const Panel& p) { return p.depth; }

  static void widen_x(const Panel& p, size_t row, size_t step, size_t count, uint32_t* out) {
    const uint16_t* in = p.x + row * p.x_stride + step;
    for (size_t i = 0; i < count; i++) out[i] = static_cast<uint32_t>(in[i]) << 16;
  }
  static void prefetch_x(const Panel& p, size_t row, size_t step, size_t count) {
    const uint16_t* in = p.x + row * p.x_stride + step;
    for (size_t i = 0; i < count; i += 32) __builtin_prefetch(in + i);
  }
  static void widen_w(const Panel& p, size_t step, size_t lane, size_t count, uint32_t* out) {
    const uint16_t* in = p.w + step * p.w_stride + lane;
    for (size_t i = 0; i < count; i++) out[i] = static_cast<uint32_t>(in[i]) << 16;
  }
  template <size_t R>
  static bool kernel(size_t depth, const uint32_t* x, const uint32_t* w, uint32_t* acc, size_t stride) {
    Float sum[R][kVectors];
    for (size_t r = 0; r < R; r++)
      for (size_t v = 0; v < kVectors; v++) sum[r][v] = Float::load(acc + r * stride + v * Float::kLanes);
    for (size_t k = 0; k < depth; k++) {
      Float weight[kVectors];
      for (size_t v = 0; v < kVectors; v++) weight[v] = Float::load(w + k * kLaneBlock + v * Float::kLanes);
      for (size_t r = 0; r < R; r++) {
        float value;
        memcpy(&value, x + r * kDepthBlock + k, sizeof value);
        const Float factor = Float::broadcast(value);
        for (size_t v = 0; v < kVectors; v++) sum[r][v].multiply_add(factor, weight[v]);
      }
    }
    for (size_t r = 0; r < R; r++)
      for (size_t v = 0; v < kVectors; v++) sum[r][v].store_canonical(acc + r * stride + v * Float::kLanes);
    return false;
  }
};

/// The int8 product: two k-values a step, as two int16 in 32 bits.
template <bool kCheck>
struct Int8 {
  using Panel = PanelInt8;
  static size_t steps(const Panel& p) { return (p.depth + 1) / 2; }

  static uint32_t widen(int8_t low, int8_t high) {
    return static_cast<uint16_t>(low) | static_cast<uint32_t>(static_cast<uint16_t>(high)) << 16;
  }
  static void widen_x(const Panel& p, size_t row, size_t step, size_t count, uint32_t* out) {
    const int8_t* in = p.x + row * p.x_stride + 2 * step;
    const size_t whole = smaller(count, p.depth / 2 - step);
    for (size_t i = 0; i < whole; i++) out[i] = widen(in[2 * i], in[2 * i + 1]);
    if (whole < count) out[whole] = widen(in[2 * whole], 0);
  }
  static void prefetch_x(const Panel& p, size_t row, size_t step, size_t count) {
    const int8_t* in = p.x + row * p.x_stride + 2 * step;
    for (size_t i = 0; i < 2 * count; i += 64) __builtin_prefetch(in + i);
  }
  static void widen_w(const Panel& p, size_t step, size_t lane, size_t count, uint32_t* out) {
    const uint16_t* in = p.w + step * p.w_stride + lane;
    for (size_t i = 0; i < count; i++) out[i] = widen(static_cast<int8_t>(in[i]), static_cast<int8_t>(in[i] >> 8));
  }
  template <size_t R>
  static bool kernel(size_t depth, const uint32_t* x, const uint32_t* w, uint32_t* acc, size_t stride) {
    Int sum[R][kVectors];
    Int overflow = Int::zero();
    for (size_t r = 0; r < R; r++)
      for (size_t v = 0; v < kVectors; v++) sum[r][v] = Int::load(acc + r * stride + v * Int::kLanes);
    for (size_t k = 0; k < depth; k++) {
      Int weight[kVectors];
      for (size_t v = 0; v < kVectors; v++) weight[v] = Int::load(w + k * kLaneBlock + v * Int::kLanes);
      for (size_t r = 0; r < R; r++) {
        const Int pair = Int::broadcast(static_cast<int32_t>(x[r * kDepthBlock + k]));
        for (size_t v = 0; v < kVectors; v++) {
          const Int addend = Int::pair_sum(pair, weight[v]);
          const Int next = Int::add(sum[r][v], addend);
          if constexpr (kCheck) overflow = Int::either(overflow, Int::overflow(sum[r][v], addend, next));
          sum[r][v] = next;
        }
      }
    }
    for (size_t r = 0; r < R; r++)
      for (size_t v = 0; v < kVectors; v++) sum[r][v].store(acc + r * stride + v * Int::kLanes);
    return overflow.any_negative();
  }
};

template <class Product>
bool run_kernel(size_t rows, size_t depth, const uint32_t* x, const uint32_t* w, uint32_t* acc, size_t stride) {
  switch (rows) {
    case 8:
      return Product::template kernel<8>(depth, x, w, acc, stride);
    case 7:
      return Product::template kernel<7>(depth, x, w, acc, stride);
    case 6:
      return Product::template kernel<6>(depth, x, w, acc, stride);
    case 5:
      return Product::template kernel<5>(depth, x, w, acc, stride);
    case 4:
      return Product::template kernel<4>(depth, x, w, acc, stride);
    case 3:
      return Product::template kernel<3>(depth, x, w, acc, stride);
    case 2:
      return Product::template kernel<2>(depth, x, w, acc, stride);
    default:
      return Product::template kernel<1>(depth, x, w, acc, stride);
  }
}

/// A group of fewer lanes than the registers hold: by way of a padded copy of the accumulators. Padded weights are
/// zero.
template <class Product>
bool run_partial(size_t rows, size_t depth, size_t lanes, const uint32_t* w, uint32_t* acc, size_t stride,
                 Workspace& space) {
  memset(space.tile, 0, sizeof space.tile);
  for (size_t r = 0; r < rows; r++) memcpy(space.tile + r * kGroup, acc + r * stride, lanes * sizeof *acc);
  const bool overflow = run_kernel<Product>(rows, depth, space.x, w, space.tile, kGroup);
  for (size_t r = 0; r < rows; r++) memcpy(acc + r * stride, space.tile + r * kGroup, lanes * sizeof *acc);
  return overflow;
}

template <class Product>
[[gnu::noinline]] bool multiply(const typename Product::Panel& p, Workspace& space) {
  const size_t steps = Product::steps(p);
  bool overflow = false;
  for (size_t lane = 0; lane < p.lanes; lane += kLaneBlock) {
    const size_t lanes = smaller(kLaneBlock, p.lanes - lane);
    for (size_t step = 0; step < steps; step += kDepthBlock) {
      const size_t depth = smaller(kDepthBlock, steps - step);
      for (size_t k = 0; k < depth; k++) {
        uint32_t* out = space.w + k * kLaneBlock;
        Product::widen_w(p, step + k, lane, lanes, out);
        memset(out + lanes, 0, (smaller(round_up(lanes, kGroup), kLaneBlock) - lanes) * sizeof *out);
      }
      for (size_t row = 0; row < p.rows; row += kRows) {
        const size_t rows = smaller(kRows, p.rows - row);
        for (size_t r = 0; r < rows; r++) Product::widen_x(p, row + r, step, depth, space.x + r * kDepthBlock);
        for (size_t r = row + rows; r < smaller(row + rows + kRows, p.rows); r++)
          Product::prefetch_x(p, r, step, depth);
        for (size_t j = 0; j < lanes; j += kGroup) {
          uint32_t* acc = p.acc + row * p.acc_stride + lane + j;
          const size_t group = smaller(kGroup, lanes - j);
          overflow |= group == kGroup ? run_kernel<Product>(rows, depth, space.x, space.w + j, acc, p.acc_stride)
                                      : run_partial<Product>(rows, depth, group, space.w + j, acc, p.acc_stride, space);
        }
      }
    }
  }
  return overflow;
}

/// True if no running sum can leave int32: the largest seed plus the largest possible sum of all pairs stays inside.
bool overflow_impossible(const PanelInt8& p) {
  constexpr int64_t kLargestPairSum = 2 * 128 * 128;
  const int64_t growth = static_cast<int64_t>((p.depth + 1) / 2) * kLargestPairSum;
  if (growth > INT32_MAX) return false;
  int64_t largest = 0;
  for (size_t r = 0; r < p.rows; r++) {
    const uint32_t* row = p.acc + r * p.acc_stride;
    for (size_t j = 0; j < p.lanes; j++) {
      int32_t seed;
      memcpy(&seed, row + j, sizeof seed);
      const int64_t magnitude = seed < 0 ? -static_cast<int64_t>(seed) : seed;
      largest = magnitude > largest ? magnitude : largest;
    }
  }
  return largest + growth <= INT32_MAX;
}

}  // namespace

#if WEFT_VECTOR_BITS == 512
const char kIsa[] = "avx512";
#else
const char kIsa[] = "avx2";
#endif

void multiply_panel(const PanelBf16& panel) {
  const FlushToZero environment;
  multiply<Bf16>(panel, workspace());
}

bool multiply_panel(const PanelInt8& panel) {
  if (overflow_impossible(panel)) return multiply<Int8<false>>(panel, workspace());
  return multiply<Int8<true>>(panel, workspace());
}

#endif

}  // namespace weft::golden::fast
