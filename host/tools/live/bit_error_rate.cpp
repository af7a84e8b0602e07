// The exact bound of Garwood, by bisection.
#include "host/tools/live/bit_error_rate.hpp"

#include <algorithm>
#include <cmath>

namespace weft::tools {
namespace {

/// Probability of at most `errors` events where `mean` are expected.
double at_most(uint64_t errors, double mean) {
  double term = -mean, sum = 0;  // logarithm of the term
  for (uint64_t i = 0; i <= errors; i++) {
    if (i > 0) term += std::log(mean / static_cast<double>(i));
    sum += std::exp(term);
  }
  return sum;
}

}  // namespace

BitErrorRate bit_error_rate(uint64_t errors, uint64_t bits) {
  constexpr double kChance = 0.05;
  constexpr int kSteps = 60;
  if (bits == 0) return {};
  const auto seen = static_cast<double>(errors);
  double low = seen, high = 2 * seen + 10;
  for (int step = 0; step < kSteps; step++) {
    const double middle = (low + high) / 2;
    (at_most(errors, middle) > kChance ? low : high) = middle;
  }
  return {seen / static_cast<double>(bits), std::min(1.0, high / static_cast<double>(bits))};
}

}  // namespace weft::tools
