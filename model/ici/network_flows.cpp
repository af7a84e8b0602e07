// From end to end, once something has gone wrong: sources keep messages until they are acknowledged and send them again
// where a change of links may have cost packets; receivers take each packet once and in order.
#include <algorithm>
#include <cassert>

#include "model/ici/network.hpp"

namespace weft::ici {

using State = SourceFlow::State;

// ---------------------------------------------------------------- books

/// Without a fault packets of a flow arrive in order and none is lost: what sources and receivers know of it follows
/// from what is under way, and is written down only now.
void Network::open_books() {
  if (books_open_) return;
  books_open_ = true;
  chips_.resize(topology_.chips());
  unsigned farthest = 1;
  for (uint32_t chip = 0; chip < topology_.chips(); chip++) farthest = std::max(farthest, topology_.distance(0, chip));
  settle_time_ = 2 * farthest * longest_hop();
  give_up_time_ = topology_.chips() * longest_hop();

  std::vector<uint32_t> under_way;
  for (uint32_t index = 0; index < sendings_.size(); index++) {
    if (receivings_[index].packets_left != 0)
      under_way.push_back(index);
    else
      sendings_[index].holds = 1;  // the delivery that is about to be told, if there is one
  }
  std::sort(under_way.begin(), under_way.end(), [this](uint32_t a, uint32_t b) {
    return static_cast<int32_t>(sendings_[a].number - sendings_[b].number) < 0;
  });
  for (const auto index : under_way) enter_into_books(index);
}

/// Messages of a flow come here in order.
void Network::enter_into_books(uint32_t index) {
  auto& sending = sendings_[index];
  const auto& receiving = receivings_[index];
  const auto number = flow_of(sending.message);
  auto& flow = flows_[number];
  const auto arrived = sending.packets - receiving.packets_left;
  sending.flow = number;
  sending.number = flow.next_number++;
  sending.holds = 1 + (sending.cut < sending.packets ? 1 : 0) + (sending.cut - arrived);
  if (flow.kept.empty()) {
    flow.state = State::kSending;
    flow.queue =
        injection_queue(flow.ends, flow.route.port(), channel_of(flow.ends.traffic_class, flow.ends.order, false));
    receiver_flows_[number] = {0, 0, arrived, receiving.bytes, receiving.last_byte};
  }
  flow.kept.push_back(index);
  // Receivers acknowledge every packet. As long as nobody needed that it was not acted out; it is from now on.
  if (flow.kept.size() == 1 && arrived != 0) acknowledge(number);
}

/// The flow of a message; makes one if there is none yet.
uint32_t Network::flow_of(const Message& message) {
  const auto [place, fresh] = chips_[message.from].flows.try_emplace(flow_key(message), 0);
  if (fresh) {
    place->second = static_cast<uint32_t>(flows_.size());
    auto& flow = flows_.emplace_back();
    flow.ends = message;
    flow.route = dimension_order(topology_, message.from, message.to, message.order, message.way);
    receiver_flows_.emplace_back();
  }
  return place->second;
}

/// One thing less refers to a message's numbers; after the last one they are used again.
void Network::release(uint32_t index) {
  if (--sendings_[index].holds == 0) free_messages_.push_back(index);
}

// ---------------------------------------------------------------- at the source

void Network::join_flow(uint32_t index) {
  auto& sending = sendings_[index];
  const auto number = flow_of(sending.message);
  auto& flow = flows_[number];
  sending.flow = number;
  sending.route = flow.route;
  sending.number = flow.next_number++;
  sending.incarnation = flow.incarnation;
  sending.holds = 1;
  flow.kept.push_back(index);
  if (flow.state == State::kIdle) choose_way(number);
  if (flow.state == State::kSending) send_kept(number, index);
}

void Network::send_kept(uint32_t number, uint32_t index) {
  sendings_[index].holds++;
  append_to_list(index, flows_[number].queue);
}

bool Network::goes_over(const SourceFlow& flow, LinkName link) const {
  auto route = flow.route;
  auto at = flow.ends.from;
  for (unsigned port = route.port(); port != kPorts; port = route.port()) {
    if (link_name(topology_, at, port) == link) return true;
    at = topology_.neighbor(at, port);
    route.take(port);
  }
  return false;
}

bool Network::way_is_alive(const SourceFlow& flow) const {
  const auto& view = chips_[flow.ends.from].view;
  auto route = flow.route;
  auto at = flow.ends.from;
  for (unsigned port = route.port(); port != kPorts; port = route.port()) {
    if (!view.is_alive(link_name(topology_, at, port))) return false;
    at = topology_.neighbor(at, port);
    route.take(port);
  }
  return true;
}

/// In dimension order if all of that way lives, else by the tables, else none: then the flow waits, for as long as news
/// of another way may be under way.
void Network::choose_way(uint32_t number) {
  auto& flow = flows_[number];
  const auto [from, to] = std::pair(flow.ends.from, flow.ends.to);
  flow.state = State::kSending;
  flow.by_tables = !way_is_alive(flow);
  if (!flow.by_tables) {
    flow.queue =
        injection_queue(flow.ends, flow.route.port(), channel_of(flow.ends.traffic_class, flow.ends.order, false));
  } else if (tables(from).reaches(from, to)) {
    flow.queue =
        injection_queue(flow.ends, tables(from).port(from, to, false), fault_channel_of(flow.ends.traffic_class));
  } else {
    flow.state = State::kParked;
    flow.give_up_at = now_ + give_up_time_;
    events_.add(flow.give_up_at, kGiveUp, number, 0);
  }
}

/// A link has changed, as this chip has learnt. Packets that followed the old tables are lost, and so may be those
/// whose way goes over the link: their flows stop.
void Network::turn_flows(uint32_t chip, LinkName link) {
  for (const auto& [key, number] : chips_[chip].flows) {
    const auto& flow = flows_[number];
    const bool parked = flow.state == State::kParked && tables(chip).reaches(chip, flow.ends.to);
    const bool sending = flow.state == State::kSending && (flow.by_tables || goes_over(flow, link));
    if (parked || sending) wait_for_acknowledgements(number);
  }
  for (unsigned port = 0; port < kPorts; port++)
    for (unsigned channel = 0; channel < kChannels; channel++) withdraw(queue_index(chip, kPorts + port, channel));
}

/// Takes messages of flows that have stopped out of a list, and their packet that has not set out.
void Network::withdraw(uint32_t queue_number) {
  const auto list = message_list(queue_number);
  const auto stopped = [this](uint32_t index) { return flows_[sendings_[index].flow].state != State::kSending; };
  auto rest = std::exchange(list_head_[list], kNone);
  while (rest != kNone) {
    const auto index = rest;
    rest = sendings_[index].next;
    sendings_[index].next = kNone;
    if (stopped(index)) {
      release(index);
      continue;
    }
    if (list_head_[list] == kNone)
      list_head_[list] = index;
    else
      sendings_[list_tail_[list]].next = index;
    list_tail_[list] = index;
  }
  auto& queue = queues_[queue_number];
  if (queue.head == kNone || !stopped(packets_[queue.head].message)) return;
  for (unsigned port = 0; port < kPorts; port++)  // what a chip sends never asks for its ingress
    links_[chip_of_queue(queue_number) * kPorts + port].arbiter.remove_if(
        [queue_number](const Waiting& waiting) { return waiting.queue == queue_number; });
  queue.waiting = 0;
  discard(std::exchange(queue.head, kNone));
  cut_packet(queue_number, now_);
}

/// The timer of sending again: it goes off when acknowledgements have come of all that arrives nevertheless, congestion
/// apart.
void Network::wait_for_acknowledgements(uint32_t number) {
  auto& flow = flows_[number];
  flow.state = State::kWaiting;
  flow.give_up_at = kNever;
  flow.resume_at = now_ + settle_time_;
  events_.add(flow.resume_at, kResume, number, 0);
}

/// Sends again what is not acknowledged, and what has been waiting behind it.
void Network::resume(uint32_t number) {
  flows_[number].resume_at = kNever;
  choose_way(number);
  if (flows_[number].state != State::kSending) return;
  for (const auto index : flows_[number].kept) sendings_[index].cut = 0;
  sendings_[flows_[number].kept.front()].cut = flows_[number].acknowledged;
  for (const auto index : flows_[number].kept) send_kept(number, index);
}

void Network::give_up(uint32_t number, Delivery how) {
  auto& flow = flows_[number];
  for (const auto index : flow.kept) {  // the flow's hold becomes the delivery's
    sendings_[index].cut = sendings_[index].packets;
    under_way_--;
    events_.add(now_, kDelivered, index, static_cast<uint32_t>(how));
  }
  flow.kept.clear();
  flow.state = State::kIdle;
  flow.resume_at = flow.give_up_at = kNever;
  flow.incarnation++;
  flow.next_number = flow.acknowledged = 0;
}

void Network::hear_acknowledgement(uint32_t number) {
  auto& flow = flows_[number];
  const auto [incarnation, message, packets] = flow.acknowledgements.front();
  flow.acknowledgements.pop_front();
  if (incarnation != flow.incarnation) return;
  assert(!flow.kept.empty() && sendings_[flow.kept.front()].number == message);
  const auto index = flow.kept.front();
  auto& sending = sendings_[index];
  sending.cut = std::max(sending.cut, packets);
  flow.acknowledged = packets;
  if (packets != sending.packets) return;
  flow.acknowledged = 0;
  flow.kept.pop_front();
  under_way_--;
  release(index);
  if (!flow.kept.empty()) return;
  flow.state = State::kIdle;
  flow.resume_at = flow.give_up_at = kNever;
}

/// Messages at the head of a list whose packets need not be sent any more: acknowledgements have overtaken them.
void Network::drop_finished(uint32_t list) {
  while (list_head_[list] != kNone) {
    const auto index = list_head_[list];
    if (sendings_[index].cut < sendings_[index].packets) return;
    list_head_[list] = sendings_[index].next;
    release(index);
  }
}

// ---------------------------------------------------------------- at the receiver

void Network::receive(uint32_t index, Femtoseconds last_byte) {
  const auto& packet = packets_[index];
  const auto message = packet.message;
  auto& sending = sendings_[message];
  auto& flow = receiver_flows_[sending.flow];
  if (static_cast<int32_t>(sending.incarnation - flow.incarnation) > 0)
    flow = {sending.incarnation, 0, 0, 0, flow.last_byte};
  const bool expected =
      sending.incarnation == flow.incarnation && sending.number == flow.number && packet.place == flow.packet;
  if (expected) {
    flow.packet++;
    flow.bytes += packet.payload_bytes;
    flow.last_byte = std::max(flow.last_byte, last_byte);
    acknowledge(sending.flow);
    if (flow.packet == sending.packets) {
      receivings_[message].bytes = flow.bytes;
      sending.holds++;
      events_.add(flow.last_byte, kDelivered, message, static_cast<uint32_t>(Delivery::kDone));
      flow = {flow.incarnation, flow.number + 1, 0, 0, flow.last_byte};
    }
  }
  forget(index);
}

/// Tells the source how far the flow has come, a hop's time for each link on the way and no bandwidth: it rides on
/// frames that travel anyway.
void Network::acknowledge(uint32_t number) {
  const auto& receiver = receiver_flows_[number];
  auto& flow = flows_[number];
  flow.acknowledgements.push_back({receiver.incarnation, receiver.number, receiver.packet});
  const auto way = options_.optical.way_time(topology_, flow.ends.to, flow.ends.from, options_.hop_latency);
  events_.add(std::max(now_, receiver.last_byte) + way, kAcknowledged, number, 0);
}

}  // namespace weft::ici
