#include "model/replay/node_duration.hpp"

#include <algorithm>
#include <cmath>

#include "weft/spec/chips.hpp"

namespace weft::replay {

ChipCosts costs_of(const spec::Generation& generation) {
  const auto* chip = spec::find_chip(generation.name);
  if (chip == nullptr) return {};
  const double cores = generation.cores_per_chip;
  return {2.0 * static_cast<double>(chip->peak_macs_per_cycle) * static_cast<double>(chip->clock_hz) * cores,
          static_cast<double>(chip->hbm_bytes_per_second) * cores};
}

std::optional<Femtoseconds> node_duration(const chakra::Node& node, const ReplayOptions& options) {
  constexpr double kSecond = 1e15;
  const bool says_cost = (node.operations || node.tensor_bytes) && !node.on_host;
  if (!says_cost || (options.durations == Durations::kRecorded && node.duration_fs != 0)) return node.duration_fs;
  const auto over = [](const std::optional<uint64_t>& work, double rate) {
    return work && rate > 0 ? kSecond * static_cast<double>(*work) / rate : 0.0;
  };
  const double cost = std::max(over(node.operations, options.costs.operations_per_second),
                               over(node.tensor_bytes, options.costs.bytes_per_second));
  if (cost > static_cast<double>(chakra::kMostDurationFs)) return {};
  return static_cast<Femtoseconds>(std::llround(cost));
}

}  // namespace weft::replay
