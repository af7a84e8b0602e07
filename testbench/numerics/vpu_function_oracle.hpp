/// What exp2, log2, rcp, rsqrt, tanh and erf should give: libm in double, MPFR where that does not decide.
#pragma once
#include <cstdint>

#include "weft/spec/spec.h"

namespace weft::numerics {

/// How a result compares with the exact value of the function of the fp32 number that the unit reads (DAZ).
struct Judgement {
  double ulp =
      0;  ///< error in units in the last place of the exact value (2^-149 and up: of a normal number); specials: 0
  bool rounded = true;  ///< it is the fp32 number nearest to the exact value, flushed below 2^-126
  bool special = true;  ///< NaN, infinity, zero and sign are right
};

[[nodiscard]] Judgement judge(weft_vpu_op op, uint32_t input, uint32_t result);

/// The error of a finite result by MPFR, 200 bits.
[[nodiscard]] double exact_ulp(weft_vpu_op op, uint32_t input, uint32_t result);

}  // namespace weft::numerics
