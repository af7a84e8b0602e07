// Preflight's results for people and for programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "host/runtime/fault_schedule.hpp"
#include "host/tools/formats/text_table.hpp"
#include "host/tools/live/smi_view.hpp"
#include "host/tools/selftest/preflight.hpp"

namespace weft::tools {

using Json = nlohmann::ordered_json;

std::string link_tests_text(const std::vector<LinkTest>& links) {
  using Align = TextTable::Align;
  TextTable table({{"chip", Align::kRight},
                   {"port", Align::kLeft},
                   {"to", Align::kRight},
                   {"state", Align::kLeft},
                   {"sent", Align::kRight},
                   {"differing", Align::kRight},
                   {"frame errors", Align::kRight},
                   {"bit errors", Align::kRight},
                   {"below (95 %)", Align::kRight},
                   {"", Align::kLeft}});
  for (const LinkTest& t : links)
    table.add({std::to_string(t.chip), std::string(runtime::kPortNames[t.port]), std::to_string(t.neighbor), t.state,
               bytes_text(t.payload_bytes), std::to_string(t.differing_bytes), std::to_string(t.frame_errors),
               fmt::format("{:.2g}", t.rate.estimate), fmt::format("{:.2g}", t.rate.bound),
               t.fault.empty() ? "ok" : "BAD: " + t.fault});
  return table.text("  ");
}

std::string preflight_json(const PreflightResult& result, const PreflightOptions& options, int indent) {
  Json out = {{"passed", result.passed()},
              {"seed", options.seed},
              {"rate_limit", options.rate_limit},
              {"checks", Json::array()},
              {"links", Json::array()}};
  for (const CheckResult& check : result.checks)
    out["checks"].push_back(
        {{"name", check.name}, {"passed", check.passed}, {"text", check.passed ? check.numbers : check.failure}});
  for (const LinkTest& t : result.links)
    out["links"].push_back({{"chip", t.chip},
                            {"port", runtime::kPortNames[t.port]},
                            {"neighbor", t.neighbor},
                            {"state", t.state},
                            {"passed", t.fault.empty()},
                            {"fault", t.fault.empty() ? Json() : Json(t.fault)},
                            {"payload_bytes", t.payload_bytes},
                            {"wire_bytes", t.wire_bytes},
                            {"differing_bytes", t.differing_bytes},
                            {"frame_errors", t.frame_errors},
                            {"bit_error_rate", t.rate.estimate},
                            {"bit_error_rate_bound", t.rate.bound}});
  return out.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft::tools
