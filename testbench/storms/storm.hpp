/// One storm over a network under load, judged.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "testbench/storms/storm_plan.hpp"

namespace weft::storms {

struct Verdict {
  bool passed = false;
  bool stuck = false;  ///< messages under way and no event, or no end in sight
  uint64_t sent = 0, came = 0, reported = 0, in_doubt = 0;
  uint64_t lost = 0, doubled = 0, out_of_order = 0, wrong_bytes = 0, false_reports = 0;
  uint64_t packet_hops = 0;
  std::vector<std::string> complaints;
};

/// Runs it until nothing is left to happen. Deterministic.
[[nodiscard]] Verdict run_storm(const Plan& plan, uint64_t seed);

}  // namespace weft::storms
