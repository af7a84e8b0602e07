// Closed forms of commands; what they leave out stands in docs/performance.md.
#include "host/tools/cost/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/tools/formats/json_text.hpp"
#include "host/tools/formats/text_table.hpp"
#include "host/tools/live/smi_view.hpp"
#include "host/tools/run/run_parts.hpp"
#include "weft/spec/commands.hpp"

namespace weft::tools {
namespace {

constexpr double kMuchPadding = 0.1, kMuchWaiting = 1.1;

/// A constant and a part per sample.
struct Line {
  double at_zero, slope;
};
Line line_of(const BatchWork& work, double a, double b) {
  const double slope = (b - a) / (static_cast<double>(work.batch_b) - static_cast<double>(work.batch_a));
  return {a - slope * static_cast<double>(work.batch_a), slope};
}

/// From where on `engine` is at least `hbm`.
std::optional<double> crossing(Line engine, Line hbm) {
  const double from = hbm.at_zero - engine.at_zero, gain = engine.slope - hbm.slope;
  if (gain <= 0) return std::nullopt;
  return std::max(1.0, from / gain);
}

bool resident(const ExplainedPart& part) {
  return std::ranges::none_of(part.layers, [](const auto& layer) { return layer.costs.scratch_written_bytes != 0; });
}

uint64_t memory_of(const ExplainedPart& part) {
  uint64_t commands = part.other.commands;
  for (const auto& layer : part.layers) commands += layer.costs.commands;
  const auto& program = part.program;
  return program.constants_bytes + commands * sizeof(spec::Command) + program.arguments_bytes + program.scratch_bytes;
}

/// `busiest`: cycles of the engine that needs most.
std::vector<std::string> help_for(const PlanRow& row, uint64_t batch, double busiest) {
  const spec::Chip& chip = *row.chip;
  std::vector<std::string> help;
  if (!row.fits())
    help.push_back(fmt::format("{} less memory, or the weights on several chips (weft run --slice)",
                               bytes_text(row.memory_bytes - row.available_bytes)));
  if (!row.host_reasons.empty())
    help.push_back(fmt::format("commands for what the host computes (weft compile --chip {} tells)", chip.name));
  if (row.bound_by[0] == '-') return help;
  const std::string_view by = row.bound_by;
  if (!row.resident && static_cast<double>(row.estimate_cycles) > kMuchWaiting * busiest)
    help.emplace_back("a smaller batch: values go through HBM, and layers do not overlap");
  if (by == "HBM" && row.critical_batch && batch < *row.critical_batch)
    help.push_back(fmt::format("a batch of {}: HBM binds below", *row.critical_batch));
  else if (by == "HBM")
    help.emplace_back("fewer bytes of constants, inputs and outputs: HBM binds");
  if (by == "MXU" && row.padded_share > kMuchPadding) {
    const uint64_t rows = uint64_t{chip.pe_latency} * chip.n;
    help.push_back(
        batch < rows ? fmt::format("{} rows or more, and widths of multiples of {}: the rest is padding", rows, chip.n)
                     : fmt::format("widths that are multiples of {}: the rest is padding", chip.n));
  } else if (by == "MXU") {
    help.emplace_back("more MXUs: those of the chip are full");
  }
  if (by == "VPU") help.emplace_back("fewer passes of the vector unit, or one of more rows a cycle");
  return help;
}

std::string fit_text(const PlanRow& row) {
  if (row.bound_by[0] == '-' && row.memory_bytes == 0) return "host";
  return row.fits() ? fmt::format("{:.1f} %", 100 * static_cast<double>(row.memory_bytes) /
                                                  static_cast<double>(row.available_bytes))
                    : bytes_text(row.memory_bytes - row.available_bytes) + " too much";
}

double microseconds(const PlanRow& row) {
  return 1e6 * static_cast<double>(row.estimate_cycles) / static_cast<double>(row.chip->clock_hz);
}

}  // namespace

std::optional<uint64_t> critical_batch(const spec::Chip& chip, const BatchWork& work) {
  if (work.batch_a == work.batch_b) return std::nullopt;
  const auto a = bound_of(chip, work.a), b = bound_of(chip, work.b);
  const Line hbm = line_of(work, a.hbm, b.hbm);
  std::optional<double> first;
  for (const Line engine : {line_of(work, a.mxu, b.mxu), line_of(work, a.vpu, b.vpu)})
    if (const auto from = crossing(engine, hbm); from && (!first || *from < *first)) first = from;
  constexpr double kMost = 1e15;
  if (!first || *first > kMost) return std::nullopt;
  return static_cast<uint64_t>(std::ceil(*first - 1e-9));
}

uint64_t estimate_cycles(const spec::Chip& chip, const ExplainedPart& part) {
  const double latency = chip.hbm_read_latency_cycles + chip.hbm_write_latency_cycles;
  CommandCosts all = part.other;
  double apart = engines_of(chip, part.other).cycles();
  for (const auto& layer : part.layers) {
    all += layer.costs;
    apart += engines_of(chip, layer.costs).cycles() + latency;
  }
  return static_cast<uint64_t>(std::ceil(resident(part) ? engines_of(chip, all).cycles() + latency : apart));
}

Result<PlanRow> plan_on(const spec::Chip& chip, const ModelProgram& model, uint64_t batch, const BatchWork& work) {
  const auto explanation = explain(chip, model);
  if (!explanation.ok()) return explanation.error();
  PlanRow row;
  row.chip = &chip;
  row.available_bytes = chip.hbm_bytes - WEFT_MANAGER_HBM_RESERVED_BYTES;
  row.resident = true;
  double bound = 0;
  for (const auto& part : explanation.value().parts) {
    if (!part.device) {
      for (const auto& [reason, count] : reasons_of(model, model.partition.parts[part.number]))
        row.host_reasons[reason] += count;
      continue;
    }
    LayerWork of_part;
    for (const auto& layer : part.layers) of_part += layer.layer.work;
    bound += bound_of(chip, of_part).cycles();
    row.memory_bytes = std::max(row.memory_bytes, memory_of(part));
    row.vmem_bytes = std::max(row.vmem_bytes, part.program.vmem_bytes);
    row.resident = row.resident && resident(part);
    row.estimate_cycles += estimate_cycles(chip, part);
  }
  const auto costs = explanation.value().costs();
  row.bound_cycles = static_cast<uint64_t>(std::ceil(bound));
  row.bound_by = engines_of(chip, costs).engine();
  row.padded_share = padded_share(chip, explanation.value().work().macs, costs.mxu_cycles);
  row.critical_batch = critical_batch(chip, work);
  row.help = help_for(row, batch, engines_of(chip, costs).cycles());
  return row;
}

std::string plan_text(const Plan& plan) {
  using Align = TextTable::Align;
  TextTable table({{"chip", Align::kLeft},
                   {"needs", Align::kRight},
                   {"of its HBM", Align::kRight},
                   {"VMEM", Align::kRight},
                   {"critical batch", Align::kRight},
                   {"padding", Align::kRight},
                   {"at least", Align::kRight},
                   {"estimate", Align::kRight},
                   {"us", Align::kRight},
                   {"bound by", Align::kLeft},
                   {"what would help", Align::kLeft}});
  for (const PlanRow& row : plan.rows)
    table.add({std::string(row.chip->name), bytes_text(row.memory_bytes), fit_text(row),
               row.resident ? bytes_text(row.vmem_bytes) : "spills",
               row.critical_batch ? std::to_string(*row.critical_batch) : "-",
               fmt::format("{:.1f} %", 100 * row.padded_share), std::to_string(row.bound_cycles),
               std::to_string(row.estimate_cycles), fmt::format("{:.2f}", microseconds(row)), row.bound_by,
               row.help.empty() ? "" : row.help[0]});
  std::string text = fmt::format("{} at batch {}{}\n{}", plan.model, plan.batch,
                                 plan.batch_is_fixed ? ", which it fixes" : "", table.text("  "));
  // What the host computes is the same on most chips.
  std::map<std::string, std::string> chips;
  for (const PlanRow& row : plan.rows)
    for (const auto& [reason, count] : row.host_reasons) {
      auto& names = chips[fmt::format("{} because: {}", count, reason)];
      names += (names.empty() ? "" : ", ") + std::string(row.chip->name);
    }
  for (const auto& [reason, names] : chips) text += fmt::format("on the host of {}: {}\n", names, reason);
  return text;
}

std::string plan_json(const Plan& plan) {
  nlohmann::ordered_json json = {{"model", plan.model},
                                 {"batch", plan.batch},
                                 {"batch_is_fixed", plan.batch_is_fixed},
                                 {"chips", nlohmann::ordered_json::array()}};
  for (const PlanRow& row : plan.rows) {
    const bool device = row.memory_bytes != 0;
    json["chips"].push_back({{"chip", row.chip->name},
                             {"device", device},
                             {"memory_bytes", row.memory_bytes},
                             {"available_bytes", row.available_bytes},
                             {"fits", row.fits()},
                             {"missing_bytes", row.fits() ? 0 : row.memory_bytes - row.available_bytes},
                             {"vmem_bytes", row.vmem_bytes},
                             {"vmem_available_bytes", row.chip->vmem_bytes},
                             {"resident", row.resident},
                             {"critical_batch", row.critical_batch ? nlohmann::ordered_json(*row.critical_batch)
                                                                   : nlohmann::ordered_json(nullptr)},
                             {"padded_share", row.padded_share},
                             {"bound_cycles", row.bound_cycles},
                             {"estimate_cycles", row.estimate_cycles},
                             {"estimate_us", microseconds(row)},
                             {"bound_by", row.bound_by},
                             {"host_reasons", row.host_reasons},
                             {"what_would_help", row.help}});
  }
  return json_text(json) + "\n";
}

}  // namespace weft::tools
