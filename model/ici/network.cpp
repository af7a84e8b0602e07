#include "model/ici/network.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weft::ici {

namespace {

constexpr uint64_t kFrameOverhead = spec::kIciFrameHeaderBytes + spec::kIciFrameCrcBytes;
constexpr uint64_t kFrameBytes = spec::kIciFramePayloadBytes + kFrameOverhead;

uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/// splitmix64 (Steele, Lea, Flood): a step of a 64-bit sequence.
uint64_t next_random(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

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
  return options_.framing ? wire_bytes(packet.payload_bytes) : packet.payload_bytes;
}

Network::Network(const Topology& topology, const NetworkOptions& options)
    : topology_(topology),
      options_(options),
      frame_time_(transfer_time(kFrameBytes, options.link_bytes_per_second)),
      frame_error_rate_(-std::expm1(static_cast<double>(8 * kFrameBytes) * std::log1p(-options.bit_error_rate))),
      links_(size_t{topology.chips()} * kPorts),
      queues_(size_t{topology.chips()} * kInputs * kChannels),
      flow_head_(links_.size() * kChannels, kNone),
      flow_tail_(links_.size() * kChannels, kNone),
      chip_alive_(topology.chips(), true) {
  // what a sender may have on its way and in the next router before the first credit is back
  const auto round_trip = 2 * options.hop_latency;
  buffer_bytes_ = static_cast<uint64_t>(static_cast<unsigned __int128>(options.link_bytes_per_second) * round_trip /
                                        1'000'000'000'000'000ull) +
                  2 * wire_bytes(options.packet_payload_bytes);
  credits_.assign(links_.size() * kChannels, buffer_bytes_);
  for (uint32_t chip = 0; chip < topology.chips(); chip++)
    for (unsigned port = 0; port < kPorts; port++) {
      auto& link = links_[chip * kPorts + port];
      link.to = topology.neighbor(chip, port);
      link.alive = link.to != kNoChip;
      link.wraps = topology.is_wrap_link(chip, port);
      link.random = options.seed * 0x100000001b3ull + chip * kPorts + port;
      draw_good_frames(link);
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
  const auto largest = options_.packet_payload_bytes;
  flow.packets_left =
      largest == 0 ? 1 : static_cast<uint32_t>(std::max<uint64_t>(1, divide_up(message.bytes, largest)));
  const auto first_port = dimension_order(topology_, message.from, message.to, message.order, message.other_way).port();
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
  p.payload_bytes =
      options_.packet_payload_bytes == 0 ? flow.left_bytes : std::min(flow.left_bytes, options_.packet_payload_bytes);
  p.route = dimension_order(topology_, flow.message.from, flow.message.to, flow.message.order, flow.message.other_way);
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
  const auto to = flows_[packet.message].message.to;
  if (packet.around_fault) return tables_.front().port(chip, to, packet.went_down);
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
    finish(lost, Delivery::kUnreachable, now_);
    if (queue.head != kNone)
      request(queue_number);
    else if (is_injection(queue_number))
      cut_packet(queue_number);
    return;
  }
  queue.waiting = true;
  const auto link = chip * kPorts + port;
  links_[link].waiting.push_back(queue_number);
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
  if (links_[number].waiting.empty()) return;
  if (now_ < links_[number].busy_until) return retry(number, links_[number].busy_until);
  // what is on its way goes before what sets out: otherwise a saturated ring fills its buffers at each chip and comes
  // to a crawl
  for (const bool injection : {false, true})
    for (size_t i = 0; i < links_[number].waiting.size(); i++) {
      const auto queue = links_[number].waiting[i];
      if (is_injection(queue) != injection || !transmit(number, queue)) continue;
      if (!links_[number].waiting.empty()) retry(number, links_[number].busy_until);
      return;
    }
  if (!links_[number].returning.empty()) retry(number, links_[number].returning.front().time);
}

unsigned Network::next_channel(Packet& packet, uint32_t number) const {
  const auto& message = flows_[packet.message].message;
  const auto port = number % kPorts;
  if (packet.around_fault) return fault_channel_of(message.traffic_class);
  const bool past = (packet.axis == axis_of(port) && packet.past_dateline) || links_[number].wraps;
  return channel_of(message.traffic_class, message.order, past);
}

bool Network::transmit(uint32_t number, uint32_t queue_number) {
  auto& link = links_[number];
  auto& queue = queues_[queue_number];
  const auto index = queue.head;
  auto& packet = packets_[index];
  const auto channel = next_channel(packet, number);
  const auto bytes = link_bytes(packet);
  if (!take_credits(link, channel, bytes)) return false;

  link.waiting.erase(std::find(link.waiting.begin(), link.waiting.end(), queue_number));
  queue.waiting = false;
  queue.head = packet.next;
  const auto replay = frame_error_rate_ > 0 ? replay_time(link, wire_bytes(packet.payload_bytes)) : 0;
  const auto time = transfer_time(bytes, options_.link_bytes_per_second) + replay;
  link.busy_until = now_ + time;
  link.counters.packets++;
  link.counters.payload_bytes += packet.payload_bytes;
  link.counters.wire_bytes += wire_bytes(packet.payload_bytes);
  link.counters.busy += time;
  link.counters.replay += replay;
  packet_hops_++;

  if (packet.sent_on != kNone)
    return_credits(packet.sent_on, packet.channel, bytes, link.busy_until + options_.hop_latency);
  const auto port = number % kPorts;
  if (packet.around_fault) {
    packet.went_down |= tables_.front().is_down(number / kPorts, port);
  } else {
    packet.past_dateline = (packet.axis == axis_of(port) && packet.past_dateline) || link.wraps;
    packet.axis = static_cast<uint8_t>(axis_of(port));
    packet.route.take(port);
  }
  packet.channel = static_cast<uint8_t>(channel);
  packet.sent_on = number;
  packet.epoch = link.epoch;
  events_.add(now_ + options_.hop_latency + replay, kArrive, index, number);

  if (queue.head != kNone)
    request(queue_number);
  else if (is_injection(queue_number))
    cut_packet(queue_number);
  return true;
}

bool Network::take_credits(Link& link, unsigned channel, uint64_t bytes) {
  if (options_.packet_payload_bytes == 0) return true;
  const auto base = static_cast<size_t>(&link - links_.data()) * kChannels;
  size_t back = 0;
  for (; back < link.returning.size() && link.returning[back].time <= now_; back++)
    credits_[base + link.returning[back].channel] += link.returning[back].bytes;
  if (back != 0)
    link.returning.erase(link.returning.begin(), link.returning.begin() + static_cast<std::ptrdiff_t>(back));
  if (credits_[base + channel] < bytes) return false;
  credits_[base + channel] -= bytes;
  return true;
}

void Network::return_credits(uint32_t number, unsigned channel, uint64_t bytes, Femtoseconds at) {
  if (options_.packet_payload_bytes == 0) return;
  auto& link = links_[number];
  auto place = link.returning.end();
  while (place != link.returning.begin() && (place - 1)->time > at) --place;
  link.returning.insert(place, {at, bytes, static_cast<uint8_t>(channel)});
  if (!link.waiting.empty()) retry(number, std::max(at, link.busy_until));
}

void Network::arrive(uint32_t index, uint32_t number) {
  auto& packet = packets_[index];
  const auto& link = links_[number];
  if (packet.epoch != link.epoch) {  // the link died with the packet on it: its sender still has it
    packet.around_fault = true;
    packet.went_down = false;
    packet.sent_on = kNone;
    const auto chip = number / kPorts;
    if (!chip_alive_[chip]) return finish(index, Delivery::kUnreachable, now_);
    return enqueue(index, queue_index(chip, kPorts, fault_channel_of(flows_[packet.message].message.traffic_class)));
  }
  if (link.to == flows_[packet.message].message.to) {
    const auto last = now_ + transfer_time(link_bytes(packet), options_.link_bytes_per_second);
    return_credits(number, packet.channel, link_bytes(packet), last + options_.hop_latency);
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

bool Network::run_until(Femtoseconds end) {
  while (!events_.empty() && events_.next().time <= end) {
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
      default:
        break;
    }
  }
  if (events_.empty() || end == kNever) return events_.empty();
  now_ = end;
  return false;
}

/// The frames between two errors, (1 - p) / p in the mean.
void Network::draw_good_frames(Link& link) {
  if (frame_error_rate_ <= 0) return;
  const double u = static_cast<double>((next_random(link.random) >> 11) + 1) * 0x1p-53;  // (0, 1]
  link.good_frames = -std::log(u) * (1 - frame_error_rate_) / frame_error_rate_;
}

/// What go-back-N loses on so many bytes: after a bad frame everything is sent again that left before its negative
/// acknowledgement came.
Femtoseconds Network::replay_time(Link& link, uint64_t wire_bytes) {
  Femtoseconds lost = 0;
  double frames = static_cast<double>(wire_bytes) / kFrameBytes;
  while (link.good_frames < frames) {
    frames -= link.good_frames;
    lost += frame_time_ + 2 * options_.hop_latency;
    link.counters.frame_errors++;
    draw_good_frames(link);
  }
  link.good_frames -= frames;
  return lost;
}

void Network::fail_link(uint32_t chip, unsigned port) {
  const auto to = topology_.neighbor(chip, port);
  if (to == kNoChip || !links_[chip * kPorts + port].alive) return;
  for (const auto number : {chip * kPorts + port, to * kPorts + opposite(port)}) {
    links_[number].alive = false;
    links_[number].epoch++;
  }
  rebuild_tables();
  turn_queues();
}

void Network::fail_chip(uint32_t chip) {
  chip_alive_[chip] = false;
  for (unsigned port = 0; port < kPorts; port++) {
    const auto to = topology_.neighbor(chip, port);
    if (to == kNoChip) continue;
    for (const auto number : {chip * kPorts + port, to * kPorts + opposite(port)}) {
      links_[number].alive = false;
      links_[number].epoch++;
    }
  }
  rebuild_tables();
  turn_queues();
}

void Network::rebuild_tables() {
  std::vector<bool> alive(links_.size());
  std::transform(links_.begin(), links_.end(), alive.begin(), [](const Link& link) { return link.alive; });
  tables_.assign(1, FaultTables(topology_, alive));
}

/// Every packet that waits chooses its way anew. One that went round an earlier fault may go up again: the tables are
/// others now.
void Network::turn_queues() {
  for (auto& link : links_) link.waiting.clear();
  for (auto& packet : packets_) packet.went_down = false;
  for (auto& queue : queues_) queue.waiting = false;
  for (uint32_t number = 0; number < queues_.size(); number++) request(number);
}

}  // namespace weft::ici
