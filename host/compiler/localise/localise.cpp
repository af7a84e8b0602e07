// Walks through a program of whole arrays and writes the program of a device.
#include "host/compiler/localise/localise.hpp"

#include <algorithm>
#include <cstring>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/localise/localiser.hpp"

namespace weft::compiler::localise {
namespace {

using ir::Dims;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

constexpr int kDeepest = 16;  // operators in one another that are made anew for each reader

bool has_manual(const Op& op) {
  return std::ranges::any_of(op.regions, [](const auto& region) {
    return std::ranges::any_of(region->ops(),
                               [](const Op& inner) { return inner.kind == OpKind::kManual || has_manual(inner); });
  });
}

/// For each device its place in the list of those that a manual computation runs on, or that of the device that computes
/// the same.
Dims places_in(const Op& manual, size_t devices) {
  const Dims& ids = manual.list("ids");
  Dims places(devices, -1);
  if (manual.attributes.contains("twins") && manual.list("twins").size() == devices) places = manual.list("twins");
  for (size_t i = 0; i < ids.size(); i++)
    if (ids[i] >= 0 && ids[i] < static_cast<int64_t>(devices))
      places[static_cast<size_t>(ids[i])] = static_cast<int64_t>(i);
  if (std::ranges::any_of(places,
                          [&](int64_t place) { return place < 0 || place >= static_cast<int64_t>(ids.size()); }))
    ir::unsupported("a manual computation over {} of {} devices", ids.size(), devices);
  return places;
}

/// How the operands lie, then how the results do.
std::vector<Shards> shards_of_manual(const Op& op, const ir::Module& around, size_t devices) {
  const Dims place_of = places_in(op, devices);
  std::vector<size_t> ranks;
  for (const ValueId value : op.operands) ranks.push_back(around.type(value).rank());
  for (const ValueId value : op.results) ranks.push_back(around.type(value).rank());
  std::vector<Shards> lying;
  for (const auto& tiling : ir::tilings_of(op, ranks)) {  // places are in the order of the ids
    ir::Tiling by_device{tiling.tiles, {}};
    for (const int64_t place : place_of) by_device.place.push_back(tiling.place[static_cast<size_t>(place)]);
    lying.push_back(shards_of(by_device));
  }
  return lying;
}

/// The element that all are. Null: they differ.
ir::TensorPtr one_element(const ir::Tensor& tensor) {
  const size_t bytes = ir::bytes_of(tensor.type.element);
  if (tensor.data.empty()) return nullptr;
  for (size_t at = bytes; at < tensor.data.size(); at += bytes)
    if (std::memcmp(&tensor.data[at], tensor.data.data(), bytes) != 0) return nullptr;
  auto one = std::make_shared<ir::Tensor>(ir::TensorType{tensor.type.element, {}});
  std::memcpy(one->data.data(), tensor.data.data(), bytes);
  return one;
}

}  // namespace

Localiser::Localiser(const ir::Module& from, size_t devices, const Localiser* around)
    : from_(from),
      devices_(devices),
      nested_(around != nullptr),
      b_(made_.module),
      forms_(from.values().size()),
      free_(from.values().size()) {
  made_.module.name = from.name;
  if (around != nullptr) weights_ = around->weights_;
}

Localiser& Localiser::enter(const std::vector<Shards>& inputs) {
  for (size_t i = 0; i < from_.inputs.size(); i++) {
    const ValueId input = from_.inputs[i];
    const ValueId local = made_.module.add_parameter(from_.input_name(input),
                                                     {from_.type(input).element, local_dims(dims(input), inputs[i])});
    define(input, inputs[i], local);
  }
  find_free();
  return *this;
}

Localiser& Localiser::walk() {
  for (const auto& op : from_.ops()) localise_op(op);
  return *this;
}

std::vector<Shards> Localiser::outputs() const {
  std::vector<Shards> lying;
  for (const auto& output : from_.outputs) lying.push_back(shards(output.value));
  return lying;
}

LocalProgram Localiser::leave(const std::vector<Shards>& outputs) {
  for (size_t i = 0; i < from_.outputs.size(); i++) {
    ValueId local = need(from_.outputs[i].value, outputs[i]);
    if (const auto sum = left_sums_.find(i); sum != left_sums_.end()) {
      const ValueId first =
          b_.compare("eq", scalar_of_device(ir::ElementType::kI32, sum->second), b_.scalar(ir::ElementType::kI32, 0));
      local = b_.select(b_.broadcast_to(first, b_.dims(local)), local, b_.fill(b_.type(local), 0));
    }
    made_.module.outputs.push_back({from_.outputs[i].name, local});
  }
  return std::move(made_);
}

void Localiser::sum_input(size_t input, const Dims& part) {
  const ValueId value = from_.inputs[input];
  const bool truth = from_.type(value).element == ir::ElementType::kPred;
  Form& form = forms_[index_of(value)].at(0);
  form.local = all_reduce(form.local, truth ? "or" : "add", form.shards, {{*std::ranges::max_element(part) + 1, part}});
  summed_.insert(value);
}

void Localiser::count_replicated(const std::map<std::string, uint64_t>& inside) {
  for (const auto& [kind, count] : inside) made_.replicated[kind] += count;
}

void Localiser::localise_op(const Op& op) {
  if (op.kind == OpKind::kParameter || is_free(op.results[0])) return;
  b_.origin = op.origin;
  if (op.kind == OpKind::kManual) return inline_manual(op);
  const bool manual = has_manual(op);
  if (op.kind == OpKind::kWhile && loop_by_rule(*this, op, manual)) return;
  if (op.kind == OpKind::kCase && branches_by_rule(*this, op, manual)) return;
  if (manual) ir::unsupported("a manual computation in the region of {}", name_of(op.kind));
  if (ir::reads_outside(op)) ir::unsupported("{} outside of a manual computation", name_of(op.kind));
  if (!by_rule(*this, op)) replicate(op);
}

void Localiser::replicate(const Op& op) {
  std::vector<ValueId> operands;
  bool parts = false;
  for (const ValueId value : op.operands) {
    parts = parts || !is_whole(shards(value));
    operands.push_back(need(value, whole(dims(value).size())));
  }
  if (parts) made_.replicated[std::string(name_of(op.kind))]++;
  const ValueId first = add(op, operands);
  const auto results = made_.module.op_of(first).results;
  for (size_t i = 0; i < results.size(); i++) define(op.results[i], whole(dims(op.results[i]).size()), results[i]);
}

void Localiser::inline_manual(const Op& op) {
  const auto lying = shards_of_manual(op, from_, devices_);
  std::vector<ValueId> operands;
  for (size_t i = 0; i < op.operands.size(); i++) operands.push_back(need(op.operands[i], lying[i]));
  const auto results = inlined(op, operands);
  for (size_t i = 0; i < op.results.size(); i++) define(op.results[i], lying[op.operands.size() + i], results[i]);
}

std::vector<ValueId> Localiser::inlined(const Op& op, const std::vector<ValueId>& operands) {
  alike_.push_back({static_cast<int64_t>(op.list("ids").size()), places_in(op, devices_)});
  auto results = on_parts(*op.regions[0], operands);
  alike_.pop_back();
  return results;
}

/// Operators of a manual computation are those of each device already.
std::vector<ValueId> Localiser::on_parts(const ir::Module& region, const std::vector<ValueId>& operands) {
  std::vector<ValueId> values(region.values().size());
  for (size_t i = 0; i < region.inputs.size(); i++) values[index_of(region.inputs[i])] = operands[i];
  Dims numbers;
  for (size_t device = 0; device < devices_; device++) numbers.push_back(static_cast<int64_t>(device));
  for (const Op& inner : region.ops()) {
    if (inner.kind == OpKind::kParameter) continue;
    if (inner.kind == OpKind::kPartitionId) {
      values[index_of(inner.results[0])] = scalar_of_device(ir::ElementType::kU32, numbers);
      continue;
    }
    std::vector<ValueId> given, results;
    for (const ValueId value : inner.operands) given.push_back(values[index_of(value)]);
    if (inner.kind == OpKind::kManual) {
      results = nested(inner, region, std::move(given));
    } else if (has_manual(inner)) {
      std::vector<LocalProgram> regions;
      for (const auto& inside : inner.regions) regions.push_back(region_on_parts(*inside));
      results = add_with_regions(inner, std::move(given), std::move(regions));
    } else {
      ir::Attributes more;
      if (inner.kind == OpKind::kCollective && together_) more["together"] = int64_t{1};
      const ValueId first = add(inner, given, std::move(more));
      results = made_.module.op_of(first).results;
    }
    for (size_t i = 0; i < results.size(); i++) values[index_of(inner.results[i])] = results[i];
  }
  std::vector<ValueId> results;
  for (const auto& output : region.outputs) results.push_back(values[index_of(output.value)]);
  return results;
}

/// Devices may come to what is in a loop or a branch of a manual computation at other times, or never.
LocalProgram Localiser::region_on_parts(const ir::Module& region) const {
  Localiser inside(region, devices_, this);
  inside.alike_ = alike_;
  inside.together_ = false;
  ir::Module& module = inside.made_.module;
  std::vector<ValueId> inputs;
  for (const ValueId input : region.inputs)
    inputs.push_back(module.add_parameter(region.input_name(input), region.type(input)));
  const auto results = inside.on_parts(region, inputs);
  for (size_t i = 0; i < results.size(); i++) module.outputs.push_back({region.outputs[i].name, results[i]});
  return std::move(inside.made_);
}

/// Devices that do the same in the computation around share what it does with its axes: they cut its values further.
std::vector<ValueId> Localiser::nested(const Op& op, const ir::Module& around, std::vector<ValueId> operands) {
  const auto lying = shards_of_manual(op, around, devices_);
  for (size_t i = 0; i < operands.size(); i++) operands[i] = cut(operands[i], whole(lying[i].size()), lying[i]);
  auto results = inlined(op, operands);
  for (size_t i = 0; i < results.size(); i++) {
    Shards have = lying[operands.size() + i];
    results[i] = gathered(results[i], have, whole(have.size()));
  }
  return results;
}

void Localiser::find_free() {
  for (const auto& op : from_.ops()) {
    if (op.results.size() != 1) continue;
    int& depth = free_[index_of(op.results[0])];
    if (op.kind == OpKind::kConstant || op.kind == OpKind::kIota) depth = 1;
    const bool elementwise = (op.kind > OpKind::kIota && op.kind <= OpKind::kConvert && op.regions.empty());
    if (!elementwise && op.kind != OpKind::kBroadcast) continue;
    int deepest = 0;
    for (const ValueId value : op.operands) {
      if (!is_free(value)) deepest = kDeepest;
      deepest = std::max(deepest, free_[index_of(value)]);
    }
    if (deepest < kDeepest) depth = deepest + 1;
  }
}

Shards Localiser::shards(ValueId value) const {
  const auto& forms = forms_[index_of(value)];
  return forms.empty() || is_free(value) ? whole(dims(value).size()) : forms.front().shards;
}

void Localiser::define(ValueId value, Shards shards, ValueId local) {
  forms_[index_of(value)].push_back({std::move(shards), local});
}

bool Localiser::take(std::vector<Cut>& chosen, const Cut& cut) const {
  if (cut.whole()) return false;
  chosen.push_back(cut);
  if (complete(chosen, devices_)) return true;
  chosen.pop_back();
  return false;
}

ValueId Localiser::add(const Op& op, const std::vector<ValueId>& operands, ir::Attributes more) {
  Op copy = op;
  copy.operands = operands;
  copy.results.clear();
  for (auto& [name, value] : more) copy.attributes[name] = std::move(value);
  return made_.module.add(std::move(copy));
}

ValueId Localiser::collective(ValueId local, const DeviceGroups& groups, ir::Attributes attributes) {
  attributes["groups"] = groups.devices;
  attributes["group_size"] = groups.size;
  if (together_) attributes["together"] = int64_t{1};
  return b_.add(OpKind::kCollective, {local}, std::move(attributes));
}

ValueId Localiser::all_reduce(ValueId local, const std::string& combine, const std::vector<Cut>& kept,
                              const std::vector<Cut>& moved) {
  const DeviceGroups groups = groups_along(kept, moved, devices_);
  if (groups.size == 1) return local;
  return collective(local, groups, {{"kind", std::string("all_reduce")}, {"combine", combine}});
}

ValueId Localiser::reduce_scatter(ValueId local, const std::vector<Cut>& kept, const Cut& moved, size_t dimension) {
  return collective(local, groups_along(kept, {moved}, devices_),
                    {{"kind", std::string("reduce_scatter")},
                     {"combine", std::string("add")},
                     {"dimension", static_cast<int64_t>(dimension)}});
}

ValueId Localiser::extra(Extra extra, const ir::TensorType& whole) {
  const ValueId local =
      made_.module.add_parameter(fmt::format("extra {}", made_.extras.size()), extra.tiling.local(whole));
  made_.extras.push_back(std::move(extra));
  return local;
}

ValueId Localiser::scalar_of_device(ir::ElementType element, const Dims& values) {
  Dims key = values;
  key.push_back(static_cast<int64_t>(element));
  if (const auto found = scalars_.find(key); found != scalars_.end()) return found->second;
  ir::Tiling tiling = ir::replicated(1, devices_);
  tiling.tiles[0] = static_cast<int64_t>(devices_);
  for (size_t device = 0; device < devices_; device++) tiling.place[device][0] = static_cast<int64_t>(device);
  const ir::TensorPtr constant = ir::integers_tensor(element, values);
  const ValueId one = extra({std::nullopt, constant, tiling}, constant->type);
  return scalars_[key] = b_.reshape(one, {});
}

std::optional<ValueId> Localiser::made_anew(ValueId value, const Shards& wanted) {
  const Op& op = from_.op_of(value);
  const ir::TensorType& type = from_.type(value);
  if (op.kind == OpKind::kConstant) {
    if (is_whole(wanted)) return b_.constant(op.constant);
    if (const auto one = one_element(*op.constant))
      return b_.broadcast_to(b_.constant(one), local_dims(type.dims, wanted));
    return extra({std::nullopt, op.constant, tiling_of(wanted, devices_)}, type);
  }
  if (op.kind == OpKind::kParameter && !nested_ && !summed_.contains(value) && is_whole(shards(value)) &&
      !is_whole(wanted)) {
    const auto input = std::ranges::find(from_.inputs, value) - from_.inputs.begin();
    return extra({static_cast<size_t>(input), nullptr, tiling_of(wanted, devices_)}, type);
  }
  if (op.kind == OpKind::kBroadcast) {
    const Dims& where = op.list("dimensions");
    Shards operand = whole(where.size());
    for (size_t i = 0; i < where.size(); i++)
      if (dims(op.operands[0])[i] == type.dims[static_cast<size_t>(where[i])])
        operand[i] = wanted[static_cast<size_t>(where[i])];
    return add(op, {need(op.operands[0], operand)}, {{"dims", local_dims(type.dims, wanted)}});
  }
  if (!is_free(value)) return std::nullopt;
  if (op.kind == OpKind::kIota) {
    const Dims local = local_dims(type.dims, wanted);
    const ValueId numbers = add(op, {}, {{"dims", local}});
    const auto d = static_cast<size_t>(op.integer("dimension"));
    if (wanted[d].whole()) return numbers;
    Dims first;
    for (const int64_t place : wanted[d].place) first.push_back(place * local[d]);
    return b_.plus(numbers, b_.broadcast_to(scalar_of_device(type.element, first), local));
  }
  std::vector<ValueId> operands;  // element by element
  for (const ValueId operand : op.operands) operands.push_back(need(operand, wanted));
  return add(op, operands);
}

ValueId Localiser::gathered(ValueId local, Shards& have, const Shards& wanted) {
  for (size_t d = 0; d < have.size(); d++) {
    if (have[d].whole() || have[d] == wanted[d]) continue;
    const auto within = finer(have[d], wanted[d]);
    const Cut moved = within ? *within : have[d];
    have[d] = within ? wanted[d] : Cut{};
    std::vector<Cut> kept = have;
    kept.insert(kept.end(), alike_.begin(), alike_.end());
    const DeviceGroups groups = groups_along(kept, {moved}, devices_);
    local = collective(local, groups, {{"kind", std::string("all_gather")}, {"dimension", static_cast<int64_t>(d)}});
  }
  return local;
}

ValueId Localiser::cut(ValueId local, const Shards& have, const Shards& wanted) {
  if (have == wanted) return local;
  std::vector<ValueId> operands{local};
  Dims sizes = b_.dims(local);
  for (size_t d = 0; d < have.size(); d++) {
    Dims first(devices_);
    if (have[d] != wanted[d]) {
      if (sizes[d] % wanted[d].parts != 0)
        ir::unsupported("{} in {} parts along dimension {}", b_.type(local).text(), wanted[d].parts, d);
      sizes[d] /= wanted[d].parts;
      for (size_t device = 0; device < devices_; device++) first[device] = wanted[d].place[device] * sizes[d];
    }
    operands.push_back(have[d] == wanted[d] ? b_.scalar(ir::ElementType::kI32, 0)
                                            : scalar_of_device(ir::ElementType::kI32, first));
  }
  return b_.add(OpKind::kDynamicSlice, operands, {{"slice_sizes", sizes}});
}

ValueId Localiser::need(ValueId value, const Shards& wanted) {
  auto& forms = forms_[index_of(value)];
  for (const auto& form : forms)
    if (form.shards == wanted) return form.local;
  const auto anew = made_anew(value, wanted);
  if (anew) {
    define(value, wanted, *anew);
    return *anew;
  }
  Shards have = forms.at(0).shards;
  ValueId local = gathered(forms[0].local, have, wanted);
  if (have != forms[0].shards) define(value, have, local);
  local = cut(local, have, wanted);
  if (have != wanted) define(value, wanted, local);
  return local;
}

Result<LocalProgram> localise(const ir::Module& module, const std::vector<ir::Tiling>& inputs,
                              const std::vector<ir::Tiling>& outputs, size_t devices, const WeightTiling& weights,
                              const std::vector<bool>& open) {
  return ir::guarded([&] {
    std::vector<Shards> given, wanted;
    for (const auto& tiling : inputs) given.push_back(shards_of({tiling.tiles, tiling.place}));
    for (const auto& tiling : outputs) wanted.push_back(shards_of({tiling.tiles, tiling.place}));
    Localiser program(module, devices);
    program.cut_weights(weights);
    program.enter(given);
    for (size_t i = 0; i < inputs.size(); i++)
      if (!inputs[i].part.empty()) program.sum_input(i, inputs[i].part);
    for (size_t i = 0; i < outputs.size(); i++)
      if (!outputs[i].part.empty()) program.leave_sum(i, outputs[i].part);
    program.walk();
    const auto lying = program.outputs();
    std::vector<ir::Tiling> tilings = outputs;
    for (size_t i = 0; i < std::min(open.size(), lying.size()); i++) {
      if (!open[i]) continue;
      wanted[i] = lying[i];
      tilings[i] = tiling_of(lying[i], devices);
    }
    LocalProgram made = program.leave(wanted);
    made.outputs = std::move(tilings);
    return made;
  });
}

}  // namespace weft::compiler::localise
