// Derived figures are computed here and nowhere else.
#include "host/tools/run/run_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "host/tools/formats/json_text.hpp"

namespace weft::tools {
namespace {

uint64_t device_cycles(const RunReport& r) { return r.launch.end_cycle - r.launch.start_cycle; }

double utilization(const RunReport& r) {
  const uint64_t cycles = device_cycles(r);
  return cycles == 0
             ? 0
             : static_cast<double>(r.macs) / (static_cast<double>(r.peak_macs_per_cycle) * static_cast<double>(cycles));
}

double macs_per_second(const RunReport& r) {
  return r.launch.wall_seconds > 0 ? static_cast<double>(r.macs) / r.launch.wall_seconds : 0;
}

uint64_t hbm_bytes(const RunReport& r) {
  if (r.launch.counters.size() <= WEFT_COUNTER_DMA_WRITE_BYTES) return 0;
  return r.launch.counters[WEFT_COUNTER_DMA_READ_BYTES] + r.launch.counters[WEFT_COUNTER_DMA_WRITE_BYTES];
}

}  // namespace

std::string report_text(const RunReport& r) {
  const auto& c = r.launch.cycles;
  const uint64_t cycles = device_cycles(r);
  std::string text = fmt::format("{} on {} ({} core)\n", r.what, r.chip, r.core);
  text += fmt::format("  device cycles       {} ({:.1f} us at {:g} GHz)\n", cycles,
                      1e6 * static_cast<double>(cycles) / static_cast<double>(r.clock_hz),
                      static_cast<double>(r.clock_hz) / 1e9);
  text += fmt::format("  MXU utilization     {:.2f} %\n", 100 * utilization(r));
  text += fmt::format("  MACs                {}\n", r.macs);
  text += fmt::format("  HBM bytes           {}\n", hbm_bytes(r));
  text += fmt::format(
      "  launch latency      {} cycles to fetch, {} to validate, {} to the first command, {} from the last write to "
      "completion{}\n",
      c.fetched - c.doorbell, c.validated - c.fetched, c.first_command - c.validated, c.completion - c.last_write,
      r.manager == "native" ? " (charged)" : "");
  text += fmt::format("  wall time           {:.3f} s ({:.1f} M simulated MAC/s)\n", r.launch.wall_seconds,
                      macs_per_second(r) / 1e6);
  if (r.comparison)
    text += fmt::format("  differing           {} of {} elements from the golden model\n", r.comparison->differing(),
                        r.comparison->elements());
  if (r.max_relative_error)
    text += fmt::format("  max relative error  {:.3g} against fp64 of the unrounded inputs\n", *r.max_relative_error);
  return text;
}

std::string report_json(const RunReport& r) {
  const auto& c = r.launch.cycles;
  nlohmann::ordered_json json;
  json["what"] = r.what;
  json["chip"] = r.chip;
  json["core"] = r.core;
  json["manager"] = r.manager;
  json["device_cycles"] = device_cycles(r);
  json["mxu_utilization"] = utilization(r);
  json["macs"] = r.macs;
  json["bytes_hbm"] = hbm_bytes(r);
  json["wall_seconds"] = r.launch.wall_seconds;
  json["simulated_macs_per_second"] = macs_per_second(r);
  json["launch_latency"] = {{"doorbell_to_fetched", c.fetched - c.doorbell},
                            {"fetched_to_validated", c.validated - c.fetched},
                            {"validated_to_first_command", c.first_command - c.validated},
                            {"first_command_to_last_write", c.last_write - c.first_command},
                            {"last_write_to_completion", c.completion - c.last_write},
                            {"doorbell_to_completion", c.completion - c.doorbell}};
  if (r.comparison) json["elements"] = r.comparison->elements(), json["differing"] = r.comparison->differing();
  if (r.max_relative_error) json["max_relative_error"] = *r.max_relative_error;
  return json_text(json) + "\n";
}

}  // namespace weft::tools
