// A sweep over the begins and ends of commands.
#include "host/tools/cost/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "host/tools/formats/json_text.hpp"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Edge {
  uint64_t at;
  bool begins;
  size_t span;
};

/// The commands that an engine works on now.
class EngineState {
 public:
  explicit EngineState(size_t layers) : of_layer_(layers) {}

  void begin(const EngineSpan& span, size_t index, size_t layer) {
    working_.emplace(span.begin, index);
    if (of_layer_[layer]++ == 0) busy_layers_.insert(layer);
  }
  void end(const EngineSpan& span, size_t index, size_t layer) {
    working_.erase({span.begin, index});
    if (--of_layer_[layer] == 0) busy_layers_.erase(layer);
  }
  [[nodiscard]] bool idle() const { return working_.empty(); }
  /// Of the command that began first.
  [[nodiscard]] size_t oldest() const { return working_.begin()->second; }
  [[nodiscard]] const std::set<size_t>& layers() const { return busy_layers_; }

 private:
  std::set<std::pair<uint64_t, size_t>> working_;
  std::vector<size_t> of_layer_;
  std::set<size_t> busy_layers_;
};

Json layer_json(const spec::Chip& chip, const LayerWork& work, const CommandCosts& costs, uint64_t cycles) {
  const auto bound = bound_of(chip, work);
  const auto intensity = intensity_of(work);
  const double seconds = static_cast<double>(cycles) / static_cast<double>(chip.clock_hz);
  return {{"cycles", cycles},
          {"macs", work.macs},
          {"hbm_bytes", work.hbm_bytes},
          {"vector_elements", work.vector_elements},
          {"operations", operations_of(work)},
          {"operations_per_byte", intensity ? Json(*intensity) : Json(nullptr)},
          {"operations_per_second", seconds > 0 ? static_cast<double>(operations_of(work)) / seconds : 0},
          {"bound_cycles", bound.cycles()},
          {"bound_by", bound.engine()},
          {"achieved", achieved_share(chip, work, cycles)},
          {"padded_share", padded_share(chip, work.macs, costs.mxu_cycles)}};
}

}  // namespace

std::vector<LayerCycles> attribute_cycles(std::span<const EngineSpan> spans, std::span<const size_t> owner,
                                          size_t layers, const LaunchWindow& window) {
  std::vector<LayerCycles> result(layers);
  if (layers == 0) return result;
  std::vector<Edge> edges;
  for (size_t i = 0; i < spans.size(); i++) {
    const uint64_t from = std::max(spans[i].begin, window.begin), to = std::min(spans[i].end, window.end);
    if (from >= to) continue;
    edges.push_back({from, true, i});
    edges.push_back({to, false, i});
  }
  // At one cycle ends come first, so that no engine seems to work on what it has finished.
  std::ranges::sort(edges, {}, [](const Edge& e) { return std::tuple(e.at, e.begins, e.span); });
  std::vector<EngineState> engines(kEngines, EngineState(layers));
  uint64_t now = window.begin;
  size_t last = layers - 1;  // layer of the newest command
  const auto pass = [&](uint64_t until, size_t next) {
    const uint64_t cycles = until - now;
    now = until;
    if (cycles == 0) return;
    const auto working = std::ranges::find_if(engines, [](const EngineState& e) { return !e.idle(); });
    if (working == engines.end())
      result[next].idle += cycles;
    else
      result[owner[working->oldest()]].by_engine[static_cast<size_t>(working - engines.begin())] += cycles;
    for (size_t e = 0; e < kEngines; e++)
      for (const size_t layer : engines[e].layers()) result[layer].busy[e] += cycles;
  };
  for (const Edge& edge : edges) {
    const size_t layer = owner[edge.span];
    pass(edge.at, edge.begins ? layer : last);
    auto& engine = engines[static_cast<size_t>(spans[edge.span].engine)];
    if (edge.begins)
      engine.begin(spans[edge.span], edge.span, last = layer);
    else
      engine.end(spans[edge.span], edge.span, layer);
  }
  pass(std::max(now, window.end), last);
  return result;
}

LayerWork Profile::work() const {
  LayerWork sum;
  for (const auto& layer : layers) sum += layer.work;
  return sum;
}

