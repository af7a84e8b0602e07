/// What gemm and run report, as text and as JSON.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "host/reference/comparison.hpp"
#include "host/runtime/session.hpp"

namespace weft::tools {

struct RunReport {
  std::string what;  ///< "gemm 1024x1024x1024 bf16", or the model
  std::string chip, core;
  std::string
      manager;  ///< what ran the firmware: "native", whose cycles are charged, "rv32", "ibex", or "attached": not known
  uint64_t macs = 0;  ///< useful multiply-accumulates
  uint64_t peak_macs_per_cycle = 0;
  uint64_t clock_hz = 0;
  runtime::LaunchResult launch;
  std::optional<Comparison> comparison;      ///< of the result with the golden model
  std::optional<double> max_relative_error;  ///< against fp64 of the unrounded inputs
};

/// Several lines for a person; one JSON object for a program.
[[nodiscard]] std::string report_text(const RunReport& report);
[[nodiscard]] std::string report_json(const RunReport& report);

}  // namespace weft::tools
