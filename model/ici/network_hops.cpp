// A packet's way from queue to link to queue.
#include <algorithm>

#include "model/ici/network.hpp"

namespace weft::ici {

void Network::enqueue(uint32_t packet, uint32_t queue_number) {
  auto& queue = queues_[queue_number];
  packets_[packet].next = kNone;
  if (queue.head == kNone) {
    queue.head = queue.tail = packet;
    request(queue_number);
  } else {
    packets_[queue.tail].next = packet;
    queue.tail = packet;
  }
}

/// The port that a packet leaves by; kPorts: a fault has left no way.
unsigned Network::choose_port(const Packet& packet, uint32_t chip) const {
  if (packet.around_fault) return tables_.front().port(chip, packet.to, packet.went_down);
  return packet.port;
}

void Network::request(uint32_t queue_number) {
  auto& queue = queues_[queue_number];
  if (queue.head == kNone || queue.waiting) return;
  const auto chip = queue_number / (kInputs * kChannels);
  auto& packet = packets_[queue.head];
  if (!tables_.empty() && !packet.around_fault) {
    auto route = packet.route;
    auto at = chip;
    bool lives = true;
    for (unsigned port = route.port(); port != kPorts && lives; port = route.port()) {
      lives = links_[at * kPorts + port].alive;
      at = links_[at * kPorts + port].to;
      route.take(port);
    }
    packet.around_fault = !lives;
  }
  const auto port = choose_port(packet, chip);
  if (port == kPorts) {  // a fault has left no way
    const auto lost = queue.head;
    queue.head = packet.next;
    if (packet.sent_on != kNone) return_credits(packet.sent_on, packet.channel, link_bytes(packet), now_);
    finish(lost, Delivery::kUnreachable, now_);
    if (queue.head != kNone)
      request(queue_number);
    else if (is_injection(queue_number))
      cut_packet(queue_number);
    return;
  }
  queue.waiting = true;
  const auto link = chip * kPorts + port;
  auto& waiting = is_injection(queue_number) ? links_[link].setting_out : links_[link].passing;
  waiting.push_back({queue_number, queue.head, packet.sent_on, static_cast<uint32_t>(link_bytes(packet)),
                     next_channel(packet, link)});
  serve(link);
}

void Network::retry(uint32_t number, Femtoseconds at) {
  auto& link = links_[number];
  if (at >= link.retry_at) return;
  link.retry_at = at;
  events_.add(at, kRetry, number, 0);
}

/// Gives a free link to the queue that waits longest of those that have room at the other end.
void Network::serve(uint32_t number) {
  auto& link = links_[number];
  if (!link.has_waiting()) return;
  if (now_ < link.busy_until) return retry(number, link.busy_until);
  collect_credits(link);
  // what is on its way goes before what sets out: otherwise a saturated ring fills its buffers at each chip and comes
  // to a crawl
  if (serve_one_of(link.passing, number) || serve_one_of(link.setting_out, number)) {
    if (link.has_waiting()) retry(number, link.busy_until);
  } else if (!link.returning.empty()) {
    retry(number, link.returning.first().time);
  }
}

bool Network::serve_one_of(std::vector<Waiting>& waiting, uint32_t number) {
  const auto& credits = links_[number].credits;
  for (auto place = waiting.begin(); place != waiting.end(); ++place)
    if (credits[place->channel] >= place->bytes) {
      const auto what = *place;
      waiting.erase(place);
      transmit(number, what);
      return true;
    }
  return false;
}

uint8_t Network::next_channel(const Packet& packet, uint32_t number) const {
  const auto port = number % kPorts;
  if (packet.around_fault) return static_cast<uint8_t>(fault_channel_of(packet.traffic_class));
  const bool past = (packet.axis == axis_of(port) && packet.past_dateline) || links_[number].wraps;
  return static_cast<uint8_t>(channel_of(packet.traffic_class, packet.route.order, past));
}

void Network::tell(const Packet& packet, uint32_t number, Femtoseconds replay) const {
  const auto& link = links_[number];
  observer_({.chip = number / kPorts,
             .port = static_cast<uint8_t>(number % kPorts),
             .traffic_class = packet.traffic_class,
             .first = packet.sent_on == kNone,
             .last = link.to == packet.to,
             .packet = packet.number,
             .message_tag = flows_[packet.message].message.tag,
             .payload_bytes = packet.payload_bytes,
             .from = now_,
             .to = link.busy_until,
             .first_byte = now_ + options_.hop_latency + replay,
             .last_byte = link.busy_until + options_.hop_latency});
}

/// The head of a queue sets out by a free link that has room for it.
void Network::transmit(uint32_t number, const Waiting& what) {
  auto& link = links_[number];
  auto& queue = queues_[what.queue];
  const auto index = what.packet;
  auto& packet = packets_[index];
  link.credits[what.channel] -= what.bytes;
  queue.waiting = false;
  queue.head = packet.next;
  const auto trouble = trouble_ ? trouble_(number / kPorts, number % kPorts) : LinkTrouble{};
  const auto hazard = frame_hazard_ + (trouble.bit_error_rate > 0 ? frame_hazard(trouble.bit_error_rate) : 0);
  const auto replay = hazard > 0 ? replay_time(link, packet.wire_bytes, hazard) : 0;
  const auto time = packet.time + replay;
  link.busy_until = now_ + time;
  link.counters.packets++;
  link.counters.payload_bytes += packet.payload_bytes;
  link.counters.wire_bytes += packet.wire_bytes;
  link.counters.busy += time;
  link.counters.replay += replay;
  packet_hops_++;
  if (observer_) tell(packet, number, replay);

  if (packet.sent_on != kNone)
    return_credits(packet.sent_on, packet.channel, what.bytes,
                   link.busy_until + options_.hop_latency + packet.credit_delay_ns * kNanosecond);
  const auto port = number % kPorts;
  if (packet.around_fault) {
    packet.went_down |= tables_.front().is_down(number / kPorts, port);
  } else {
    packet.past_dateline = (packet.axis == axis_of(port) && packet.past_dateline) || link.wraps;
    packet.axis = static_cast<uint8_t>(axis_of(port));
    packet.route.take(port);
    packet.port = static_cast<uint8_t>(packet.route.port());
  }
  packet.channel = what.channel;
  packet.sent_on = number;
  packet.epoch = link.epoch;
  packet.credit_delay_ns = trouble.credit_delay_ns;
  events_.add_to_stream(now_ + options_.hop_latency + replay + strike(number, trouble), kArrive, index, number);

  if (queue.head != kNone)
    request(what.queue);
  else if (is_injection(what.queue))
    cut_packet(what.queue);
}

/// Room in the next buffer that is known of by now.
void Network::collect_credits(Link& link) const {
  for (; !link.returning.empty() && link.returning.first().time <= now_; link.returning.drop_first())
    link.credits[link.returning.first().channel] += link.returning.first().bytes;
}

void Network::return_credits(uint32_t number, uint8_t channel, uint64_t bytes, Femtoseconds at) {
  auto& link = links_[number];
  link.returning.add({at, static_cast<uint32_t>(bytes), channel});
  if (link.has_waiting()) retry(number, std::max(at, link.busy_until));
}

void Network::arrive(uint32_t index, uint32_t number) {
  auto& packet = packets_[index];
  const auto& link = links_[number];
  if (packet.epoch != link.epoch) {  // the link died with the packet on it: its sender still has it
    return_credits(number, packet.channel, link_bytes(packet), now_);
    packet.around_fault = true;
    packet.went_down = false;
    packet.sent_on = kNone;
    const auto chip = number / kPorts;
    if (!chip_alive_[chip]) return finish(index, Delivery::kUnreachable, now_);
    return enqueue(index, queue_index(chip, kPorts, fault_channel_of(packet.traffic_class)));
  }
  if (link.to == packet.to) {
    const auto last = now_ + packet.time;
    return_credits(number, packet.channel, link_bytes(packet),
                   last + options_.hop_latency + packet.credit_delay_ns * kNanosecond);
    return finish(index, Delivery::kDone, last);
  }
  enqueue(index, link.input + packet.channel);
}

}  // namespace weft::ici