CommandCosts Profile::costs() const {
  CommandCosts sum;
  for (const auto& layer : layers) sum += layer.costs;
  return sum;
}

uint64_t operations_of(const LayerWork& work) { return 2 * work.macs + work.vector_elements; }

std::optional<double> intensity_of(const LayerWork& work) {
  if (work.hbm_bytes == 0) return std::nullopt;
  return static_cast<double>(operations_of(work)) / static_cast<double>(work.hbm_bytes);
}

double achieved_share(const spec::Chip& chip, const LayerWork& work, uint64_t cycles) {
  return cycles == 0 ? 0 : bound_of(chip, work).cycles() / static_cast<double>(cycles);
}

Result<Profile> profile_of(const spec::Chip& chip, const ModelProgram& model, const std::string& trace_path,
                           std::span<const LaunchWindow> launches) {
  const auto spans = read_engine_spans(trace_path);
  if (!spans.ok()) return spans.error();
  auto explanation = explain(chip, model);
  if (!explanation.ok()) return explanation.error();
  Profile profile;
  for (const auto& part : model.partition.parts) profile.islands += part.graph ? 0 : 1;
  for (const LaunchWindow& launch : launches) {
    auto& part = explanation.value().parts.at(launch.part);
    std::vector<Layer> layers;
    for (const auto& layer : part.layers) layers.push_back(layer.layer);
    const CommandOwners owners(model.partition.parts[launch.part], layers, model.programs[launch.part].executable);
    const auto turn_tags = tags_of_turn(chip, model.programs[launch.part].executable);
    if (!turn_tags.ok()) return turn_tags.error();
    std::map<uint16_t, uint64_t> seen;
    std::vector<EngineSpan> inside;
    std::vector<size_t> owner;
    for (const EngineSpan& span : spans.value()) {
      if (span.end <= launch.begin || span.begin >= launch.end) continue;
      inside.push_back(span);
      // A tag's commands of one turn come before those of the next.
      const auto in_turn = turn_tags.value().find(span.tag);
      const uint64_t turn = in_turn == turn_tags.value().end() ? 0 : seen[span.tag]++ / in_turn->second;
      owner.push_back(owners.owner(span.tag, turn));
    }
    if (inside.empty())
      return Error{WEFT_ERROR_INTERNAL,
                   fmt::format("the trace has no command between cycles {} and {}", launch.begin, launch.end)};
    const auto cycles = attribute_cycles(inside, owner, layers.size() + 1, launch);
    for (size_t i = 0; i < layers.size(); i++)
      profile.layers.push_back({layers[i].name, launch.part, layers[i].work, part.layers[i].costs, cycles[i]});
    if (cycles.back().cycles() != 0 || part.other.hbm_bytes() != 0)
      profile.layers.push_back({"(no layer)", launch.part, {}, part.other, cycles.back()});
    profile.device_cycles += launch.end - launch.begin;
  }
  return profile;
}

std::string profile_json(const spec::Chip& chip, const Profile& profile) {
  Json json = {{"model", profile.title},
               {"chip", profile.chip},
               {"core", profile.core},
               {"clock_hz", chip.clock_hz},
               {"peak_macs_per_cycle", chip.peak_macs_per_cycle},
               {"hbm_bytes_per_second", chip.hbm_bytes_per_second},
               {"islands", profile.islands},
               {"host_seconds", profile.host_seconds},
               {"layers", Json::array()}};
  for (const auto& layer : profile.layers) {
    const auto& m = layer.measured;
    Json to = {{"layer", layer.name}, {"part", layer.part}};
    to.update(layer_json(chip, layer.work, layer.costs, m.cycles()));
    to["cycles_by_engine"] = {
        {"mxu", m.by_engine[0]}, {"vpu", m.by_engine[1]}, {"dma", m.by_engine[2]}, {"idle", m.idle}};
    to["busy_cycles"] = {{"mxu", m.busy[0]}, {"vpu", m.busy[1]}, {"dma", m.busy[2]}};
    json["layers"].push_back(std::move(to));
  }
  json["sum"] = layer_json(chip, profile.work(), profile.costs(), profile.device_cycles);
  return json_text(json) + "\n";
}

}  // namespace weft::tools
