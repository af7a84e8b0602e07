#include "model/ici/network.hpp"

#include <algorithm>
#include <cassert>

namespace weft::ici {

namespace {

constexpr uint64_t kFrameOverhead = spec::kIciFrameHeaderBytes + spec::kIciFrameCrcBytes;
constexpr uint64_t kFrameBytes = spec::kIciFramePayloadBytes + kFrameOverhead;

uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

}  // namespace

uint64_t Network::wire_bytes(uint64_t payload_bytes) {
  constexpr uint64_t kFull = spec::kIciPacketPayloadBytes, kHeader = spec::kIciPacketHeaderBytes,
                     kPart = spec::kIciFramePayloadBytes;
  const uint64_t full = payload_bytes / kFull, rest = payload_bytes % kFull;
  uint64_t bytes = full * (kFull + kHeader + divide_up(kFull + kHeader, kPart) * kFrameOverhead);
  if (rest != 0 || full == 0) bytes += rest + kHeader + divide_up(rest + kHeader, kPart) * kFrameOverhead;
  return bytes;
}

/// What a packet takes of a link's time and of a buffer.
uint64_t Network::link_bytes(const Packet& packet) const {
  return options_.framing ? packet.wire_bytes : packet.payload_bytes;
}

void Network::set_length(Packet& packet, uint64_t payload_bytes) const {
  packet.payload_bytes = payload_bytes;
  packet.wire_bytes = wire_bytes(payload_bytes);
  packet.time = transfer_time(link_bytes(packet), options_.link_bytes_per_second);
}

Network::Network(const Topology& topology, const NetworkOptions& options)
    : topology_(topology),
      options_(options),
      frame_time_(transfer_time(kFrameBytes, options.link_bytes_per_second)),
      frame_hazard_(frame_hazard(options.bit_error_rate)),
      links_(size_t{topology.chips()} * kPorts),
      queues_(size_t{topology.chips()} * kInputs * kChannels),
      flow_head_(links_.size() * kChannels, kNone),
      flow_tail_(links_.size() * kChannels, kNone),
      chip_alive_(topology.chips(), true) {
  // what a sender may have on its way and in the next router before the first credit is back
  const auto round_trip = 2 * options.hop_latency;
  const auto bytes =
      static_cast<unsigned __int128>(options.link_bytes_per_second) * round_trip / 1'000'000'000'000'000 +
      2 * wire_bytes(options.packet_payload_bytes);
  buffer_bytes_ = static_cast<uint32_t>(std::min<unsigned __int128>(bytes, ~uint32_t{0}));
  set_length(full_, options.packet_payload_bytes);
  for (uint32_t chip = 0; chip < topology.chips(); chip++)
    for (unsigned port = 0; port < kPorts; port++) {
      auto& link = links_[chip * kPorts + port];
      link.to = topology.neighbor(chip, port);
      link.alive = link.to != kNoChip;
      link.wraps = topology.is_wrap_link(chip, port);
      link.credits.fill(buffer_bytes_);
      link.random = options.seed * 0x100000001b3ull + chip * kPorts + port;
      draw_error(link);
    }
}

uint32_t Network::new_packet() {
  if (free_packets_.empty()) {
    packets_.emplace_back();
    return static_cast<uint32_t>(packets_.size() - 1);
  }
  const auto index = free_packets_.back();
  free_packets_.pop_back();
  packets_[index] = Packet{};
  return index;
}

uint32_t Network::new_flow() {
  if (free_flows_.empty()) {
    flows_.emplace_back();
    return static_cast<uint32_t>(flows_.size() - 1);
  }
  const auto index = free_flows_.back();
  free_flows_.pop_back();
  flows_[index] = Flow{};
  return index;
}

void Network::send(const Message& message, Femtoseconds at) {
  assert(at >= now_ && message.from < topology_.chips() && message.to < topology_.chips());
  assert(message.traffic_class < kClasses && message.order < kOrders);
  const auto index = new_flow();
  flows_[index].message = message;
  flows_[index].left_bytes = message.bytes;
  events_.add(at, kSend, index, 0);
}

void Network::start_message(uint32_t index) {
  auto& flow = flows_[index];
  const auto& message = flow.message;
  if (message.from == message.to) {
    events_.add(now_, kDelivered, index, static_cast<uint32_t>(Delivery::kDone));
    return;
  }
  flow.packets_left =
      static_cast<uint32_t>(std::max<uint64_t>(1, divide_up(message.bytes, options_.packet_payload_bytes)));
  flow.route = dimension_order(topology_, message.from, message.to, message.order, message.other_way);
  const auto first_port = flow.route.port();
  const auto queue =
      queue_index(message.from, kPorts + first_port, channel_of(message.traffic_class, message.order, false));
  const auto list = flow_list(queue);
  if (flow_head_[list] == kNone)
    flow_head_[list] = index;
  else
    flows_[flow_tail_[list]].next = index;
  flow_tail_[list] = index;
  if (queues_[queue].head == kNone) cut_packet(queue);
}

/// The next packet of what a chip has to send by this queue, if there is any.
void Network::cut_packet(uint32_t queue) {
  const auto list = flow_list(queue);
  const auto index = flow_head_[list];
  if (index == kNone) return;
  auto& flow = flows_[index];
  const auto packet = new_packet();
  auto& p = packets_[packet];
  p.message = index;
  p.number = packets_cut_++;
  p.to = flow.message.to;
  p.traffic_class = flow.message.traffic_class;
  p.route = flow.route;
  if (flow.left_bytes < options_.packet_payload_bytes) {
    set_length(p, flow.left_bytes);
  } else {
    p.payload_bytes = full_.payload_bytes;
    p.wire_bytes = full_.wire_bytes;
    p.time = full_.time;
  }
  flow.left_bytes -= p.payload_bytes;
  if (flow.left_bytes == 0) flow_head_[list] = flow.next;
  in_flight_++;
  enqueue(packet, queue);
}

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
  return packet.route.port();
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
  waiting.push_back({queue_number, static_cast<uint32_t>(link_bytes(packet)), next_channel(packet, link)});
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
  const auto index = queue.head;
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
  }
  packet.channel = what.channel;
  packet.sent_on = number;
  packet.epoch = link.epoch;
  packet.credit_delay_ns = trouble.credit_delay_ns;
  events_.add(now_ + options_.hop_latency + replay + strike(number, trouble), kArrive, index, number);

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
  enqueue(index, queue_index(link.to, opposite(number % kPorts), packet.channel));
}

