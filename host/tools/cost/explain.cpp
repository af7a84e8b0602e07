// Places of values follow from the commands: what a layer does not store into scratch stays in VMEM.
#include "host/tools/cost/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "host/tools/formats/json_text.hpp"
#include "host/tools/formats/text_table.hpp"
#include "host/tools/run/run_parts.hpp"

namespace weft::tools {
namespace {

using compiler::Part;
using compiler::ir::OpKind;
using Json = nlohmann::ordered_json;

constexpr size_t kShownNodes = 3;  // of an island

const char* name_of(Place place) { return place == Place::kVmem ? "VMEM" : "HBM"; }

Result<ExplainedPart> explain_part(const spec::Chip& chip, const ModelProgram& model, size_t number) {
  const Part& part = model.partition.parts[number];
  ExplainedPart explained;
  explained.number = number;
  explained.device = part.graph.has_value();
  if (!part.graph) return explained;
  const auto& executable = model.programs[number].executable;
  auto layers = layers_of(model.module, part);
  const CommandOwners owners(part, layers, executable);
  auto program = command_costs(chip, executable, layers, owners);
  if (!program.ok()) return program.error();
  explained.program = std::move(program.value());
  const auto costs = std::move(explained.program.layers);
  const auto producers = producers_of(model.module, part);
  explained.other = costs.back();
  for (size_t i = 0; i < layers.size(); i++) {
    ExplainedLayer layer{std::move(layers[i]), costs[i], Place::kVmem, {}};
    if (costs[i].written_bytes != 0) layer.result = Place::kHbm;
    for (const auto operand : layer.layer.operands) {
      const auto made = producers.find(operand);
      const bool hbm =
          made == producers.end() ? costs[i].read_bytes != 0 : costs[made->second].scratch_written_bytes != 0;
      layer.operands.push_back(hbm ? Place::kHbm : Place::kVmem);
    }
    explained.layers.push_back(std::move(layer));
  }
  return explained;
}

std::string operands_text(const ExplainedLayer& layer) {
  const std::set<Place> places(layer.operands.begin(), layer.operands.end());
  std::string text;
  for (const Place place : places) text += (text.empty() ? "" : "+") + std::string(name_of(place));
  return text.empty() ? "-" : text;
}

std::string cycles_text(double cycles) { return fmt::format("{:.0f}", cycles); }

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// ONNX nodes of an island, in their order.
std::vector<std::string> nodes_of(const ModelProgram& model, const Part& part) {
  std::vector<std::string> nodes;
  for (const uint32_t index : part.ops) {
    const auto& op = model.module.ops()[index];
    if (op.kind != OpKind::kConstant && std::ranges::find(nodes, op.origin.node) == nodes.end())
      nodes.push_back(op.origin.node);
  }
  return nodes;
}

std::string some(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShownNodes); i++) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShownNodes) text += fmt::format(" and {} more", names.size() - kShownNodes);
  return text;
}

std::string kinds_text(const std::map<std::string, uint64_t>& kinds) {
  std::string text;
  for (const auto& [kind, count] : kinds)
    text += (text.empty() ? "" : ", ") + (count == 1 ? "" : fmt::format("{} ", count)) + kind;
  return text.empty() ? "-" : text;
}

void add_costs(TextTable& table, const spec::Chip& chip, std::vector<std::string> cells, uint64_t macs,
               const CommandCosts& costs, const std::string& bound) {
  const auto engines = engines_of(chip, costs);
  for (auto& cell : {std::to_string(costs.hbm_bytes()), std::to_string(macs),
                     macs == 0 ? std::string("-") : percent(padded_share(chip, macs, costs.mxu_cycles)),
                     cycles_text(engines.mxu), cycles_text(engines.vpu), cycles_text(engines.hbm), bound})
    cells.push_back(cell);
  table.add(std::move(cells));
}

Json costs_json(const spec::Chip& chip, uint64_t macs, const CommandCosts& costs) {
  const auto engines = engines_of(chip, costs);
  return {{"commands", costs.commands},
          {"macs", macs},
          {"padded_share", padded_share(chip, macs, costs.mxu_cycles)},
          {"hbm_bytes",
           {{"constants", costs.constant_bytes}, {"read", costs.read_bytes}, {"written", costs.written_bytes}}},
          {"cycles", {{"mxu", engines.mxu}, {"vpu", engines.vpu}, {"hbm", engines.hbm}}},
          {"bound_by", engines.engine()}};
}

Json layer_json(const spec::Chip& chip, const ModelProgram& model, const ExplainedLayer& layer) {
  Json json = {{"layer", layer.layer.name}, {"operators", Json::array()}, {"operands", Json::array()}};
  for (const uint32_t index : layer.layer.ops) {
    const auto& op = model.module.ops()[index];
    json["operators"].push_back({{"operator", compiler::ir::name_of(op.kind)}, {"node", op.origin.node}});
  }
  for (const Place place : layer.operands) json["operands"].push_back(name_of(place));
  json["result"] = name_of(layer.result);
  json.update(costs_json(chip, layer.layer.work.macs, layer.costs));
  json["least"] = {{"macs", layer.layer.work.macs},
                   {"hbm_bytes", layer.layer.work.hbm_bytes},
                   {"vector_elements", layer.layer.work.vector_elements}};
  return json;
}

}  // namespace

