/// What the vector unit's operations come to in fp64, and on words of 32 bits: true values, beside which the device's are
/// judged. It shares no code with the golden arithmetic.
#pragma once
#include "weft/spec/spec.h"

namespace weft::tools {

/// op(a, b, c), c as fma, axpy and select take it. NaN for what no node of a graph is made of.
[[nodiscard]] double operate_fp64(weft_vpu_op op, double a, double b, double c);

/// The same on i32, which wraps: whole numbers in, a whole number out.
[[nodiscard]] double operate_words(weft_vpu_op op, double a, double b, double c);

}  // namespace weft::tools
