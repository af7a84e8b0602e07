/// The use of a slice's links over time, out of its Chrome trace.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"

namespace weft::tools {

/// Of one link, one way.
struct MappedLink {
  std::array<uint32_t, 3> at{};  ///< coordinates of the chip that it leaves
  std::string port;              ///< "+x"
  std::vector<double> use;       ///< share of each step in which it was busy, 0 to 1
  double mean = 0;
  uint64_t packets = 0;
};

/// Time is cut into steps of one length, from the first packet to the last.
struct LinkMap {
  std::array<uint32_t, 3> size{};  ///< of the slice
  double begin_us = 0, end_us = 0, step_us = 0;
  std::vector<double> total;  ///< mean of all links in each step, 0 to 1
  std::vector<MappedLink> links;
};

/// Reads a trace into `steps` steps, at least one. INVALID_ARGUMENT with path and reason: it cannot be read, is no
/// Chrome trace in array form, or has no packets on links.
[[nodiscard]] Result<LinkMap> read_link_map(const std::string& trace_path, uint32_t steps);

}  // namespace weft::tools