LayerWork Explanation::work() const {
  LayerWork sum;
  for (const auto& part : parts)
    for (const auto& layer : part.layers) sum += layer.layer.work;
  return sum;
}

CommandCosts Explanation::costs() const {
  CommandCosts sum;
  for (const auto& part : parts) {
    for (const auto& layer : part.layers) sum += layer.costs;
    sum += part.other;
  }
  return sum;
}

uint64_t Explanation::cycle_estimate() const {
  uint64_t cycles = 0;
  for (const auto& part : parts) cycles += part.program.cycle_estimate;
  return cycles;
}

Result<Explanation> explain(const spec::Chip& chip, const ModelProgram& model) {
  Explanation explanation;
  for (size_t i = 0; i < model.partition.parts.size(); i++) {
    auto part = explain_part(chip, model, i);
    if (!part.ok()) return part.error();
    explanation.parts.push_back(std::move(part.value()));
  }
  return explanation;
}

std::string explain_text(const spec::Chip& chip, const std::string& title, const ModelProgram& model,
                         const Explanation& explanation) {
  using Align = TextTable::Align;
  TextTable table({{"layer", Align::kLeft},
                   {"operators", Align::kLeft},
                   {"operands", Align::kLeft},
                   {"result", Align::kLeft},
                   {"HBM bytes", Align::kRight},
                   {"MACs", Align::kRight},
                   {"padding", Align::kRight},
                   {"MXU", Align::kRight},
                   {"VPU", Align::kRight},
                   {"HBM", Align::kRight},
                   {"bound by", Align::kLeft}});
  std::string islands;
  for (const auto& part : explanation.parts) {
    const Part& of = model.partition.parts[part.number];
    if (!part.device) {
      table.add({some(nodes_of(model, of)), kinds_text(kinds_of(model, of)), "host", "host", "-", "-", "-", "-", "-",
                 "-", "host"});
      islands += fmt::format("island: part {} of {}, nodes {}\n", part.number, explanation.parts.size(),
                             some(nodes_of(model, of)));
      for (const auto& [reason, count] : reasons_of(model, of))
        islands += fmt::format("  {} because: {}\n", count, reason);
    }
    for (const auto& layer : part.layers)
      add_costs(
          table, chip,
          {layer.layer.name, operators_text(model.module, layer.layer), operands_text(layer), name_of(layer.result)},
          layer.layer.work.macs, layer.costs, engines_of(chip, layer.costs).engine());
    if (part.other.hbm_bytes() + part.other.mxu_cycles + part.other.vpu_cycles != 0)
      add_costs(table, chip, {"(no layer)", "-", "-", "-"}, 0, part.other, engines_of(chip, part.other).engine());
  }
  const auto costs = explanation.costs();
  const auto work = explanation.work();
  add_costs(table, chip, {"sum", "", "", ""}, work.macs, costs, engines_of(chip, costs).engine());
  std::string text =
      fmt::format("{} for {}: cycles of each engine, if it worked alone\n{}", title, chip.name, table.text("  "));
  text += islands;
  uint64_t vmem = 0, constants = 0;
  for (const auto& part : explanation.parts)
    vmem = std::max(vmem, part.program.vmem_bytes), constants += part.program.constants_bytes;
  text += fmt::format("{} MACs, at least {} cycles; {} bytes of constants, {} of {} bytes of VMEM\n", work.macs,
                      explanation.cycle_estimate(), constants, vmem, chip.vmem_bytes);
  return text;
}

std::string explain_json(const spec::Chip& chip, const std::string& title, const ModelProgram& model,
                         const Explanation& explanation) {
  Json json = {{"model", title}, {"chip", chip.name}, {"parts", Json::array()}};
  for (const auto& part : explanation.parts) {
    const Part& of = model.partition.parts[part.number];
    Json to = {{"where", part.device ? "device" : "host"}};
    if (!part.device) {
      to["nodes"] = nodes_of(model, of);
      to["operators"] = kinds_of(model, of);
      to["reasons"] = reasons_of(model, of);
      json["parts"].push_back(std::move(to));
      continue;
    }
    to["layers"] = Json::array();
    for (const auto& layer : part.layers) to["layers"].push_back(layer_json(chip, model, layer));
    to["no_layer"] = costs_json(chip, 0, part.other);
    to["macs"] = part.program.macs;
    to["cycle_estimate"] = part.program.cycle_estimate;
    to["vmem_bytes"] = part.program.vmem_bytes;
    to["scratch_bytes"] = part.program.scratch_bytes;
    to["constants_bytes"] = part.program.constants_bytes;
    to["arguments_bytes"] = part.program.arguments_bytes;
    json["parts"].push_back(std::move(to));
  }
  json["sum"] = costs_json(chip, explanation.work().macs, explanation.costs());
  json["cycle_estimate"] = explanation.cycle_estimate();
  return json_text(json) + "\n";
}

double padded_share(const spec::Chip& chip, uint64_t macs, uint64_t mxu_cycles) {
  if (mxu_cycles == 0 || macs == 0) return 0;
  const double done = static_cast<double>(mxu_cycles) * static_cast<double>(chip.peak_macs_per_cycle) / chip.num_mxu;
  return std::max(0.0, 1 - static_cast<double>(macs) / done);
}

}  // namespace weft::tools
