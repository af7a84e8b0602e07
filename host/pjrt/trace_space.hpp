/// A device trace as the framework's profiler reads it: a serialized XSpace.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace weft::pjrt {

/// Something that a device did, and what is told of it. Times count from the trace's beginning.
struct TraceSpan {
  using Number = std::variant<uint64_t, double, std::string>;
  std::string name;
  uint64_t begin_ps = 0, duration_ps = 0;
  std::vector<std::pair<std::string, Number>> facts = {};
};
/// Spans that do not overlap, ascending.
struct TraceLine {
  std::string name;
  std::vector<TraceSpan> spans = {};
};
struct TraceDevice {
  std::string name;
  std::vector<TraceLine> lines = {};
};

/// `begin_ns`: of the trace, since 1970.
[[nodiscard]] std::string space_of(const std::vector<TraceDevice>& devices, uint64_t begin_ns);

}  // namespace weft::pjrt
