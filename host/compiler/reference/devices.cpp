// Operators of several devices: a thread for each device, which meet where they exchange values.
#include "host/compiler/ir/devices.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/reference/callbacks.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "host/compiler/reference/exchange.hpp"
#include "host/compiler/reference/region.hpp"

namespace weft::compiler::reference {
namespace {

using ir::Dims;
using ir::OpKind;
using ir::TensorPtr;

/// Where the devices of one manual operator exchange values. All devices run the same region, so the n-th exchange of a
/// group is the same operator's on each of them; a device that has ended ends those that wait for it.
class Meeting {
 public:
  explicit Meeting(const Dims& ids) : ids_(ids.begin(), ids.end()) {}

  /// The values of the group's devices, in its order. Blocks until all of them have come.
  std::vector<TensorPtr> exchange(const Dims& group, int64_t id, TensorPtr value) {
    for (const int64_t device : group)
      if (!ids_.contains(device))
        ir::unsupported("collective: device {} is none of the {} that run", device, ids_.size());
    std::unique_lock lock(mutex_);
    const uint64_t turn = turns_[{group, id}]++;
    auto& place = places_[{group, turn}];
    place.values[id] = std::move(value);
    changed_.notify_all();
    changed_.wait(lock, [&] {
      return place.values.size() == group.size() ||
             std::ranges::any_of(group, [&](int64_t d) { return ended_.contains(d) && !place.values.contains(d); });
    });
    if (place.values.size() != group.size()) ir::invalid("collective: device {} waits for one that has ended", id);
    std::vector<TensorPtr> values;
    for (const int64_t device : group) values.push_back(place.values.at(device));
    if (++place.left == group.size()) places_.erase({group, turn});
    return values;
  }
  void end(int64_t id) {
    const std::lock_guard lock(mutex_);
    ended_.insert(id);
    changed_.notify_all();
  }

 private:
  struct Place {
    std::map<int64_t, TensorPtr> values;
    size_t left = 0;
  };
  const std::set<int64_t> ids_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<Dims, int64_t>, uint64_t> turns_;
  std::map<std::pair<Dims, uint64_t>, Place> places_;
  std::set<int64_t> ended_;
};

/// The device that this thread stands for, and who brings it to the others.
struct Instance {
  Meeting* meeting = nullptr;
  int64_t id = 0;
  Exchange* exchange = nullptr;
};
thread_local Instance current;

/// Runs the region on each device's tiles; the first refusal, if there is one.
std::optional<Error> run_all(const ir::Op& op, const Dims& ids, const std::vector<Operands>& inputs,
                             std::vector<Results>& results) {
  Dims own = ids;  // within another manual operator: counted from the device that runs it
  if (current.meeting != nullptr && op.integer("absolute") != 0)
    ir::unsupported("manual: devices in another order than the mesh's, within another manual operator");
  for (auto& id : own) id += current.id;
  Meeting meeting(own);
  std::vector<std::optional<Error>> errors(ids.size());
  const auto run = [&, calls = Callbacks::of_thread()](size_t device) {
    current = {&meeting, own[device], nullptr};
    const Callbacks::Scope scope(calls);
    try {
      results[device] = Runner(*op.regions[0]).run(inputs[device]);
    } catch (const ir::Refusal& refusal) {
      errors[device] = refusal.error;
    } catch (const std::bad_alloc&) {
      errors[device] = Error{WEFT_ERROR_NO_HOST_MEMORY, "the host has no memory left"};
    } catch (const std::exception& error) {
      errors[device] = Error{WEFT_ERROR_INTERNAL, error.what()};
    }
    meeting.end(own[device]);
  };
  std::vector<std::thread> threads;
  for (size_t device = 0; device < ids.size(); device++) threads.emplace_back(run, device);
  for (auto& thread : threads) thread.join();
  // A device that waits for one that has failed is not the cause.
  std::optional<Error> first;
  for (const auto& error : errors)
    if (error && (!first || first->message.find("waits for one") != std::string::npos)) first = error;
  return first;
}

/// The group that this device is in; empty: in none.
Dims group_of(const ir::Op& op, int64_t id) {
  const Dims& groups = op.list("groups");
  const auto size = static_cast<std::ptrdiff_t>(op.integer("group_size"));
  for (auto at = groups.begin(); at != groups.end(); at += size)
    if (std::find(at, at + size, id) != at + size) return {at, at + size};
  return {};
}

/// A target of a permutation has its source's value, another device zeros.
TensorPtr permuted(const ir::Op& op, const TensorPtr& value) {
  const Dims& pairs = op.list("groups");
  TensorPtr result = make(value->type);
  // Every device sends before it receives, pair by pair in one order, so no two wait for each other.
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const int64_t source = pairs[i], target = pairs[i + 1];
    if (current.id != source && current.id != target) continue;
    const Dims pair = source == target ? Dims{source} : Dims{source, target};
    const auto values = current.meeting->exchange(pair, current.id, value);
    if (current.id == target) result = values[0];
  }
  return result;
}

}  // namespace

