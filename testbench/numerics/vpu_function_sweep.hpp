/// Sweeps inputs of a function of the VPU: the golden model against libm and MPFR, and against the Verilated function unit.
#pragma once
#include <cstdint>

#include "weft/spec/spec.h"

namespace weft::numerics {

struct Result {
  uint64_t inputs = 0, not_nearest = 0, wrong_specials = 0;
  double max_ulp = 0;
  uint32_t worst_input = 0, worst_output = 0;
  uint64_t reference_inputs = 0, reference_differing = 0;
  uint64_t rtl_inputs = 0, rtl_differing = 0;
  uint32_t rtl_first_difference = 0;
};

/// Every `stride`-th input; an odd stride reaches all exponents and, over time, all low bits. With the oracle: errors
/// and specials; with the RTL: its bits.
[[nodiscard]] Result sweep(weft_vpu_op op, uint64_t stride, bool with_oracle, bool with_rtl);

}  // namespace weft::numerics
