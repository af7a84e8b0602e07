/// Checks of a slice before work is given to it: who is whose neighbour, every link, HBM, a known sum.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/runtime/slice_session.hpp"
#include "host/tools/live/bit_error_rate.hpp"
#include "host/tools/live/links_snapshot.hpp"
#include "host/tools/selftest/selftest.hpp"

namespace weft::tools {

struct PreflightOptions {
  uint64_t link_bytes = 256 << 10;  ///< sent by every port
  uint64_t hbm_bytes = 1 << 20;     ///< of patterns on every chip
  uint64_t reduce_bytes = 65536;    ///< of the all-reduce
  double rate_limit = 1e-9;         ///< of bit errors: a link above it fails
  uint64_t seed = 1;
};

/// What one direction of a link showed while a pattern passed.
struct LinkTest {
  uint32_t chip = 0, port = 0, neighbor = 0;
  std::string state;  ///< afterwards
  uint64_t payload_bytes = 0, wire_bytes = 0, frame_errors = 0, downs = 0;
  uint64_t differing_bytes = 0;  ///< of what the neighbour received
  BitErrorRate rate;
  std::string fault;  ///< what is wrong with it; empty: nothing
};

struct PreflightResult {
  std::vector<CheckResult> checks;  ///< neighbours, links, HBM, all-reduce
  std::vector<LinkTest> links;      ///< empty: the exchange could not be launched
  [[nodiscard]] bool passed() const;
};

/// All checks, also after one has failed. `show` hears of each when it has ended. The chips are as before, except what
/// the links have counted.
[[nodiscard]] PreflightResult preflight(runtime::SliceSession& session, const PreflightOptions& options,
                                        const std::function<void(const CheckResult&)>& show);

/// The chip behind a port by the rule of meshes and tori; nothing: the axis ends. Not for twisted slices.
[[nodiscard]] std::optional<uint32_t> neighbor_by_rule(const compiler::SliceShape& shape, uint32_t chip, uint32_t port);

/// The table of the links, and JSON of everything (`indent` spaces a level).
[[nodiscard]] std::string link_tests_text(const std::vector<LinkTest>& links);
[[nodiscard]] std::string preflight_json(const PreflightResult& result, const PreflightOptions& options, int indent);

}  // namespace weft::tools
