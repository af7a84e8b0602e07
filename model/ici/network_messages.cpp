// From messages to packets, and from packets to messages that have arrived.
#include <algorithm>
#include <cassert>

#include "model/ici/network.hpp"

namespace weft::ici {
namespace {

constexpr uint64_t kFrameOverhead = spec::kIciFrameHeaderBytes + spec::kIciFrameCrcBytes;

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

void Network::set_length(Packet& packet, uint64_t payload_bytes) const {
  packet.payload_bytes = payload_bytes;
  packet.wire_bytes = wire_bytes(payload_bytes);
  packet.time = transfer_time(link_bytes(packet), options_.link_bytes_per_second);
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
  p.port = static_cast<uint8_t>(p.route.port());
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

}  // namespace weft::ici
