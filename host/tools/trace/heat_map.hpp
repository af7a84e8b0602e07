/// A page of HTML from a slice's Chrome trace: the torus as a heat map of link use over time.
#pragma once
#include <cstdint>
#include <string>

#include "host/compiler/result.hpp"

namespace weft::tools {

inline constexpr uint32_t kMaxHeatMapSteps = 10'000;

struct HeatMapOptions {
  uint32_t steps = 120;  ///< parts into which time is cut, 1 to kMaxHeatMapSteps
  std::string title;
};

/// The page: self-contained, works offline. Time begins with the first packet and ends with the last. INVALID_ARGUMENT
/// with path and reason: the trace cannot be read, is no trace, or has no packets on links.
[[nodiscard]] Result<std::string> heat_map_page(const std::string& trace_path, const HeatMapOptions& options);

}  // namespace weft::tools
