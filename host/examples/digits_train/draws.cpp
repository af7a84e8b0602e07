// std::mt19937_64 is the same everywhere; the standard's distributions are not.
#include "host/examples/digits_train/draws.hpp"

#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace weft::examples {
namespace {

std::mt19937_64 generator(uint64_t seed, uint64_t stream) {
  std::seed_seq sequence{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(stream),
                         static_cast<uint32_t>(stream >> 32)};
  return std::mt19937_64(sequence);
}

constexpr uint64_t kParameters = UINT64_MAX;  // no epoch

}  // namespace

std::vector<float> first_parameters(const compiler::DenseNetwork& network, uint64_t seed) {
  auto random = generator(seed, kParameters);
  std::vector<float> out;
  for (size_t l = 0; l + 1 < network.widths.size(); l++) {
    const auto inputs = static_cast<double>(network.widths[l]);
    const double limit = std::sqrt(6 / inputs);
    for (uint64_t i = 0; i < network.widths[l] * network.widths[l + 1]; i++)
      out.push_back(static_cast<float>(limit * (2 * std::ldexp(static_cast<double>(random() >> 11), -53) - 1)));
    out.insert(out.end(), network.widths[l + 1], 0.0F);
  }
  return out;
}

std::vector<uint32_t> epoch_order(uint64_t seed, uint64_t epoch, uint64_t examples) {
  auto random = generator(seed, epoch);
  std::vector<uint32_t> order(examples);
  std::iota(order.begin(), order.end(), 0);
  for (uint64_t i = examples; i > 1; i--) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace weft::examples
