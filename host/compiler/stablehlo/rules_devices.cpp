// Operators of several devices: manual computations, and the collectives in them.
#include <algorithm>
#include <map>

#include "host/compiler/ir/devices.hpp"
#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/passes/rewriter.hpp"
#include "host/compiler/stablehlo/node.hpp"
#include "host/compiler/stablehlo/shardings.hpp"

namespace weft::compiler::stablehlo {
namespace {

/// A list of groups of devices.
struct Groups {
  Dims devices;
  int64_t size = 0;
};
Groups groups_of(const Node& node, const char* name) {
  const auto* attribute = node.find(name);
  if (attribute == nullptr || attribute->kind != Attribute::Kind::kTensor)
    ir::invalid("attribute '{}' is missing", name);
  const Dims dims = tensor_type(node.program, attribute->type).dims;
  if (dims.size() != 2) ir::invalid("attribute '{}' has {} dimensions", name, dims.size());
  const ir::TensorPtr tensor = tensor_of(node.program, *attribute);
  Groups groups{tensor->integers(), dims[1]};
  const uint64_t count = ir::count_of(dims);
  // Where groups are of different sizes, no device stands in the places that are left.
  if (std::ranges::any_of(groups.devices, [](int64_t device) { return device < 0; }))
    ir::unsupported("groups of devices of different sizes");
  // One entry for all: a device alone, or with itself.
  if (groups.devices.size() == 1) groups.devices.assign(std::min<uint64_t>(count, 2), groups.devices[0]);
  if (groups.devices.size() != count) ir::invalid("attribute '{}' has {} entries", name, groups.devices.size());
  return groups;
}

/// One collective for each operand. In groups of one device each has what it gives.
Values collective(Node& node, const std::string& kind, const Groups& groups, ir::Attributes more = {}) {
  if (groups.size == 1 && kind != "broadcast") return node.in;
  more["kind"] = kind;
  more["groups"] = groups.devices;
  more["group_size"] = groups.size;
  Values results;
  for (const ValueId x : node.in) results.push_back(node.b.add(OpKind::kCollective, {x}, more));
  return results;
}

/// The word for the region on scalars of the operands' elements.
std::string combine_of(Node& node) {
  if (node.in.empty()) ir::invalid("no operands");
  const ir::TensorType scalar{node.b.element(node.in[0]), {}};
  for (const ValueId x : node.in)
    if (node.b.element(x) != scalar.element) ir::unsupported("operands of different elements");
  const std::string word = operation_of(*node.scalar_region(0, {scalar, scalar}));
  if (word.empty() || word == "set") ir::unsupported("its region is no operation on its two arguments");
  return word;
}

/// A device's coordinates along some axes.
Dims along(const Mesh& mesh, const std::vector<size_t>& axes, int64_t device) {
  const Dims all = mesh.coordinates(device);
  Dims at;
  for (const size_t axis : axes) at.push_back(all[axis]);
  return at;
}

/// The sum of what devices have that differ along `axes` alone.
ValueId summed(ir::Builder& b, const Mesh& mesh, const std::vector<size_t>& axes, ValueId part) {
  std::map<Dims, std::map<Dims, int64_t>> groups;
  for (const int64_t device : mesh.devices) {
    Dims at = mesh.coordinates(device);
    for (const size_t axis : axes) at[axis] = 0;
    groups[at][along(mesh, axes, device)] = device;
  }
  Dims devices;
  for (const auto& [at, group] : groups)
    for (const auto& [place, device] : group) devices.push_back(device);
  const auto size = static_cast<int64_t>(devices.size() / groups.size());
  const char* combine = b.element(part) == ir::ElementType::kPred ? "or" : "add";
  return b.add(OpKind::kCollective, {part},
               {{"kind", std::string("all_reduce")},
                {"combine", std::string(combine)},
                {"groups", devices},
                {"group_size", size}});
}

/// A part of `whole` on each device, whose sum along `axes` it is: the first device has all of it, others zeros.
ValueId first_part(ir::Builder& b, const Mesh& mesh, const std::vector<size_t>& axes, ValueId whole) {
  Dims first(static_cast<size_t>(std::ranges::max(mesh.devices)) + 1);
  for (const int64_t device : mesh.devices)
    first[static_cast<size_t>(device)] = along(mesh, axes, device) == Dims(axes.size());
  const ValueId device = b.convert(b.add(OpKind::kPartitionId, {}, {}), ir::ElementType::kI32);
  const ValueId flag =
      b.add(OpKind::kDynamicSlice, {b.constant(ir::integers_tensor(ir::ElementType::kPred, first)), device},
            {{"slice_sizes", Dims{1}}});
  return b.select(b.broadcast_to(b.reshape(flag, {}), b.dims(whole)), whole, b.fill(b.type(whole), 0));
}

/// Axes of parts of a sum, of each argument and result of a manual computation.
using SumAxes = std::vector<std::vector<size_t>>;

/// The computation on whole arguments, with whole results, where it has parts of sums.
std::shared_ptr<const ir::Module> on_sums(const ir::Module& region, const Mesh& mesh, const SumAxes& in,
                                          const SumAxes& out) {
  passes::Rewriter rewriter(region);
  ir::Builder b(rewriter.to());
  for (const ir::Op& op : region.ops()) {
    rewriter.copy(op);
    if (op.kind != OpKind::kParameter) continue;
    const auto input = static_cast<size_t>(std::ranges::find(region.inputs, op.results[0]) - region.inputs.begin());
    if (input < in.size() && !in[input].empty())
      rewriter.replace(op, first_part(b, mesh, in[input], rewriter.value(op.results[0])));
  }
  ir::Module made = std::move(rewriter.to());
  ir::Builder behind(made);
  for (size_t i = 0; i < region.outputs.size(); i++) {
    const ValueId value = rewriter.value(region.outputs[i].value);
    const bool whole = i >= out.size() || out[i].empty();
    made.outputs.push_back({region.outputs[i].name, whole ? value : summed(behind, mesh, out[i], value)});
  }
  return std::make_shared<const ir::Module>(std::move(made));
}

}  // namespace

Values manual_computation(Node& node) {
  const auto *in = node.find("in_shardings"), *out = node.find("out_shardings"), *axes = node.find("manual_axes");
  for (const auto* list : {in, out, axes})
    if (list == nullptr || list->kind != Attribute::Kind::kArray) ir::invalid("shardings or axes are missing");
  if (in->elements.size() != node.in.size() || out->elements.size() != node.op.results.size())
    ir::invalid("{} operands and {} results with {} and {} shardings", node.in.size(), node.op.results.size(),
                in->elements.size(), out->elements.size());
  if (node.op.regions.size() != 1) ir::invalid("{} regions; it takes 1", node.op.regions.size());
  if (out->elements.empty() && in->elements.empty()) {
    if (node.around.calls(node.op.regions[0])) ir::unsupported("a callback in one without arguments and results");
    return {};
  }
  const AttributeIndex any = out->elements.empty() ? in->elements[0] : out->elements[0];
  const Mesh mesh = sharding_of(node.program, node.program.attributes[any]).mesh;
  std::vector<bool> manual(mesh.names.size());
  for (const AttributeIndex axis : axes->elements) manual[mesh.axis(node.program.attributes[axis].text)] = true;
  // The devices that differ along manual axes only; the others would compute the same.
  Dims ids;
  for (const int64_t device : mesh.devices) {
    const Dims at = mesh.coordinates(device);
    bool first = true;
    for (size_t a = 0; a < at.size(); a++) first = first && (manual[a] || at[a] == 0);
    if (first) ids.push_back(device);
  }
  Dims twins(mesh.devices.size(), -1);  // of each device, the place in ids of the one that computes the same
  for (const int64_t device : mesh.devices) {
    if (device < 0 || static_cast<size_t>(device) >= twins.size()) continue;
    Dims at = mesh.coordinates(device);
    for (size_t a = 0; a < at.size(); a++) at[a] = manual[a] ? at[a] : 0;
    const auto same = std::ranges::find_if(ids, [&](int64_t id) { return mesh.coordinates(id) == at; });
    if (same != ids.end()) twins[static_cast<size_t>(device)] = same - ids.begin();
  }
  const auto tiling = [&](AttributeIndex index) {
    const Sharding sharding = sharding_of(node.program, node.program.attributes[index]);
    if (sharding.mesh.names != mesh.names || sharding.mesh.devices != mesh.devices)
      ir::unsupported("shardings by several meshes");
    ir::Tiling made = tiling_of(sharding, ids, manual);
    made.part.clear();
    return made;
  };
  const auto sum_axes = [&](const std::vector<AttributeIndex>& shardings) {
    SumAxes axes;
    for (const AttributeIndex index : shardings) {
      axes.push_back(sharding_of(node.program, node.program.attributes[index]).unreduced);
      std::erase_if(axes.back(), [&](size_t axis) { return !manual[axis]; });
    }
    return axes;
  };
  std::vector<ir::Tiling> tilings;
  std::vector<ir::TensorType> locals;
  for (size_t i = 0; i < node.in.size(); i++) {
    tilings.push_back(tiling(in->elements[i]));
    locals.push_back(tilings[i].local(node.b.type(node.in[i])));
  }
  Region region = node.around.regions({&node.op.regions[0]}, locals)[0];
  if (node.op.results.empty() && !region.calls) return {};
  const SumAxes sums_in = sum_axes(in->elements), sums_out = sum_axes(out->elements);
  const auto none = [](const SumAxes& sums) {
    return std::ranges::all_of(sums, [](const auto& axes) { return axes.empty(); });
  };
  if (!none(sums_in) || !none(sums_out)) region.module = on_sums(*region.module, mesh, sums_in, sums_out);
  Values operands = node.in;
  give_token(node, region, operands);
  operands.insert(operands.end(), region.captured.begin(), region.captured.end());
  for (size_t i = node.in.size(); i < operands.size(); i++)
    tilings.push_back(ir::replicated(node.b.rank(operands[i]), ids.size()));
  for (const AttributeIndex index : out->elements) tilings.push_back(tiling(index));
  if (region.calls) tilings.push_back(ir::replicated(0, ids.size()));
  ir::Attributes attributes{{"ids", ids}, {"absolute", int64_t{!std::ranges::is_sorted(mesh.devices)}}};
  if (ids.size() != twins.size()) attributes["twins"] = twins;
  ir::set_tilings(attributes, tilings);
  return take_token(node, region,
                    node.b.add_with_regions(OpKind::kManual, operands, std::move(attributes), {region.module}));
}

Values all_reduce(Node& node) {
  return collective(node, "all_reduce", groups_of(node, "replica_groups"), {{"combine", combine_of(node)}});
}
Values reduce_scatter(Node& node) {
  return collective(node, "reduce_scatter", groups_of(node, "replica_groups"),
                    {{"combine", combine_of(node)}, {"dimension", node.integer("scatter_dimension")}});
}
Values all_gather(Node& node) {
  return collective(node, "all_gather", groups_of(node, "replica_groups"),
                    {{"dimension", node.integer("all_gather_dim")}});
}
Values all_to_all(Node& node) {
  return collective(node, "all_to_all", groups_of(node, "replica_groups"),
                    {{"dimension", node.integer("split_dimension")}, {"concat", node.integer("concat_dimension")}});
}
Values collective_permute(Node& node) {
  const Groups pairs = groups_of(node, "source_target_pairs");
  if (pairs.devices.empty()) {
    const ir::TensorType type = node.b.type(node.in.at(0));
    return {node.b.fill(type, 0)};
  }
  return collective(node, "permute", pairs);
}
Values collective_broadcast(Node& node) { return collective(node, "broadcast", groups_of(node, "replica_groups")); }

Values partition_id(Node& node) { return {node.b.add(OpKind::kPartitionId, {}, {})}; }
/// Programs have one replica.
Values replica_id(Node& node) { return {node.b.scalar(node.result_type().element, 0)}; }

}  // namespace weft::compiler::stablehlo
