/// Matrix products: the reference path, the choice of path, and products of plain arrays cut into panels.
#include "model/golden/matmul.hpp"

#include <cstring>
#include <string_view>
#include <vector>

#include "model/golden/arith.hpp"
#include "model/golden/matmul_fast.hpp"

namespace weft::golden {
namespace {

// Results may be float or int32 arrays of the caller: they are moved as bits, never read through another type.
uint32_t load_bits(const uint32_t* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
void store_bits(uint32_t* p, uint32_t v) { std::memcpy(p, &v, sizeof v); }

void multiply_reference(const PanelBf16& p) {
  for (size_t r = 0; r < p.rows; r++) {
    for (size_t j = 0; j < p.lanes; j++) {
      uint32_t sum = load_bits(p.acc + r * p.acc_stride + j);
      for (size_t k = 0; k < p.depth; k++) sum = fma_bf16(p.x[r * p.x_stride + k], p.w[k * p.w_stride + j], sum);
      store_bits(p.acc + r * p.acc_stride + j, sum);
    }
  }
}

bool multiply_reference(const PanelInt8& p) {
  bool overflow = false;
  for (size_t r = 0; r < p.rows; r++) {
    const int8_t* x = p.x + r * p.x_stride;
    for (size_t j = 0; j < p.lanes; j++) {
      auto sum = static_cast<int32_t>(load_bits(p.acc + r * p.acc_stride + j));
      for (size_t k = 0; k < p.depth; k += 2) {
        const uint16_t pair = p.w[k / 2 * p.w_stride + j];
        int32_t addend = x[k] * static_cast<int8_t>(pair & 0xff);
        if (k + 1 < p.depth) addend += x[k + 1] * static_cast<int8_t>(pair >> 8);
        overflow |= __builtin_add_overflow(sum, addend, &sum);
      }
      store_bits(p.acc + r * p.acc_stride + j, static_cast<uint32_t>(sum));
    }
  }
  return overflow;
}

/// The host has the instructions that matmul_fast.cpp was compiled for. AVX-512's doubleword and quadword, byte and
/// word and vector-length parts are asked for because the compiler may use all of them there.
bool host_has_instructions() {
  const std::string_view isa = fast::kIsa;
#if defined(__x86_64__)
  if (isa == "avx512") {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
  if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return false;
}

/// Products whose results differ where a host's FMA, FTZ or DAZ is not what docs/numerics.md asks for.
bool probe_host_fma() {
  if (!host_has_instructions()) return false;
  struct Case {
    uint16_t a, b;
    uint32_t c;
  };
  static constexpr Case kCases[] = {
      {0x1980, 0x9980,
       0x00800000},  // 2^-126 - 2^-152 rounds up to 2^-126: zero where tininess is found before rounding
      {0x1980, 0x9a00, 0x00800000},  // 2^-126 - 2^-151: a tie below, to even
      {0x1980, 0x1980, 0x00000000},  // a tiny product: zero by FTZ
      {0x1980, 0x9980, 0x00000000},  // the same, negative
      {0x0001, 0x7f00, 0x00000000},  // subnormal operand: zero by DAZ
      {0x3f80, 0x8000, 0x007fffff},  // subnormal addend: zero by DAZ; -0 + +0 = +0
      {0x3f80, 0x8000, 0x80000001},  // subnormal addend: -0 + -0 = -0
      {0x3fff, 0x3fff, 0xc07e0100},  // cancellation that needs all product bits: no double rounding
      {0x7f80, 0x0000, 0x3f800000},  // inf * 0
      {0x7f80, 0x3f80, 0xff800000},  // inf - inf
      {0x7f01, 0x3f80, 0xffc12345},  // NaN addend with a payload
      {0x7f7f, 0x7f7f, 0x3f800000},  // overflow
  };
  for (const Case& c : kCases) {
    uint32_t sum = c.c;
    fast::multiply_panel(PanelBf16{1, 1, 1, &c.a, 1, &c.b, 1, &sum, 1});
    if (sum != fma_bf16(c.a, c.b, c.c)) return false;
  }
  return true;
}

bool use_fast(Path path) { return path != Path::kReference && host_fma_is_exact(); }

}  // namespace

bool host_fma_is_exact() {
  static const bool exact = probe_host_fma();  // a property of the host, not of a model
  return exact;
}

const char* fast_path_name() { return fast::kIsa; }

void multiply_panel(const PanelBf16& panel, Path path) {
  if (use_fast(path)) {
    fast::multiply_panel(panel);
  } else {
    multiply_reference(panel);
  }
}

bool multiply_panel(const PanelInt8& panel, Path path) {
  return use_fast(path) ? fast::multiply_panel(panel) : multiply_reference(panel);
}

void gemm_bf16(size_t m, size_t k, size_t n, const uint16_t* a, size_t lda, const uint16_t* b, size_t ldb, float* c,
               size_t ldc, Seed seed, Path path) {
  if (seed == Seed::kZero)
    for (size_t i = 0; i < m; i++) std::memset(c + i * ldc, 0, n * sizeof *c);
  multiply_panel(PanelBf16{m, k, n, a, lda, b, ldb, reinterpret_cast<uint32_t*>(c), ldc}, path);
}

bool gemm_int8(size_t m, size_t k, size_t n, const int8_t* a, size_t lda, const int8_t* b, size_t ldb, int32_t* c,
               size_t ldc, Seed seed, Path path) {
  if (seed == Seed::kZero)
    for (size_t i = 0; i < m; i++) std::memset(c + i * ldc, 0, n * sizeof *c);
  constexpr size_t kPairsAtOnce = 128;
  std::vector<uint16_t> pairs(kPairsAtOnce * n);
  bool overflow = false;
  for (size_t first = 0; first < k; first += 2 * kPairsAtOnce) {
    const size_t depth = k - first < 2 * kPairsAtOnce ? k - first : 2 * kPairsAtOnce;
    for (size_t i = 0; i < depth; i += 2) {
      const int8_t* low = b + (first + i) * ldb;
      for (size_t j = 0; j < n; j++) {
        const uint8_t high = i + 1 < depth ? static_cast<uint8_t>(low[ldb + j]) : 0;
        pairs[i / 2 * n + j] = static_cast<uint16_t>(static_cast<uint8_t>(low[j]) | high << 8);
      }
    }
    overflow |= multiply_panel(
        PanelInt8{m, depth, n, a + first, lda, pairs.data(), n, reinterpret_cast<uint32_t*>(c), ldc}, path);
  }
  return overflow;
}

}  // namespace weft::golden
