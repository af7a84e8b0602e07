// Operators that hang together are device programs; a stage of them, an island, the next stage.
#include "host/compiler/partition/partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "host/compiler/partition/around_collectives.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/partition/value_views.hpp"

namespace weft::compiler {
namespace {

using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

constexpr const char* kNotWorthIt = "no product and no random bits beside it";

/// Sets of operators that grow together.
class Groups {
 public:
  explicit Groups(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<size_t> parent_;
};

class Partitioning {
 public:
  Partitioning(const Module& module, Device device, const Cuts& cuts, const DeviceSlice* slice)
      : module_(module), before_(cuts.before), slice_(slice), around_(module, {}), uses_(module.ops().size()) {
    for (uint32_t i = 0; i < uses_.size(); i++) {
      auto verdict = use_of(i, device, cuts.scope);
      uses_[i] = verdict.use;
      if (verdict.use == DeviceUse::kNone) result_.reasons[i] = std::move(verdict.reason);
    }
    if (device == Device::kNone)
      for (uint32_t i = 0; i < uses_.size(); i++) to_host(i, "no device is asked for");
  }

  Result<Partition> run() {
    keep_what_is_worth_it();
    around_ = AroundCollectives(module_, long_collectives());
    const auto stages = stages_of();
    const uint32_t last = stages.empty() ? 0 : *std::ranges::max_element(stages);
    for (uint32_t stage = 0; stage <= last; stage++) {
      Part part;
      for (uint32_t i = 0; i < stages.size(); i++)
        if (stages[i] == stage && module_.ops()[i].kind != OpKind::kParameter && uses_[i] != DeviceUse::kOperand)
          part.ops.push_back(i);
      if (stage == 0)
        for (const auto& output : module_.outputs)  // an output that is a constant has no other reader
          if (const uint32_t op = module_.value(output.value).op; uses_[op] == DeviceUse::kOperand)
            part.ops.push_back(op);
      std::ranges::sort(part.ops);
      part.ops.erase(std::ranges::unique(part.ops).begin(), part.ops.end());
      if (stage % 2 == 1) add_what_stands_alone(part);
      const bool device = stage % 2 == 1;
      const auto pieces = device ? pieces_of(part.ops) : std::vector<std::vector<uint32_t>>{part.ops};
      for (const auto& ops : pieces) {
        // What a group has in one stage can be without a product of its own; a piece that was cut off needs one, except
        // beside collectives, where it is part of a launch.
        const bool worth_it = pieces.size() == 1 || !around_.empty() ||
                              std::ranges::any_of(ops, [&](uint32_t op) { return is_worth_a_launch(op); });
        if (auto status = add_part(ops, device, worth_it); !status.ok()) return status.error();
      }
    }
    return std::move(result_);
  }

 private:
  DeviceVerdict use_of(uint32_t i, Device device, DeviceScope scope) {
    const Op& op = module_.ops()[i];
    if (op.kind == OpKind::kCollective && device != Device::kNone && slice_ != nullptr) {
      auto collective = device_collective(module_, op, *slice_);
      if (!collective.ok()) return {DeviceUse::kNone, collective.error().message};
      collectives_.emplace(i, std::move(collective.value()));
      return {DeviceUse::kCollective, ""};
    }
    if (op.kind != OpKind::kWhile || device == Device::kNone || scope != DeviceScope::kAll)
      return device_use(module_, op, scope);
    auto loop = device_loop(module_, op);
    if (!loop.ok()) return {DeviceUse::kNone, loop.error().message};
    loops_.emplace(i, std::move(loop.value()));
    return {DeviceUse::kLoop, ""};
  }

  /// Collectives of the device that a program beside them would hide.
  [[nodiscard]] std::vector<uint32_t> long_collectives() const {
    std::vector<uint32_t> found;
    for (const auto& [op, collective] : collectives_)
      if (on_device(op) && is_long(module_, module_.ops()[op], *slice_)) found.push_back(op);
    return found;
  }

  /// What no program has together.
  [[nodiscard]] std::vector<std::vector<uint32_t>> pieces_of(const std::vector<uint32_t>& ops) const {
    std::vector<std::vector<uint32_t>> pieces;
    for (const auto& group :
         around_.empty() ? std::vector<std::vector<uint32_t>>{ops}
                         : around_.groups(
                               ops, [&](uint32_t op) { return is_worth_a_launch(op); },
                               [&](uint32_t op) { return moves_to_known_places(module_, module_.ops()[op]); })) {
      auto last = before_.end();
      bool fresh = true;
      for (const uint32_t op : group) {
        const auto next = before_.upper_bound(op);
        if (fresh || next != last) pieces.emplace_back();
        fresh = false;
        last = next;
        pieces.back().push_back(op);
      }
    }
    return pieces;
  }

