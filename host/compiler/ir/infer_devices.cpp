// Types of operators of several devices.
#include <algorithm>
#include <set>

#include "host/compiler/ir/devices.hpp"
#include "host/compiler/ir/infer_rules.hpp"
#include "host/compiler/ir/module.hpp"
#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::ir {
namespace {

constexpr size_t kMostDevices = 1024;

size_t axis(const Op& op, const char* name, const TensorType& type) {
  const int64_t d = op.integer(name);
  if (d < 0 || static_cast<size_t>(d) >= type.rank()) invalid("collective: dimension {} of {}", d, type.text());
  return static_cast<size_t>(d);
}

int64_t divided(const TensorType& type, size_t d, int64_t parts) {
  if (type.dims[d] % parts != 0) invalid("collective: dimension {} of {} in {} parts", d, type.text(), parts);
  return type.dims[d] / parts;
}

}  // namespace

Types infer_manual(const Op& op, const Types& in) {
  const Dims& ids = op.list("ids");
  if (ids.empty() || ids.size() > kMostDevices) invalid("manual: {} devices", ids.size());
  (void)op.integer("absolute");  // 1: ids are devices; 0: within another manual operator they are counted from its own
  if (op.regions.size() != 1 || !op.regions[0]) invalid("manual: {} regions; it takes 1", op.regions.size());
  const Module& region = *op.regions[0];
  if (region.inputs.size() != in.size()) invalid("manual: {} operands, {} arguments", in.size(), region.inputs.size());
  if (region.outputs.empty()) invalid("manual: no results");
  std::vector<size_t> ranks;
  for (const auto& type : in) ranks.push_back(type.rank());
  for (const auto& output : region.outputs) ranks.push_back(region.type(output.value).rank());
  const auto tilings = tilings_of(op, ranks);
  for (size_t i = 0; i < in.size(); i++)
    if (const auto local = tilings[i].local(in[i]); local != region.type(region.inputs[i]))
      invalid("manual: argument {} is {}; its operand's tile is {}", i, region.type(region.inputs[i]).text(),
              local.text());
  Types results;
  for (size_t i = 0; i < region.outputs.size(); i++) {
    results.push_back(tilings[in.size() + i].whole(region.type(region.outputs[i].value)));
    check_size(results.back());
  }
  return results;
}

Types infer_collective(const Op& op, const Types& in) {
  const std::string& kind = op.word("kind");
  const Dims& groups = op.list("groups");
  const int64_t size = op.integer("group_size");
  if (size < 1 || groups.empty() || static_cast<int64_t>(groups.size()) % size != 0 || groups.size() > kMostDevices)
    invalid("collective: {} devices in groups of {}", groups.size(), size);
  TensorType type = in[0];
  if (kind != "permute" && std::set<int64_t>(groups.begin(), groups.end()).size() != groups.size())
    invalid("collective: a device is in two places of the groups {}", dims_text(groups));
  if (kind == "all_reduce" || kind == "reduce_scatter") {
    if (const auto word = op_kind_of(op.word("combine")); !word || operands_of(*word) != 2)
      invalid("collective: results are combined by '{}'", op.word("combine"));
    Op combine;
    combine.kind = *op_kind_of(op.word("combine"));
    if (infer(combine, {type, type}) != Types{type}) invalid("collective: combined by '{}'", op.word("combine"));
    if (kind == "reduce_scatter") {
      const size_t d = axis(op, "dimension", type);
      type.dims[d] = divided(type, d, size);
    }
  } else if (kind == "all_gather") {
    type.dims[axis(op, "dimension", type)] *= size;
  } else if (kind == "all_to_all") {
    const size_t from = axis(op, "dimension", type), to = axis(op, "concat", type);
    type.dims[from] = divided(type, from, size);
    type.dims[to] *= size;
  } else if (kind == "permute") {  // each group is a source and its target
    if (size != 2) invalid("collective: pairs of {}", size);
  } else if (kind != "broadcast") {
    invalid("collective: '{}'", kind);
  }
  check_size(type);
  return {type};
}

Types infer_partition_id(const Op&, const Types&) { return {{ElementType::kU32, {}}}; }

}  // namespace weft::compiler::ir
