// A packet's way from queue to link to queue.
#include <algorithm>
#include <cstdlib>

#include "model/ici/network.hpp"

namespace weft::ici {

/// `from`: when it is the queue's head, if no other one is before it.
void Network::enqueue(uint32_t packet, uint32_t queue_number, Femtoseconds from) {
  auto& queue = queues_[queue_number];
  packets_[packet].next = kNone;
  if (queue.head == kNone) {
    queue.head = queue.tail = packet;
    new_head(queue_number, from);
  } else {
    packets_[queue.tail].next = packet;
    queue.tail = packet;
  }
}

/// A packet is its queue's head from then on.
void Network::new_head(uint32_t queue, Femtoseconds from) {
  const auto asks = from + options_.router.head_delay;
  if (asks <= now_) [[likely]]
    request(queue);
  else
    events_.add(asks, kHead, queue, 0);
}

/// The head of a queue asks for the link that it needs. Packets with no way on from here are dropped: the link has
/// died, and their sources learn of that.
void Network::request(uint32_t queue_number) {
  auto& queue = queues_[queue_number];
  const auto chip = chip_of_queue(queue_number);
  while (queue.head != kNone && !queue.waiting) {
    const auto& packet = packets_[queue.head];
    const auto link = wanted_link(packet, chip);
    if (link != kNone && links_[link].alive) [[likely]] {
      queue.waiting = true;
      links_[link].arbiter.add({queue_number, queue.head, packet.sent_on, link_bytes(packet),
                                is_ingress(link) ? packet.channel : next_channel(packet, link), packet.account,
                                packet.traffic_class != 0, is_injection(queue_number)});
      return serve(link);
    }
    const auto lost = queue.head;
    queue.head = packet.next;
    discard(lost);
    if (queue.head == kNone && is_injection(queue_number)) cut_packet(queue_number, now_);
  }
}

/// The link that a packet needs next, an ingress among them; kNone: there is no way.
uint32_t Network::wanted_link(const Packet& packet, uint32_t chip) {
  if (packet.to == chip) [[unlikely]]
    return ingress_of(chip);
  const auto port = packet.by_tables ? tables(chip).port(chip, packet.to, packet.went_down) : packet.port;
  return port == kPorts ? kNone : chip * kPorts + port;
}

void Network::retry(uint32_t number, Femtoseconds at) {
  auto& link = links_[number];
  if (at >= link.retry_at) return;
  link.retry_at = at;
  events_.add(at, kRetry, number, 0);
}

/// Gives a free link to the packet that its arbiter takes.
void Network::serve(uint32_t number) {
  auto& link = links_[number];
  if (link.arbiter.empty()) return;
  if (now_ < link.busy_until) return retry(number, link.busy_until);
  collect_credits(link);
  if (limited_) [[unlikely]]
    return serve_limited(number);
  if (Waiting next; link.arbiter.take(link.credits, period_, next)) {
    transmit(number, next);
    if (!link.arbiter.empty()) retry(number, link.busy_until);
  } else if (!link.returning.empty()) {
    retry(number, link.returning.first().time);
  }
}

uint8_t Network::next_channel(const Packet& packet, uint32_t number) const {
  const auto port = number % kPorts;
  if (packet.by_tables) return static_cast<uint8_t>(fault_channel_of(packet.traffic_class));
  const auto axis = axis_of(port);
  bool past = (packet.axis == axis && packet.past_dateline) || links_[number].wraps;
  if (options_.datelines == Datelines::kAhead && packet.axis != axis)
    past = topology_.wraps_within(number / kPorts, port, static_cast<unsigned>(std::abs(packet.route.left[axis])));
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
             .message_tag = sendings_[packet.message].message.tag,
             .payload_bytes = packet.payload_bytes,
             .from = now_,
             .to = link.busy_until,
             .first_byte = now_ + hop_time(link) + replay,
             .last_byte = link.busy_until + hop_time(link)});
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
  if (arrivals_ != nullptr && link.to == packet.to) arrivals_->note(packet.to, link.busy_until + hop_time(link), now_);

  if (packet.sent_on != kNone)
    return_credits(packet.sent_on, packet.channel, what.bytes,
                   link.busy_until + hop_time(packet.sent_on) + packet.credit_delay_ns * kNanosecond);
  const auto port = number % kPorts;
  if (packet.by_tables) {
    packet.went_down |= tables(number / kPorts).is_down(number / kPorts, port);
  } else {
    packet.past_dateline = is_past_dateline(what.channel);
    packet.axis = static_cast<uint8_t>(axis_of(port));
    packet.route.take(port);
    packet.port = static_cast<uint8_t>(packet.route.port());
  }
  packet.channel = what.channel;
  packet.sent_on = number;
  packet.session = link.session;
  packet.credit_delay_ns = trouble.credit_delay_ns;
  if (trouble.kind != LinkTrouble::Kind::kNone) {
    packet.session = kNone;
    strike(number, trouble);
  }
  events_.add_to_stream(now_ + hop_time(link) + replay, kArrive, index, number);

  follow(what.queue, limited_ ? occupy(number, what, link.busy_until) : now_);
}

/// The head of a queue has left: the next one is its head, or is cut.
void Network::follow(uint32_t queue, Femtoseconds from) {
  if (queues_[queue].head != kNone)
    new_head(queue, from);
  else if (is_injection(queue))
    cut_packet(queue, from);
}

/// Room in the next buffer that is known of by now.
void Network::collect_credits(Link& link) const {
  for (; !link.returning.empty() && link.returning.first().time <= now_; link.returning.drop_first())
    link.credits[link.returning.first().channel] += link.returning.first().bytes;
}

void Network::return_credits(uint32_t number, uint8_t channel, uint32_t bytes, Femtoseconds at) {
  auto& link = links_[number];
  link.returning.add({at, bytes, channel});
  if (!link.arbiter.empty()) retry(number, std::max(at, link.busy_until));
}

/// The packet is no more. The buffer that it stood in, or was on its way to, is free; the link's sender knows a hop
/// later.
void Network::discard(uint32_t index) {
  const auto& packet = packets_[index];
  if (packet.sent_on != kNone)
    return_credits(packet.sent_on, packet.channel, link_bytes(packet), now_ + hop_time(packet.sent_on));
  forget(index);
}

void Network::forget(uint32_t index) {
  free_packets_.push_back(index);
  if (--in_flight_ == 0) period_++;
  if (books_open_) release(packets_[index].message);
}

void Network::arrive(uint32_t index, uint32_t number) {
  auto& packet = packets_[index];
  const auto& link = links_[number];
  if (books_open_) {
    const auto& end = links_[back(number)];
    if (!end.alive || end.session != packet.session) return discard(index);  // lost on the link
  }
  if (link.to == packet.to && !options_.router.ingress) {
    const auto last = now_ + packet.time;
    return_credits(number, packet.channel, link_bytes(packet),
                   last + hop_time(link) + packet.credit_delay_ns * kNanosecond);
    return finish(index, last);
  }
  if (packet.by_tables && packet.generation != chips_[link.to].view.generation()) return discard(index);
  enqueue(index, link.input + packet.channel, now_);
}

}  // namespace weft::ici
