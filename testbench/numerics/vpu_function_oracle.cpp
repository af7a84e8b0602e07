// libm decides unless a tie or the smallest normal number is too near; then MPFR does.
#include "testbench/numerics/vpu_function_oracle.hpp"

#include <mpfr.h>

#include <bit>
#include <cfloat>
#include <cmath>

namespace weft::numerics {
namespace {

constexpr uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000u, kNan = 0x7fc00000u;

double in_double(weft_vpu_op op, double x) {
  if (op == WEFT_VPU_OP_EXP2) return std::exp2(x);
  if (op == WEFT_VPU_OP_LOG2) return std::log2(x);
  if (op == WEFT_VPU_OP_RCP) return 1.0 / x;
  if (op == WEFT_VPU_OP_RSQRT) return 1.0 / std::sqrt(x);
  if (op == WEFT_VPU_OP_TANH) return std::tanh(x);
  return std::erf(x);
}

/// A number of 200 bits.
class Exact {
 public:
  Exact() { mpfr_init2(value_, 200); }
  ~Exact() { mpfr_clear(value_); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

void in_mpfr(weft_vpu_op op, double x, Exact& y) {
  Exact in;
  mpfr_set_d(in.get(), x, MPFR_RNDN);
  if (op == WEFT_VPU_OP_EXP2)
    mpfr_exp2(y.get(), in.get(), MPFR_RNDN);
  else if (op == WEFT_VPU_OP_LOG2)
    mpfr_log2(y.get(), in.get(), MPFR_RNDN);
  else if (op == WEFT_VPU_OP_RCP)
    mpfr_ui_div(y.get(), 1, in.get(), MPFR_RNDN);
  else if (op == WEFT_VPU_OP_RSQRT)
    mpfr_rec_sqrt(y.get(), in.get(), MPFR_RNDN);
  else if (op == WEFT_VPU_OP_TANH)
    mpfr_tanh(y.get(), in.get(), MPFR_RNDN);
  else
    mpfr_erf(y.get(), in.get(), MPFR_RNDN);
}

/// The exponent of the last place of a number of this size.
int last_place(double exact) {
  const int exponent = static_cast<int>(std::bit_cast<uint64_t>(exact) >> 52 & 0x7ff) - 1023;
  return (exponent < -126 ? -126 : exponent) - 23;
}
double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

/// The nearest fp32 number as if the exponent were unbounded, then flushed; by MPFR.
uint32_t nearest(weft_vpu_op op, double x) {
  Exact y;
  in_mpfr(op, x, y);
  const uint32_t sign = mpfr_signbit(y.get()) != 0 ? kSign : 0;
  Exact rounded;
  mpfr_set_prec(rounded.get(), 24);
  mpfr_set(rounded.get(), y.get(), MPFR_RNDN);
  const double value = mpfr_get_d(rounded.get(), MPFR_RNDN);
  if (std::fabs(value) < FLT_MIN) return sign;
  if (std::fabs(value) > FLT_MAX) return sign | kInfinity;
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

}  // namespace

double exact_ulp(weft_vpu_op op, uint32_t input, uint32_t result) {
  const double x = std::bit_cast<float>(input);
  Exact y;
  in_mpfr(op, x, y);
  const int place = last_place(mpfr_get_d(y.get(), MPFR_RNDN));
  mpfr_sub_d(y.get(), y.get(), static_cast<double>(std::bit_cast<float>(result)), MPFR_RNDN);
  return std::fabs(mpfr_get_d(y.get(), MPFR_RNDN)) / power_of_two(place);
}

Judgement judge(weft_vpu_op op, uint32_t input, uint32_t result) {
  if ((input & kInfinity) == 0) input &= kSign;
  const double x = std::bit_cast<float>(input);
  const double exact = in_double(op, x);
  if (std::isnan(exact)) return {0, result == kNan, result == kNan};
  const uint32_t sign = std::signbit(exact) ? kSign : 0;
  if (std::isinf(exact) || exact == 0 || std::fabs(exact) >= 0x1p128 || std::fabs(exact) < 0x1.fffffp-127) {
    const uint32_t want = sign | (std::fabs(exact) > 1 ? kInfinity : 0);
    return {0, result == want, result == want};
  }
  if ((result & ~kSign) >= kInfinity || (result & kSign) != sign) return {0, false, false};
  const double value = std::bit_cast<float>(result);
  const double unit = power_of_two(last_place(exact));
  // Next to 2^-126 a zero stands for what was flushed.
  const double error = value == 0 ? (std::fabs(exact) < FLT_MIN ? 0 : (std::fabs(exact) - FLT_MIN) / unit + 1)
                                  : std::fabs(value - exact) / unit;
  const bool undecided = std::fabs(error - 0.5) < 0x1p-20 || std::fabs(exact) < 0x1.000002p-126;
  return {error, undecided ? nearest(op, x) == result : error < 0.5, true};
}

}  // namespace weft::numerics
