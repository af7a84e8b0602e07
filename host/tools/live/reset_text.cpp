// A line a step.
#include "host/tools/live/reset_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "host/tools/formats/text_table.hpp"
#include "weft/spec/names.hpp"

namespace weft::tools {
namespace {

bool step_failed(const weft_reset_report& report, uint32_t step) { return report.failed_step == step + 1; }

}  // namespace

std::string reset_step_text(uint32_t step) {
  const std::string_view name = spec::reset_step_name(step);
  return name.empty() ? fmt::format("step {}", step) : std::string(name);
}

std::string reset_text(const weft_reset_report& report) {
  using Align = TextTable::Align;
  std::string out =
      fmt::format("reset of level {}: cycle {} to {}, {} cycles; generation {}\n", spec::reset_level_name(report.level),
                  report.start_cycle, report.end_cycle, report.end_cycle - report.start_cycle, report.generation);
  out +=
      fmt::format("commands: {} guilty, {} innocent (ended with ABORTED_BY_RESET)\n", report.guilty, report.innocent);
  if (report.guilty != 0)
    out +=
        fmt::format("first guilty: {} of command {:#x} (tag {}) on queue {}\n", weft_status_name(report.guilty_status),
                    report.guilty_command, report.guilty_tag, report.guilty_queue);
  TextTable table({{"step", Align::kLeft}, {"cycles", Align::kRight}, {"bound", Align::kRight}, {"", Align::kLeft}});
  for (uint32_t step = 0; step < WEFT_LIMIT_RESET_STEPS; step++)
    table.add({reset_step_text(step), std::to_string(report.step_cycles[step]),
               report.step_bounds[step] != 0 ? std::to_string(report.step_bounds[step]) : "firmware's",
               step_failed(report, step) ? "EXCEEDED" : ""});
  return out + table.text("  ");
}

std::string reset_json(const weft_reset_report& report) {
  nlohmann::ordered_json out = {{"level", spec::reset_level_name(report.level)},
                                {"generation", report.generation},
                                {"start_cycle", report.start_cycle},
                                {"end_cycle", report.end_cycle},
                                {"guilty", report.guilty},
                                {"innocent", report.innocent}};
  if (report.guilty != 0)
    out["first_guilty"] = {{"status", weft_status_name(report.guilty_status)},
                           {"queue", report.guilty_queue},
                           {"command", report.guilty_command},
                           {"tag", report.guilty_tag}};
  for (uint32_t step = 0; step < WEFT_LIMIT_RESET_STEPS; step++)
    out["steps"].push_back({{"step", reset_step_text(step)},
                            {"cycles", report.step_cycles[step]},
                            {"bound", report.step_bounds[step] != 0 ? nlohmann::ordered_json(report.step_bounds[step])
                                                                    : nlohmann::ordered_json()},
                            {"exceeded", step_failed(report, step)}});
  return out.dump(2) + "\n";
}

}  // namespace weft::tools
