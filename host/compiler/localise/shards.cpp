// Cuts of dimensions, and the groups of devices that differ in some of them.
#include "host/compiler/localise/shards.hpp"

#include <algorithm>
#include <map>

#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::localise {
namespace {

ir::Dims places(const std::vector<Cut>& cuts, size_t device) {
  ir::Dims at;
  for (const auto& cut : cuts) at.push_back(cut.whole() ? 0 : cut.place[device]);
  return at;
}

}  // namespace

bool is_whole(const Shards& shards) {
  return std::ranges::all_of(shards, [](const Cut& cut) { return cut.whole(); });
}

int64_t parts_of(const Shards& shards) {
  int64_t parts = 1;
  for (const auto& cut : shards) parts *= cut.parts;
  return parts;
}

bool complete(const std::vector<Cut>& cuts, size_t devices) {
  std::map<ir::Dims, size_t> seen;
  for (size_t device = 0; device < devices; device++) seen[places(cuts, device)]++;
  if (static_cast<int64_t>(seen.size()) != parts_of(cuts)) return false;
  return std::ranges::all_of(seen, [&](const auto& entry) { return entry.second == seen.begin()->second; });
}

std::optional<Cut> finer(const Cut& cut, const Cut& than) {
  if (cut.whole() || than.whole() || cut.parts % than.parts != 0) return std::nullopt;
  Cut within{cut.parts / than.parts, cut.place};
  for (size_t device = 0; device < cut.place.size(); device++) {
    if (cut.place[device] / within.parts != than.place[device]) return std::nullopt;
    within.place[device] %= within.parts;
  }
  return within;
}

ir::Dims local_dims(const ir::Dims& dims, const Shards& shards) {
  ir::Dims local = dims;
  for (size_t d = 0; d < dims.size(); d++) {
    if (dims[d] % shards[d].parts != 0)
      ir::unsupported("dimension {} of {} in {} parts", d, ir::dims_text(dims), shards[d].parts);
    local[d] /= shards[d].parts;
  }
  return local;
}

Shards shards_of(const ir::Tiling& tiling) {
  if (!tiling.part.empty()) ir::unsupported("parts of a sum (unreduced)");
  Shards shards(tiling.tiles.size());
  for (size_t d = 0; d < shards.size(); d++) {
    if (tiling.tiles[d] == 1) continue;
    shards[d].parts = tiling.tiles[d];
    for (const auto& place : tiling.place) shards[d].place.push_back(place[d]);
  }
  return shards;
}

ir::Tiling tiling_of(const Shards& shards, size_t devices) {
  ir::Tiling tiling = ir::replicated(shards.size(), devices);
  for (size_t d = 0; d < shards.size(); d++) {
    if (shards[d].whole()) continue;
    tiling.tiles[d] = shards[d].parts;
    for (size_t device = 0; device < devices; device++) tiling.place[device][d] = shards[d].place[device];
  }
  return tiling;
}

DeviceGroups groups_along(const std::vector<Cut>& kept, const std::vector<Cut>& moved, size_t devices) {
  std::map<ir::Dims, std::map<ir::Dims, ir::Dims>> classes;
  for (size_t device = 0; device < devices; device++)
    classes[places(kept, device)][places(moved, device)].push_back(static_cast<int64_t>(device));
  DeviceGroups groups;
  groups.size = parts_of(moved);
  for (const auto& [at, members] : classes) {
    const size_t copies = members.begin()->second.size();
    const bool even = std::ranges::all_of(members, [&](const auto& entry) { return entry.second.size() == copies; });
    if (!even || static_cast<int64_t>(members.size()) != groups.size)
      ir::unsupported("parts that do not cover a value");
    for (size_t copy = 0; copy < copies; copy++)
      for (const auto& [place, list] : members) groups.devices.push_back(list[copy]);
  }
  return groups;
}

}  // namespace weft::compiler::localise
