/// Many random networks, spread over processes.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/core/tensor_core.hpp"

namespace weft::graphs {

/// Networks for one chip on one kind of core; network i has the seed first_seed + i.
struct Batch {
  std::string chip, core = "fast";
  uint64_t first_seed = 1, graphs = 0;
};

/// "ci" or "nightly"; empty: no such level.
[[nodiscard]] std::vector<Batch> level_batches(std::string_view level, uint64_t seed);

/// Runs them all in `jobs` processes. The result: graphs, failed, device_programs, islands, elements, commands, cycles,
/// referenced, error (the largest), seconds, batches, failures. A failure is printed as it comes: what is wrong, the
/// line that reruns it, and the smallest network that fails too, as L1.
[[nodiscard]] nlohmann::json run_campaign(const std::vector<Batch>& batches, unsigned jobs);

}  // namespace weft::graphs
