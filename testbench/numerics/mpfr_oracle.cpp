// GNU MPFR as an oracle.
#include "testbench/numerics/mpfr_oracle.hpp"

#include <mpfr.h>

#include <bit>

namespace weft::numerics {
namespace {

constexpr uint32_t kNan = 0x7fc00000, kInfinity = 0x7f800000, kSign = 0x80000000;

/// One MPFR number of 24 bits.
class Number {
 public:
  Number() { mpfr_init2(value_, 24); }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  /// A bit pattern; a subnormal becomes the zero of its sign.
  void set(uint32_t bits) {
    if ((bits & kInfinity) == 0) bits &= kSign;
    mpfr_set_flt(value_, std::bit_cast<float>(bits), MPFR_RNDN);
  }
  [[nodiscard]] mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

}  // namespace

uint32_t mpfr_fma_bits(const FmaVector& v) {
  thread_local Number a, b, c, y;
  a.set(uint32_t{v.a} << 16);
  b.set(uint32_t{v.b} << 16);
  c.set(v.c);
  mpfr_fma(y.get(), a.get(), b.get(), c.get(), MPFR_RNDN);
  if (mpfr_nan_p(y.get()) != 0) return kNan;
  const uint32_t sign = mpfr_signbit(y.get()) != 0 ? kSign : 0;
  if (mpfr_inf_p(y.get()) != 0) return sign | kInfinity;
  if (mpfr_zero_p(y.get()) != 0) return sign;
  const mpfr_exp_t binade = mpfr_get_exp(y.get()) - 1;
  if (binade < -126) return sign;
  if (binade > 127) return sign | kInfinity;
  return std::bit_cast<uint32_t>(mpfr_get_flt(y.get(), MPFR_RNDN));
}

}  // namespace weft::numerics
