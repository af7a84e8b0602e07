// Devices meet at a collective, and their values become collectives of the slice.
#include "host/tools/run/launch_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/round_up.hpp"
#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/partition/device_collective.hpp"
#include "host/runtime/slice_collectives.hpp"

namespace weft::tools {
namespace {

using compiler::Collective;
using compiler::CollectiveKind;
using compiler::ir::Dims;
using compiler::ir::ElementType;
using compiler::ir::Op;
using compiler::ir::Tensor;
using compiler::ir::TensorPtr;
using compiler::ir::TensorType;
namespace reference = compiler::reference;

constexpr uint64_t kGranule = 16;

/// What the links add. None: values are sent, and added behind.
std::optional<weft_argument_dtype> added_by_links(const Op& op, ElementType element) {
  if (!op.attributes.contains("combine") || op.word("combine") != "add") return std::nullopt;
  switch (element) {
    case ElementType::kF32:
      return WEFT_ARGUMENT_DTYPE_F32;
    case ElementType::kBf16:
      return WEFT_ARGUMENT_DTYPE_BF16;
    case ElementType::kI32:
    case ElementType::kU32:
      return WEFT_ARGUMENT_DTYPE_I32;
    default:
      return std::nullopt;
  }
}

/// Blocks of equal size, one behind the other, each filled up to granules.
std::vector<std::byte> packed(const std::vector<TensorPtr>& blocks) {
  std::vector<std::byte> bytes;
  for (const auto& block : blocks) {
    bytes.insert(bytes.end(), block->data.begin(), block->data.end());
    bytes.resize(round_up(bytes.size(), kGranule));
  }
  return bytes;
}

std::vector<TensorPtr> unpacked(const std::vector<std::byte>& bytes, const TensorType& type, size_t count) {
  std::vector<TensorPtr> blocks;
  for (size_t i = 0; i < count; i++) {
    auto block = std::make_shared<Tensor>(type);
    const size_t at = i * round_up(block->data.size(), kGranule);
    if (at + block->data.size() > bytes.size()) compiler::ir::invalid("a collective gave {} bytes", bytes.size());
    std::memcpy(block->data.data(), &bytes[at], block->data.size());
    blocks.push_back(std::move(block));
  }
  return blocks;
}

TensorPtr permuted(const Op& op, int64_t id, const std::map<int64_t, TensorPtr>& given) {
  const Dims& pairs = op.list("groups");
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i + 1] == id) return given.at(pairs[i]);
  return std::make_shared<Tensor>(given.at(id)->type);
}

}  // namespace

struct LaunchExchange::Sent {
  std::map<int64_t, std::vector<std::byte>> from, to;  ///< by device
};

LaunchExchange::LaunchExchange(runtime::SlicePrograms* programs, std::vector<uint32_t> chips,
                               std::vector<weft_queue*> queues)
    : programs_(programs), chips_(std::move(chips)), queues_(std::move(queues)) {}

Dims LaunchExchange::all_devices() const {
  Dims devices(chips_.size());
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

template <typename Given, typename Perform>
typename Given::mapped_type LaunchExchange::meet(Places<Given>& places, const Dims& members, int64_t id,
                                                 typename Given::mapped_type own, Perform perform) {
  std::unique_lock lock(mutex_);
  const std::pair key(members, turns_[{members, id}]++);
  Place<Given>& place = places[key];
  place.given[id] = std::move(own);
  if (place.given.size() == members.size()) {
    lock.unlock();  // all others wait
    try {
      place.results = perform(place.given);
    } catch (const compiler::ir::Refusal& refusal) {
      place.error = refusal.error;
    } catch (const std::exception& error) {
      place.error = Error{WEFT_ERROR_INTERNAL, error.what()};
    }
    lock.lock();
    place.done = true;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] {
    return place.done || (place.given.size() != members.size() && std::ranges::any_of(members, [&](int64_t d) {
                            return ended_.contains(d) && !place.given.contains(d);
                          }));
  });
  if (!place.done) compiler::ir::invalid("collective: device {} waits for one that has ended", id);
  if (place.error) throw compiler::ir::Refusal{*place.error};
  auto result = std::move(place.results.at(id));
  if (++place.left == members.size()) places.erase(key);
  return result;
}

