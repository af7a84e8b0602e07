/// What a test of so many bits says about a bit-error rate.
#pragma once
#include <cstdint>

namespace weft::tools {

struct BitErrorRate {
  double estimate = 0;  ///< errors over bits
  double bound = 1;  ///< the rate is below it with 95 % confidence: with more, fewer errors would be seen 1 time in 20
};

/// `errors` damaged frames among `bits` that were sent: at the rates of links a frame has one wrong bit or none. Errors
/// are taken to come one by one (Poisson). No bits: nothing is known, the bound is 1.
[[nodiscard]] BitErrorRate bit_error_rate(uint64_t errors, uint64_t bits);

}  // namespace weft::tools
