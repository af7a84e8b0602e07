// Which collectives values need not leave the chips for.
#include "host/compiler/partition/device_collective.hpp"

#include <fmt/format.h>

#include <map>
#include <numeric>
#include <set>

#include "host/compiler/collectives/collective_mesh.hpp"
#include "host/compiler/ir/builder.hpp"
#include "host/compiler/partition/value_views.hpp"
#include "weft/spec/ici.hpp"

namespace weft::compiler {
namespace {

using ir::Dims;
using ir::ElementType;

constexpr uint64_t kElementBytes = 4, kGranule = 16, kHopsOfShort = 4;

Error refused(std::string why) { return {WEFT_ERROR_UNSUPPORTED, "a collective " + std::move(why)}; }

/// Whether parts along the dimension are consecutive elements.
bool is_first(const Dims& dims, int64_t dimension) {
  for (int64_t d = 0; d < dimension; d++)
    if (dims[static_cast<size_t>(d)] != 1) return false;
  return true;
}

std::vector<Dims> groups_of(const ir::Op& op, size_t devices) {
  const Dims& listed = op.list("groups");
  if (op.word("kind") == "permute") return rounds_of(listed, ir::counting(devices));
  const auto size = static_cast<std::ptrdiff_t>(op.integer("group_size"));
  std::vector<Dims> groups;
  for (auto at = listed.begin(); at != listed.end(); at += size) groups.emplace_back(at, at + size);
  return groups;
}

}  // namespace

Result<Collective> device_collective(const ir::Module& module, const ir::Op& op, const DeviceSlice& slice) {
  const auto& type = module.type(op.operands[0]);
  const std::string& kind = op.word("kind");
  const bool sums = kind == "all_reduce" || kind == "reduce_scatter";
  const bool in_parts = kind == "reduce_scatter" || kind == "all_to_all";
  if (!op.attributes.contains("together")) return refused("that some devices may not come to");
  if (constant_behind(module, op.operands[0]) != nullptr) return refused("of a constant");
  if (type.count() == 0) return refused("of an empty tensor");
  if (sums && op.word("combine") != "add") return refused(fmt::format("that combines by {}", op.word("combine")));
  const bool word = is_word(type.element);
  if (!word && type.element != ElementType::kF32 && (sums || type.element != ElementType::kPred))
    return refused("of " + type.text());
  Collective collective;
  collective.dtype = word ? WEFT_ARGUMENT_DTYPE_I32 : WEFT_ARGUMENT_DTYPE_F32;
  if (kind == "all_reduce") {
    collective.kind = CollectiveKind::kAllReduce;
  } else if (kind == "reduce_scatter") {
    collective.kind = CollectiveKind::kReduceScatter;
  } else if (kind == "all_gather") {
    collective.kind = CollectiveKind::kAllGather;
  } else if (kind == "all_to_all") {
    collective.kind = CollectiveKind::kAllToAll;
  } else if (kind == "permute") {
    collective.kind = CollectiveKind::kPermute;
    collective.shift = 1;
  } else {
    return refused("of the kind " + kind);
  }
  if ((in_parts || kind == "all_gather") && !is_first(type.dims, op.integer("dimension")))
    return refused("along other than the first dimension");
  if (kind == "all_to_all" && !is_first(type.dims, op.integer("concat")))
    return refused("along other than the first dimension");
  const auto groups = groups_of(op, slice.chips.size());
  size_t members = 0;
  for (const auto& group : groups) members += group.size();
  if (members != slice.chips.size()) return refused(fmt::format("of {} of {} devices", members, slice.chips.size()));
  if (groups[0].size() == 1) return refused("of one device");
  if (in_parts && type.count() / groups[0].size() * kElementBytes % kGranule != 0)
    return refused(fmt::format("of parts of {} elements", type.count() / groups[0].size()));
  for (const auto& group : groups) {
    auto& chips = collective.groups.emplace_back();
    for (const int64_t device : group) chips.push_back(slice.chips.at(static_cast<size_t>(device)));
  }
  if (const auto mesh = collective_mesh(slice.shape, collective, collective.groups[0][0]); !mesh.ok())
    return refused("of other groups than boxes: " + mesh.error().message);
  return collective;
}

bool is_long(const ir::Module& module, const ir::Op& op, const DeviceSlice& slice) {
  uint64_t bytes = module.type(op.operands[0]).count() * kElementBytes;
  if (op.word("kind") == "all_gather") bytes *= static_cast<uint64_t>(op.integer("group_size")) - 1;
  return slice.shape.link_bytes_per_second != 0 &&
         bytes > kHopsOfShort * spec::kIciHopLatencyNs * (slice.shape.link_bytes_per_second / 1'000'000) / 1000;
}

std::vector<Dims> rounds_of(const Dims& pairs, const Dims& members) {
  std::map<int64_t, int64_t> next;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) next[pairs[i]] = pairs[i + 1];
  std::set<int64_t> seen;
  std::vector<Dims> rounds;
  for (const int64_t first : members) {
    if (seen.contains(first)) continue;
    Dims round;
    int64_t at = first;
    while (seen.insert(at).second) {
      round.push_back(at);
      if (!next.contains(at)) return {};
      at = next[at];
    }
    if (at != first || (!rounds.empty() && round.size() != rounds[0].size())) return {};
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace weft::compiler