Result<std::vector<std::byte>> LaunchExchange::launch(const SequenceProgram& sequence, int64_t id,
                                                      std::vector<std::byte> input, LaunchWindow& window) {
  return compiler::ir::guarded([&] {
    auto launched = meet(launches_, all_devices(), id, Launched{std::move(input), {}},
                         [&](const Launches& given) { return perform(sequence, given); });
    window.begin = launched.window.begin, window.end = launched.window.end;
    return std::move(launched.bytes);
  });
}

LaunchExchange::Launches LaunchExchange::perform(const SequenceProgram& sequence, const Launches& given) {
  std::vector<std::vector<std::byte>> inputs;
  std::vector<weft_queue*> queues;
  const uint32_t count = 1 + *std::ranges::max_element(chips_);
  inputs.resize(count), queues.resize(count);
  for (const auto& [id, launched] : given) {
    const uint32_t chip = chips_[static_cast<size_t>(id)];
    inputs[chip] = launched.bytes;
    queues[chip] = queues_[static_cast<size_t>(id)];
  }
  const auto executables = [&]() -> Result<runtime::SlicePrograms::Executables> {
    runtime::SlicePrograms::Executables by_chip(count);
    for (size_t device = 0; device < chips_.size(); device++)
      by_chip[chips_[device]] = sequence.compiled.executables.at(device);
    return by_chip;
  };
  std::vector<runtime::ChipWindow> windows;
  auto outputs = programs_->run(sequence.key, executables, inputs, queues, windows);
  if (!outputs.ok()) throw compiler::ir::Refusal{outputs.error()};
  Launches results;
  for (size_t device = 0; device < chips_.size(); device++) {
    Launched& result = results[static_cast<int64_t>(device)];
    result.bytes = std::move(outputs.value()[chips_[device]]);
    for (const auto& window : windows)
      if (window.chip == chips_[device]) result.window = window;
  }
  return results;
}

TensorPtr LaunchExchange::exchange(const Op& op, int64_t id, const TensorPtr& value) {
  Dims members = reference::members_of(op, id);
  if (op.attributes.contains("together")) {
    members = all_devices();
  } else if (members.empty()) {
    return std::make_shared<Tensor>(value->type);
  }
  for (const int64_t member : members)
    if (member < 0 || static_cast<size_t>(member) >= chips_.size())
      compiler::ir::unsupported("collective: device {} is none of the {} that run", member, chips_.size());
  return meet(places_, members, id, value, [&](const Values& given) { return perform(op, members, given); });
}

void LaunchExchange::end(int64_t id) {
  const std::lock_guard lock(mutex_);
  ended_.insert(id);
  changed_.notify_all();
}

bool LaunchExchange::send(Collective collective, const std::vector<Dims>& groups, Sent& sent) {
  if (programs_ == nullptr) return false;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<weft_queue*> queues;
  const auto at = [&](auto& list, uint32_t chip) -> auto& {
    if (list.size() <= chip) list.resize(chip + 1);
    return list[chip];
  };
  for (const auto& group : groups) {
    auto& list = collective.groups.emplace_back();
    for (const int64_t id : group) {
      const uint32_t chip = chips_[static_cast<size_t>(id)];
      list.push_back(chip);
      at(queues, chip) = queues_[static_cast<size_t>(id)];
      at(inputs, chip) = std::move(sent.from[id]);
    }
  }
  std::vector<runtime::ChipWindow> windows;
  auto outputs = runtime::run_collective(*programs_, collective, inputs, queues, windows);
  if (!outputs.ok() && outputs.error().code == WEFT_ERROR_INVALID_ARGUMENT) {  // groups that are no boxes
    for (const auto& group : groups)
      for (const int64_t id : group) sent.from[id] = std::move(inputs[chips_[static_cast<size_t>(id)]]);
    return false;
  }
  if (!outputs.ok()) throw compiler::ir::Refusal{outputs.error()};
  {
    const std::lock_guard lock(mutex_);
    windows_.insert(windows_.end(), windows.begin(), windows.end());
  }
  for (const auto& group : groups)
    for (const int64_t id : group) sent.to[id] = std::move(outputs.value()[chips_[static_cast<size_t>(id)]]);
  return true;
}

