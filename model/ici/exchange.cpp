#include "model/ici/exchange.hpp"

#include <cassert>

namespace weft::ici {

namespace {

/// The chip so many places on along an axis, around it.
uint32_t along(const Topology& topology, uint32_t chip, unsigned axis, unsigned places) {
  auto at = topology.coordinates(chip);
  at[axis] = static_cast<int>((static_cast<unsigned>(at[axis]) + places) % topology.size(axis));
  return topology.chip(at);
}

Message message(uint32_t from, uint32_t to, uint64_t bytes, unsigned way = 0) {
  Message message;
  message.from = from;
  message.to = to;
  message.bytes = bytes;
  message.way = static_cast<uint8_t>(way);
  return message;
}

std::vector<Message> all_to_all(const Topology& topology, unsigned axis, uint64_t bytes) {
  std::vector<Message> messages;
  const auto size = topology.size(axis);
  const auto part = bytes / size / size;
  for (unsigned distance = topology.wraps(axis) ? size / 2 : size - 1; distance > 0; distance--)
    for (uint32_t chip = 0; chip < topology.chips(); chip++) {
      const auto at = static_cast<unsigned>(topology.coordinates(chip)[axis]);
      for (const bool up : {true, false}) {
        if (!topology.wraps(axis) && (up ? at + distance >= size : at < distance)) continue;
        const bool as_long = topology.wraps(axis) && 2 * distance == size;
        const auto to = along(topology, chip, axis, up ? distance : size - distance);
        const auto share = !as_long ? part : up ? part - part / 2 : part / 2;
        messages.push_back(message(chip, to, share, as_long && up != (at < size / 2) ? 1 : 0));
      }
    }
  return messages;
}

std::vector<Message> broadcast(const Topology& topology, unsigned axis, unsigned root, uint64_t bytes) {
  std::vector<Message> messages;
  const auto size = topology.size(axis);
  for (uint32_t chip = 0; chip < topology.chips(); chip++) {
    if (static_cast<unsigned>(topology.coordinates(chip)[axis]) != root) continue;
    const auto up = topology.wraps(axis) ? size / 2 : size - 1 - root;
    const auto down = size - 1 - up;
    if (up > 0) {
      const bool as_long = topology.wraps(axis) && 2 * up == size;
      messages.push_back(message(chip, along(topology, chip, axis, up), bytes, as_long && root >= size / 2 ? 1 : 0));
    }
    if (down > 0) messages.push_back(message(chip, along(topology, chip, axis, size - down), bytes));
  }
  return messages;
}

}  // namespace

std::vector<Message> exchange(const Topology& topology, const ExchangeOptions& options) {
  assert(options.axis < kAxes && options.root < topology.size(options.axis));
  switch (options.kind) {
    case ExchangeKind::kAllToAll:
      return all_to_all(topology, options.axis, options.bytes);
    case ExchangeKind::kBroadcast:
      return broadcast(topology, options.axis, options.root, options.bytes);
    case ExchangeKind::kPermute:
      break;
  }
  std::vector<Message> messages;
  for (uint32_t chip = 0; chip < topology.chips(); chip++)
    messages.push_back(message(chip, along(topology, chip, options.axis, options.shift), options.bytes));
  return messages;
}

}  // namespace weft::ici