OnDevice::OnDevice(Exchange& exchange, int64_t id) { current = {nullptr, id, &exchange}; }
OnDevice::~OnDevice() { current = {}; }

Dims members_of(const ir::Op& collective, int64_t id) {
  if (collective.word("kind") != "permute") return group_of(collective, id);
  const Dims& pairs = collective.list("groups");
  std::set<int64_t> members;
  if (std::ranges::find(pairs, id) != pairs.end()) members.insert(id);
  for (size_t before = 0; before != members.size();) {
    before = members.size();
    for (size_t i = 0; i + 1 < pairs.size(); i += 2)
      if (members.contains(pairs[i]) || members.contains(pairs[i + 1])) members.insert({pairs[i], pairs[i + 1]});
  }
  return {members.begin(), members.end()};
}

TensorPtr combined(const ir::Op& collective, const std::vector<TensorPtr>& values) {
  ir::Op combine;
  combine.kind = *ir::op_kind_of(collective.word("combine"));
  TensorPtr sum = values[0];
  for (size_t i = 1; i < values.size(); i++) sum = evaluate_op(combine, {sum, values[i]}, {sum->type})[0];
  return sum;
}

TensorPtr part_of(const TensorPtr& value, size_t dimension, int64_t parts, int64_t which) {
  ir::Tiling tiling = ir::replicated(value->type.rank(), 1);
  tiling.tiles[dimension] = parts;
  tiling.place[0][dimension] = which;
  return ir::tile_of(value, tiling, 0);
}

TensorPtr side_by_side(const std::vector<TensorPtr>& values, size_t dimension) {
  ir::Tiling tiling = ir::replicated(values[0]->type.rank(), values.size());
  tiling.tiles[dimension] = static_cast<int64_t>(values.size());
  for (size_t i = 0; i < values.size(); i++) tiling.place[i][dimension] = static_cast<int64_t>(i);
  return ir::joined(values, tiling);
}

TensorPtr result_of(const ir::Op& op, const std::vector<TensorPtr>& values, size_t own) {
  const std::string& kind = op.word("kind");
  if (kind == "broadcast") return values[0];
  if (kind == "all_reduce") return combined(op, values);
  const auto dimension = static_cast<size_t>(op.integer("dimension"));
  if (kind == "all_gather") return side_by_side(values, dimension);
  const auto count = static_cast<int64_t>(values.size()), place = static_cast<int64_t>(own);
  std::vector<TensorPtr> parts;  // of what the others have, this device's
  for (const auto& value : values) parts.push_back(part_of(value, dimension, count, place));
  return kind == "reduce_scatter" ? combined(op, parts)
                                  : side_by_side(parts, static_cast<size_t>(op.integer("concat")));
}

Results manual(const ir::Op& op, const Operands& in, const ir::Types& out) {
  const Dims& ids = op.list("ids");
  std::vector<size_t> ranks;
  for (const auto& operand : in) ranks.push_back(operand->type.rank());
  for (const auto& type : out) ranks.push_back(type.rank());
  const auto tilings = ir::tilings_of(op, ranks);
  std::vector<Operands> inputs(ids.size());
  for (size_t device = 0; device < ids.size(); device++)
    for (size_t i = 0; i < in.size(); i++) inputs[device].push_back(ir::tile_of(in[i], tilings[i], device));
  std::vector<Results> results(ids.size());
  if (auto error = run_all(op, ids, inputs, results)) throw ir::Refusal{std::move(*error)};
  Results whole;
  for (size_t i = 0; i < out.size(); i++) {
    std::vector<TensorPtr> tiles;
    for (const auto& of_device : results) tiles.push_back(of_device[i]);
    whole.push_back(ir::joined(tiles, tilings[in.size() + i]));
  }
  return whole;
}

Results collective(const ir::Op& op, const Operands& in, const ir::Types& out) {
  const std::string& kind = op.word("kind");
  if (current.exchange != nullptr) return {current.exchange->exchange(op, current.id, in[0])};
  if (current.meeting == nullptr) {  // a program of one device may have one with itself
    if (!std::ranges::all_of(op.list("groups"), [](int64_t device) { return device == 0; }))
      ir::unsupported("collective: outside of what runs on each device");
    return {in[0]};
  }
  if (kind == "permute") return {permuted(op, in[0])};
  const Dims group = group_of(op, current.id);
  if (group.empty()) {
    if (kind == "broadcast") return {make(out[0])};
    ir::invalid("collective: device {} is in no group", current.id);
  }
  const auto values = current.meeting->exchange(group, current.id, in[0]);
  return {result_of(op, values, static_cast<size_t>(std::ranges::find(group, current.id) - group.begin()))};
}

Results partition_id(const ir::Op&, const Operands&, const ir::Types& out) {
  auto result = make(out[0]);
  result->as<uint32_t>()[0] = static_cast<uint32_t>(current.id);
  return {result};
}

}  // namespace weft::compiler::reference
