/// GNU MPFR as an oracle that shares nothing with this project.
#pragma once
#include <cstdint>

#include "testbench/numerics/fma_vectors.hpp"

namespace weft::numerics {

/// v.a * v.b + v.c: MPFR's correctly rounded fma at 24 bits, with an exponent as wide as MPFR has; then the rules of
/// docs/numerics.md at the ends of the range. Slow: some hundred nanoseconds.
[[nodiscard]] uint32_t mpfr_fma_bits(const FmaVector& v);

}  // namespace weft::numerics
