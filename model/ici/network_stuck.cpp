// Messages are under way and nothing can happen any more: the buffers that wait for each other are named, and all of it
// is given up. The routes are such that it cannot come to this; if one is wrong, that is an error and not silence.
#include <fmt/format.h>

#include <cassert>

#include "model/ici/network.hpp"

namespace weft::ici {

/// The buffer that the head of a queue waits for; kNone: it does not wait.
uint32_t Network::waits_for(uint32_t number) {
  const auto& queue = queues_[number];
  if (queue.head == kNone) return kNone;
  const auto& packet = packets_[queue.head];
  const auto chip = chip_of_queue(number);
  const auto port = packet.by_tables ? tables(chip).port(chip, packet.to, packet.went_down) : packet.port;
  if (port == kPorts) return kNone;
  const auto link = chip * kPorts + port;
  return links_[link].input + next_channel(packet, link);
}

/// By the link that fills it, or by the chip that packets set out from.
std::string Network::buffer_name(uint32_t number) const {
  const auto chip = chip_of_queue(number), channel = number % kChannels;
  unsigned packets = 0;
  for (auto index = queues_[number].head; index != kNone; index = packets_[index].next) packets++;
  const auto input = number / kChannels % kInputs;
  const auto holds = fmt::format("channel {} ({} packets)", channel, packets);
  if (is_injection(number)) return fmt::format("what chip {} sends, {}", chip, holds);
  return fmt::format("chip {} {} {}", topology_.neighbor(chip, input), port_name(opposite(input)), holds);
}

std::string Network::describe_stuck() {
  std::string text =
      fmt::format("{} messages and {} packets are under way and nothing can happen any more", under_way_, in_flight_);
  std::vector<uint32_t> seen(queues_.size());  // in which walk, counted from 1
  uint32_t first_waiting = kNone;
  for (uint32_t start = 0; start < queues_.size(); start++) {
    if (queues_[start].head == kNone || seen[start] != 0) continue;
    if (first_waiting == kNone) first_waiting = start;
    auto at = start;
    for (; at != kNone && seen[at] == 0; at = waits_for(at)) seen[at] = start + 1;
    if (at == kNone || seen[at] != start + 1) continue;
    text += "; buffers wait for each other in a circle: ";
    const auto begin = at;
    do {
      text += buffer_name(at) + ", ";
      at = waits_for(at);
    } while (at != begin);
    return text + "and round again";
  }
  if (first_waiting == kNone) return text + "; no packet waits: what is not acknowledged is not sent again";
  const auto next = waits_for(first_waiting);
  return text + fmt::format("; no circle of buffers: {} waits for {}", buffer_name(first_waiting),
                            next == kNone ? "nothing" : buffer_name(next));
}

void Network::break_up() {
  open_books();
  if (stuck_handler_) stuck_handler_(describe_stuck());
  for (auto& link : links_) link.arbiter.clear();
  for (uint32_t number = 0; number < flows_.size(); number++)
    if (!flows_[number].kept.empty()) give_up(number, Delivery::kStuck);
  for (uint32_t number = 0; number < queues_.size(); number++) {
    auto& queue = queues_[number];
    queue.waiting = 0;
    while (queue.head != kNone) {
      const auto packet = queue.head;
      queue.head = packets_[packet].next;
      discard(packet);
    }
    if (is_injection(number)) drop_finished(message_list(number));
  }
  assert(under_way_ == 0 && in_flight_ == 0);
}

std::optional<std::string> Network::audit() const {
  for (uint32_t number = 0; number < queues_.size() && books_open_; number++) {
    const auto chip = chip_of_queue(number);
    if (number % kChannels < fault_channel_of(0)) continue;
    for (auto index = queues_[number].head; index != kNone; index = packets_[index].next)
      if (!packets_[index].by_tables || packets_[index].generation != chips_[chip].view.generation())
        return fmt::format("{} holds a packet of generation {}, its chip has {}", buffer_name(number),
                           packets_[index].generation, chips_[chip].view.generation());
  }
  for (uint32_t number = 0; number < links_.size(); number++) {
    const auto& link = links_[number];
    if (link.to == kNoChip) continue;
    const auto what = [number] { return fmt::format("chip {} {}", number / kPorts, port_name(number % kPorts)); };
    if (books_open_ && link.alive != chips_[number / kPorts].view.is_alive(name(number)))
      return what() + ": the end and what its chip knows of it differ";
    if (in_flight_ != 0) continue;
    auto credits = link.credits;
    link.returning.for_each([&](const Credit& credit) { credits[credit.channel] += credit.bytes; });
    for (unsigned channel = 0; channel < kChannels; channel++)
      if (credits[channel] != buffer_bytes_)
        return fmt::format("{} channel {}: {} of {} bytes of credits, and no packet is left", what(), channel,
                           credits[channel], buffer_bytes_);
  }
  return std::nullopt;
}

}  // namespace weft::ici