  Status add_part(std::vector<uint32_t> ops, bool device, bool worth_it) {
    if (ops.empty()) return Ok{};
    if (device && !worth_it) {
      device = false;
      for (const uint32_t op : ops) result_.reasons[op] = kNotWorthIt;
    }
    Part part;
    part.ops = std::move(ops);
    find_borders(part);
    if (device) {
      std::vector<ir::Output> inputs, outputs;
      for (const auto value : part.inputs) inputs.push_back({name_of_value(value), value});
      for (const auto value : part.outputs) outputs.push_back({name_of_value(value), value});
      auto graph = device_graph(module_, part.ops, inputs, outputs);
      if (!graph.ok()) return graph.error();
      part.graph = std::move(graph.value());
    }
    add_constants(part);
    result_.parts.push_back(std::move(part));
    return Ok{};
  }

  /// Takes loops and collectives out of the part and makes each one of its own.
  void add_what_stands_alone(Part& part) {
    const auto rest = std::ranges::stable_partition(part.ops, [&](uint32_t op) { return !stands_alone(op); });
    for (const uint32_t op : rest) {
      const Op& loop = module_.ops()[op];
      Part own;
      own.ops = {op};
      if (!is_loop(op)) {
        own.collective = collectives_.at(op);
        own.is_long = !around_.empty() && is_long(module_, loop, *slice_);
        own.inputs = loop.operands, own.outputs = loop.results;
        result_.parts.push_back(std::move(own));
        continue;
      }
      own.loop = std::move(loops_.at(op));
      own.graph = own.loop->signature();
      for (const size_t i : own.loop->operands()) own.inputs.push_back(loop.operands[i]);
      for (const size_t i : own.loop->results()) own.outputs.push_back(loop.results[i]);
      result_.parts.push_back(std::move(own));
    }
    part.ops.erase(rest.begin(), rest.end());
  }

  void to_host(uint32_t op, const char* reason) {
    if (uses_[op] == DeviceUse::kOperand || uses_[op] == DeviceUse::kNone) return;
    uses_[op] = DeviceUse::kNone;
    result_.reasons[op] = reason;
  }
  [[nodiscard]] bool on_device(uint32_t op) const {
    return uses_[op] != DeviceUse::kNone && uses_[op] != DeviceUse::kOperand;
  }

  [[nodiscard]] bool is_loop(uint32_t op) const { return uses_[op] == DeviceUse::kLoop; }
  [[nodiscard]] bool stands_alone(uint32_t op) const { return is_loop(op) || uses_[op] == DeviceUse::kCollective; }

  /// What a device program is made for.
  [[nodiscard]] bool is_worth_a_launch(uint32_t i) const {
    const Op& op = module_.ops()[i];
    const bool shifts = op.kind == OpKind::kShiftLeft || op.kind == OpKind::kShiftRight;
    return uses_[i] == DeviceUse::kProduct || is_loop(i) ||
           (shifts && on_device(i) && module_.type(op.results[0]).count() >= kWorthALaunch);
  }

  void keep_what_is_worth_it() {
    Groups groups(uses_.size());
    for (uint32_t i = 0; i < uses_.size(); i++)
      for (const auto operand : module_.ops()[i].operands)
        if (const uint32_t before = module_.value(operand).op;
            on_device(i) && on_device(before) && !is_loop(i) && !is_loop(before))
          groups.join(before, i);
    std::set<size_t> worth_it;
    for (uint32_t i = 0; i < uses_.size(); i++)
      if (is_worth_a_launch(i)) worth_it.insert(groups.find(i));
    for (uint32_t i = 0; i < uses_.size(); i++)
      if (on_device(i) && !worth_it.contains(groups.find(i))) to_host(i, kNotWorthIt);
  }

  /// Even: of the host; odd: of the device. An operator comes no earlier than what it reads, and a loop or a collective
  /// and what reads it are in different stages.
  [[nodiscard]] std::vector<uint32_t> stages_of() const {
    std::vector<uint32_t> stages(uses_.size());
    for (uint32_t i = 0; i < uses_.size(); i++) {
      for (const auto operand : module_.ops()[i].operands)
        stages[i] = std::max(stages[i], stage_behind(stages, module_.value(operand).op, i));
      const bool free = module_.ops()[i].kind == OpKind::kParameter || uses_[i] == DeviceUse::kOperand;
      if (!free && (stages[i] % 2 == 1) != on_device(i)) stages[i]++;
    }
    return stages;
  }

