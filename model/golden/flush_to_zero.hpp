/// The host's float environment during a fast path. For files compiled with WEFT_FAST_FLAGS only.
#pragma once

#if defined(__x86_64__)
#define WEFT_HAS_FLUSH_TO_ZERO 1
#include <immintrin.h>

namespace weft::golden::fast {

/// Sets FTZ and DAZ, masks all exceptions, rounds to nearest; restores what was there. The work under it stands in
/// functions that are not inlined, so that no operation moves across the change.
class FlushToZero {
 public:
  FlushToZero() : saved_(_mm_getcsr()) { _mm_setcsr(kNearestMasked | kFlushResults | kZeroOperands); }
  ~FlushToZero() { _mm_setcsr(saved_); }
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;

 private:
  static constexpr unsigned kNearestMasked = 0x1f80;
  static constexpr unsigned kFlushResults = 0x8000;
  static constexpr unsigned kZeroOperands = 0x0040;
  unsigned saved_;
};

}  // namespace weft::golden::fast

#else
#define WEFT_HAS_FLUSH_TO_ZERO 0
#endif
