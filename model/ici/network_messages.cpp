// From messages to packets, and from packets to messages that have arrived, as long as nothing is wrong.
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
  packet.payload_bytes = static_cast<uint32_t>(payload_bytes);
  packet.wire_bytes = static_cast<uint32_t>(wire_bytes(payload_bytes));
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

uint32_t Network::new_message() {
  if (free_messages_.empty()) {
    sendings_.emplace_back();
    receivings_.emplace_back();
    return static_cast<uint32_t>(sendings_.size() - 1);
  }
  const auto index = free_messages_.back();
  free_messages_.pop_back();
  sendings_[index] = Sending{};
  receivings_[index] = Receiving{};
  return index;
}

void Network::send(const Message& message, Femtoseconds at) {
  assert(at >= now_ && message.from < topology_.chips() && message.to < topology_.chips());
  assert(message.traffic_class < kClasses && message.order < kOrders);
  const auto index = new_message();
  sendings_[index].message = message;
  events_.add(at, kSend, index, 0);
}

void Network::start_message(uint32_t index) {
  auto& sending = sendings_[index];
  const auto& message = sending.message;
  if (message.from == message.to) {
    sending.holds = 1;
    receivings_[index].bytes = message.bytes;
    events_.add(now_, kDelivered, index, static_cast<uint32_t>(Delivery::kDone));
    return;
  }
  under_way_++;
  sending.packets =
      static_cast<uint32_t>(std::max<uint64_t>(1, divide_up(message.bytes, options_.packet_payload_bytes)));
  receivings_[index].packets_left = sending.packets;
  if (books_open_) return join_flow(index);
  sending.number = messages_started_++;
  sending.route = dimension_order(topology_, message.from, message.to, message.order, message.way);
  append_to_list(
      index, injection_queue(message, sending.route.port(), channel_of(message.traffic_class, message.order, false)));
}

/// The message's packets are cut when those before them in the list have set out.
void Network::append_to_list(uint32_t index, uint32_t queue) {
  const auto list = message_list(queue);
  sendings_[index].next = kNone;
  if (list_head_[list] == kNone)
    list_head_[list] = index;
  else
    sendings_[list_tail_[list]].next = index;
  list_tail_[list] = index;
  if (queues_[queue].head == kNone) cut_packet(queue, now_);
}

/// The next packet of what a chip has to send by this queue, if there is any.
void Network::cut_packet(uint32_t queue, Femtoseconds from) {
  const auto list = message_list(queue);
  if (books_open_) drop_finished(list);
  const auto index = list_head_[list];
  if (index == kNone) return;
  auto& sending = sendings_[index];
  const auto packet = new_packet();
  auto& p = packets_[packet];
  p.message = index;
  p.number = packets_cut_++;
  p.place = sending.cut++;
  p.to = sending.message.to;
  p.traffic_class = sending.message.traffic_class;
  p.account = Arbiter::account_of(sending.message.from);
  p.route = sending.route;
  p.port = static_cast<uint8_t>(p.route.port());
  const auto before = p.place * options_.packet_payload_bytes;
  if (sending.message.bytes - before < options_.packet_payload_bytes) {
    set_length(p, sending.message.bytes - before);
  } else {
    p.payload_bytes = full_.payload_bytes;
    p.wire_bytes = full_.wire_bytes;
    p.time = full_.time;
  }
  if (books_open_) {
    sending.holds++;
    p.by_tables = flows_[sending.flow].by_tables;
    if (p.by_tables) p.generation = chips_[sending.message.from].view.generation();
  }
  if (sending.cut == sending.packets) {
    list_head_[list] = sending.next;
    if (books_open_) release(index);
  }
  in_flight_++;
  enqueue(packet, queue, from);
}

/// A packet has come to the message's receiver.
void Network::finish(uint32_t index, Femtoseconds last_byte) {
  const auto& packet = packets_[index];
  const auto message = packet.message;
  if (books_open_) return receive(index, last_byte);
  auto& receiving = receivings_[message];
  receiving.last_byte = std::max(receiving.last_byte, last_byte);
  receiving.bytes += packet.payload_bytes;
  free_packets_.push_back(index);
  if (--in_flight_ == 0) period_++;
  if (--receiving.packets_left != 0) return;
  under_way_--;
  events_.add(receiving.last_byte, kDelivered, message, static_cast<uint32_t>(Delivery::kDone));
}

void Network::tell_delivery(uint32_t index, Delivery how) {
  auto message = sendings_[index].message;
  if (how == Delivery::kDone) message.bytes = receivings_[index].bytes;
  if (books_open_)
    release(index);
  else
    free_messages_.push_back(index);
  if (handler_) handler_(message, how, now_);
}

}  // namespace weft::ici