LaunchExchange::Values LaunchExchange::perform(const Op& op, const Dims& members, const Values& given) {
  const std::string& kind = op.word("kind");
  const bool permutes = kind == "permute";
  Values results;
  std::vector<Dims> groups;
  if (permutes) {
    groups = compiler::rounds_of(op.list("groups"), members);
  } else {
    for (const int64_t id : members)
      if (const Dims group = reference::members_of(op, id); group.empty() && kind != "broadcast")
        compiler::ir::invalid("collective: device {} is in no group", id);
      else if (group.empty())
        results[id] = std::make_shared<Tensor>(given.at(id)->type);
      else if (group[0] == id)
        groups.push_back(group);
  }
  // On the host: alone, nothing to send, or groups that the links do not have.
  const auto here = [&] {
    for (const int64_t id : members) {
      if (results.contains(id)) continue;
      if (permutes) {
        results[id] = permuted(op, id, given);
        continue;
      }
      const Dims group = reference::members_of(op, id);
      std::vector<TensorPtr> values;
      for (const int64_t member : group) values.push_back(given.at(member));
      results[id] = reference::result_of(op, values, static_cast<size_t>(std::ranges::find(group, id) - group.begin()));
    }
    return results;
  };
  const TensorType type = given.begin()->second->type;
  const bool shifts = permutes && !groups.empty();
  if (permutes && !shifts) groups = {members};
  const size_t count = groups.empty() ? 1 : groups[0].size();
  if (count == 1 || type.bytes() == 0) return here();
  const auto dtype = added_by_links(op, type.element);
  const bool in_parts = kind == "all_to_all" || kind == "reduce_scatter";
  const auto parts_of = [&](const TensorPtr& value) -> std::vector<TensorPtr> {
    if (!in_parts) return {value};
    std::vector<TensorPtr> parts;
    for (size_t i = 0; i < count; i++)
      parts.push_back(reference::part_of(value, static_cast<size_t>(op.integer("dimension")),
                                         static_cast<int64_t>(count), static_cast<int64_t>(i)));
    return parts;
  };
  Sent sent;
  TensorType block = type;
  for (const auto& group : groups)
    for (const int64_t id : group) {
      const auto parts = parts_of(given.at(id));
      block = parts[0]->type;
      sent.from[id] = packed(parts);
    }
  Collective collective;
  collective.bytes = sent.from.begin()->second.size();
  size_t blocks = 1;
  bool finished = true;  // what comes is the result
  if (shifts) {
    collective.kind = CollectiveKind::kPermute;
    collective.shift = 1;
  } else if (kind == "broadcast") {
    collective.kind = CollectiveKind::kBroadcast;
  } else if (dtype && (kind == "all_reduce" || kind == "reduce_scatter")) {
    collective.kind = kind == "all_reduce" ? CollectiveKind::kAllReduce : CollectiveKind::kReduceScatter;
    collective.dtype = *dtype;
  } else {
    blocks = count;
    finished = false;
    collective.kind = in_parts ? CollectiveKind::kAllToAll : CollectiveKind::kAllGather;
    if (!in_parts) collective.bytes *= count;
  }
  if (!send(collective, groups, sent)) return here();
  for (const auto& group : groups)
    for (const int64_t id : group) {
      const auto values = unpacked(sent.to.at(id), block, blocks);
      if (finished) {
        results[id] = values[0];
      } else if (permutes) {
        Values all;
        for (size_t i = 0; i < group.size(); i++) all[group[i]] = values[i];
        results[id] = permuted(op, id, all);
      } else if (kind == "reduce_scatter") {
        results[id] = reference::combined(op, values);
      } else if (kind == "all_to_all") {
        results[id] = reference::side_by_side(values, static_cast<size_t>(op.integer("concat")));
      } else {
        results[id] = reference::result_of(op, values, 0);  // all_gather and all_reduce are the same on each
      }
    }
  return results;
}

}  // namespace weft::tools
