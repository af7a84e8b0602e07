// What the MXU must compute, by the host's own multiply-add.
#include "testbench/rtl/mxu/mxu_reference.hpp"

#include <immintrin.h>

#include <bit>

namespace weft::mxu_bench {
namespace {

/// Flush-to-zero and denormals-are-zero while it lives.
class FlushSubnormals {
 public:
  FlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
  ~FlushSubnormals() { _mm_setcsr(saved_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned saved_;
};

__attribute__((target("fma"))) uint32_t fused(uint16_t a, uint16_t b, uint32_t c) {
  const auto scalar = [](uint32_t bits) { return _mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(bits))); };
  const __m128 r = _mm_fmadd_ss(scalar(uint32_t{a} << 16), scalar(uint32_t{b} << 16), scalar(c));
  const auto bits = static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_castps_si128(r)));
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
}

int byte_of(uint16_t lane, unsigned high) { return static_cast<int8_t>(high ? lane >> 8 : lane); }

}  // namespace

uint32_t host_fma(uint16_t a, uint16_t b, uint32_t c) {
  const FlushSubnormals mode;
  return fused(a, b, c);
}

void Reference::execute(const spec::MxuCommand& command, std::span<const uint16_t> vmem) {
  const FlushSubnormals mode;
  const bool int8 = command.dtype == WEFT_MXU_DTYPE_INT8;
  const uint64_t pairs = int8 ? (uint64_t{command.k} + 1) / 2 : command.k;
  for (unsigned r = 0; r < command.m; r++) {
    for (unsigned j = 0; j < n_; j++) {
      uint32_t& out = acc_[(size_t{command.acc_row} + r) * n_ + j];
      uint32_t sum = command.seed == WEFT_MXU_SEED_KEEP ? out : 0;
      if (j >= command.cols) sum = 0;
      for (uint64_t p = 0; p < pairs && j < command.cols; p++) {
        const uint64_t tile = p / n_, i = p % n_;
        const uint64_t x_word = command.x_addr + r * uint64_t{command.x_row_stride} + tile * command.x_tile_stride;
        const uint64_t w_word = command.w_addr + tile * command.w_tile_stride + i;
        const uint16_t x = vmem[x_word * n_ + i], w = vmem[w_word * n_ + j];
        if (int8) {
          const bool high_counts = 2 * p + 1 < command.k;
          const int64_t pair = byte_of(x, 0) * byte_of(w, 0) + (high_counts ? byte_of(x, 1) * byte_of(w, 1) : 0);
          const int64_t wide = int64_t{static_cast<int32_t>(sum)} + pair;
          overflowed_ |= wide != static_cast<int32_t>(wide);
          sum = static_cast<uint32_t>(wide);
        } else {
          sum = fused(x, w, sum);
        }
      }
      out = sum;
    }
  }
  macs_ += uint64_t{command.m} * command.k * command.cols;
  rows_ += uint64_t{command.m} * ((pairs + n_ - 1) / n_);
}

}  // namespace weft::mxu_bench