void Network::finish(uint32_t index, Delivery how, Femtoseconds last_byte) {
  const auto flow_index = packets_[index].message;
  auto& flow = flows_[flow_index];
  free_packets_.push_back(index);
  in_flight_--;
  flow.last_byte = std::max(flow.last_byte, last_byte);
  flow.unreachable |= how == Delivery::kUnreachable;
  if (--flow.packets_left == 0)
    events_.add(flow.last_byte, kDelivered, flow_index,
                static_cast<uint32_t>(flow.unreachable ? Delivery::kUnreachable : Delivery::kDone));
}

/// What an event will touch, so that it is here when its turn comes.
void Network::prefetch_first(const Event& event) const {
  if (event.kind == kArrive) {
    __builtin_prefetch(&packets_[event.subject]);
    __builtin_prefetch(&links_[event.object]);
  } else if (event.kind == kRetry) {
    __builtin_prefetch(&links_[event.subject]);
    __builtin_prefetch(&links_[event.subject].credits);
  } else if (event.kind == kSend || event.kind == kDelivered) {
    __builtin_prefetch(&flows_[event.subject]);
  }
}

/// What is found by that.
void Network::prefetch_second(const Event& event) const {
  if (event.kind == kArrive) {
    const auto& packet = packets_[event.subject];
    const auto& link = links_[event.object];
    __builtin_prefetch(&queues_[queue_index(link.to, opposite(event.object % kPorts), packet.channel)]);
    const auto& next = links_[link.to * kPorts + packet.route.port() % kPorts];
    __builtin_prefetch(&next);
    __builtin_prefetch(&next.credits);
    __builtin_prefetch(&next.counters);
  } else if (event.kind == kRetry) {
    const auto& link = links_[event.subject];
    __builtin_prefetch(link.passing.data());
    __builtin_prefetch(&link.counters);
  }
}

bool Network::run_until(Femtoseconds end) {
  constexpr size_t kFirst = 8, kSecond = 4;  // events ahead
  while (!events_.empty() && events_.next().time <= end) {
    prefetch_first(events_.peek(kFirst));
    prefetch_second(events_.peek(kSecond));
    const auto event = events_.take();
    now_ = event.time;
    switch (event.kind) {
      case kSend:
        start_message(event.subject);
        break;
      case kArrive:
        arrive(event.subject, event.object);
        break;
      case kRetry:
        if (links_[event.subject].retry_at == event.time) links_[event.subject].retry_at = kNever;
        serve(event.subject);
        break;
      case kDelivered: {
        const auto message = flows_[event.subject].message;
        free_flows_.push_back(event.subject);
        if (handler_) handler_(message, static_cast<Delivery>(event.object), now_);
        break;
      }
      case kLinkDown:
        take_down(event.subject, event.object != 0);
        break;
      case kLinkUp:
        if (links_[event.subject].retraining) revive_link(event.subject / kPorts, event.subject % kPorts);
        break;
      case kChipCut:
        fail_chip(event.subject);
        break;
      default:
        break;
    }
  }
  if (events_.empty() || end == kNever) return events_.empty();
  now_ = end;
  return false;
}

}  // namespace weft::ici