  [[nodiscard]] uint32_t stage_behind(const std::vector<uint32_t>& stages, uint32_t before, uint32_t op) const {
    return stages[before] + (on_device(before) && (stands_alone(before) || stands_alone(op)) ? 1 : 0);
  }

  /// What the part reads from outside, and what others read of it. Constants join the part of their reader.
  void find_borders(Part& part) const {
    const std::set<uint32_t> own(part.ops.begin(), part.ops.end());
    std::set<ValueId> inputs, outputs;
    for (const uint32_t i : part.ops)
      for (const auto operand : module_.ops()[i].operands)
        if (const uint32_t from = module_.value(operand).op; !own.contains(from) && uses_[from] != DeviceUse::kOperand)
          inputs.insert(operand);
    for (uint32_t i = 0; i < module_.ops().size(); i++)
      if (!own.contains(i))
        for (const auto operand : module_.ops()[i].operands)
          if (own.contains(module_.value(operand).op)) outputs.insert(operand);
    for (const auto& output : module_.outputs)
      if (own.contains(module_.value(output.value).op)) outputs.insert(output.value);
    part.inputs.assign(inputs.begin(), inputs.end());
    part.outputs.assign(outputs.begin(), outputs.end());
  }

  /// The constants that the part reads, and what repeats them.
  void add_constants(Part& part) const {
    std::set<uint32_t> ops(part.ops.begin(), part.ops.end());
    for (size_t i = part.ops.size(); i-- > 0;) add_constants_of(part.ops[i], ops);
    part.ops.assign(ops.begin(), ops.end());
  }
  void add_constants_of(uint32_t op, std::set<uint32_t>& ops) const {
    for (const auto operand : module_.ops()[op].operands)
      if (const uint32_t from = module_.value(operand).op; uses_[from] == DeviceUse::kOperand) {
        ops.insert(from);
        add_constants_of(from, ops);
      }
  }

  [[nodiscard]] std::string name_of_value(ValueId value) const {
    for (const auto& output : module_.outputs)
      if (output.value == value) return output.name;
    const Op& op = module_.op_of(value);
    return op.kind == OpKind::kParameter ? op.word("name") : fmt::format("%{}", index_of(value));
  }

  const Module& module_;
  const std::set<uint32_t>& before_;
  const DeviceSlice* const slice_;
  AroundCollectives around_;
  std::vector<DeviceUse> uses_;
  std::map<uint32_t, DeviceLoop> loops_;        ///< by operator
  std::map<uint32_t, Collective> collectives_;  ///< by operator
  Partition result_;
};

}  // namespace

Result<Partition> partition(const Module& module, Device device, const Cuts& cuts, const DeviceSlice* slice) {
  return Partitioning(module, device, cuts, slice).run();
}

void leave_to_host(Partition& partition, size_t part, const std::string& reason) {
  partition.parts[part].graph.reset();
  partition.parts[part].loop.reset();
  partition.parts[part].collective.reset();
  for (const uint32_t op : partition.parts[part].ops) partition.reasons[op] = reason;
}

std::vector<std::vector<size_t>> launches_of(const Partition& partition) {
  const auto& parts = partition.parts;
  std::map<ValueId, size_t> made;  // values -> part
  for (size_t i = 0; i < parts.size(); i++)
    for (const auto value : parts[i].outputs) made[value] = i;
  // Even: of the host; odd: of the device, where parts of one level follow each other without the host.
  const auto joins = [&](size_t i) { return parts[i].on_device() && !parts[i].loop; };
  std::vector<size_t> levels(parts.size());
  for (size_t i = 0; i < parts.size(); i++) {
    levels[i] = parts[i].on_device() ? 1 : 0;
    for (const auto value : parts[i].inputs) {
      const auto found = made.find(value);
      if (found == made.end() || found->second == i) continue;
      const size_t before = levels[found->second];
      const bool together = joins(found->second) && joins(i);
      const bool host = !parts[found->second].on_device() && !parts[i].on_device();
      levels[i] = std::max(levels[i], before + (together || host ? 0 : parts[i].on_device() ? 1 + before % 2 : 1));
    }
  }
  std::vector<std::vector<size_t>> launches;
  for (size_t level = 0, last = parts.empty() ? 0 : *std::ranges::max_element(levels); level <= last; level++) {
    std::vector<size_t> together;
    bool exchanges = false;
    for (size_t i = 0; i < parts.size(); i++) {
      if (levels[i] != level) continue;
      if (!joins(i)) launches.push_back({i});
      if (joins(i)) together.push_back(i);
      exchanges = exchanges || parts[i].collective;
    }
    if (exchanges) launches.push_back(std::move(together));
    if (!exchanges)
      for (const size_t i : together) launches.push_back({i});
  }
  return launches;
}

}  // namespace weft::compiler
