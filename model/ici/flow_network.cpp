#include "model/ici/flow_network.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weft::ici {

namespace {

constexpr unsigned kLists = kClasses * kOrders;  // of each chip and first port
constexpr double kFemtosecondsPerSecond = 1e15;

}  // namespace

FlowNetwork::FlowNetwork(const Topology& topology, const FlowNetworkOptions& options)
    : topology_(topology),
      options_(options),
      bandwidth_(static_cast<double>(options.link_bytes_per_second) / kFemtosecondsPerSecond),
      links_(size_t{topology.chips()} * kPorts),
      head_(links_.size() * kLists, kNone),
      tail_(links_.size() * kLists, kNone) {}

uint32_t FlowNetwork::new_flow() {
  if (free_flows_.empty()) {
    flows_.emplace_back();
    return static_cast<uint32_t>(flows_.size() - 1);
  }
  const auto index = free_flows_.back();
  free_flows_.pop_back();
  return index;
}

void FlowNetwork::send(const Message& message, Femtoseconds at) {
  assert(at >= now_ && message.from < topology_.chips() && message.to < topology_.chips());
  assert(message.traffic_class < kClasses && message.order < kOrders);
  const auto index = new_flow();
  auto& flow = flows_[index];
  flow.message = message;
  flow.bytes = options_.framing ? Network::wire_bytes(message.bytes) : message.bytes;
  flow.links.clear();
  flow.latency = 0;
  auto route = dimension_order(topology_, message.from, message.to, message.order, message.way);
  auto chip = message.from;
  for (auto port = route.port(); port != kPorts; port = route.port()) {
    flow.links.push_back(chip * kPorts + port);
    flow.latency +=
        options_.optical.is_optical(topology_, chip, port) ? options_.optical.latency : options_.hop_latency;
    chip = topology_.neighbor(chip, port);
    route.take(port);
  }
  if (at == now_)
    start(index);
  else
    events_.add(at, kSend, index, 0);
}

namespace {

uint32_t list_of(uint32_t first_link, const Message& message) {
  return (first_link * kClasses + message.traffic_class) * kOrders + message.order;
}

}  // namespace

void FlowNetwork::start(uint32_t index) {
  auto& flow = flows_[index];
  flow.next = kNone;
  if (flow.links.empty()) return events_.add(now_, kDelivered, index, 0);
  const auto list = list_of(flow.links.front(), flow.message);
  if (head_[list] != kNone) {
    flows_[tail_[list]].next = index;
    tail_[list] = index;
    return;
  }
  head_[list] = tail_[list] = index;
  set_out(index);
}

void FlowNetwork::set_out(uint32_t index) {
  auto& flow = flows_[index];
  flow.left = static_cast<double>(flow.bytes);
  flow.rate = 0;
  flow.since = now_;
  for (const auto link : flow.links) {
    links_[link].flows.push_back(index);
    touch(link);
  }
}

/// A flow's last byte has left: its links are free for others, its source sends the next.
void FlowNetwork::drained(uint32_t index) {
  auto& flow = flows_[index];
  flow.version++;
  for (const auto number : flow.links) {
    auto& link = links_[number];
    link.flows.erase(std::find(link.flows.begin(), link.flows.end(), index));
    link.bytes += flow.bytes;
    touch(number);
  }
  events_.add(now_ + flow.latency, kDelivered, index, 0);
  const auto list = list_of(flow.links.front(), flow.message);
  head_[list] = flow.next;
  if (flow.next != kNone) set_out(flow.next);
}

void FlowNetwork::touch(uint32_t number) {
  if (links_[number].seen) return;
  links_[number].seen = true;
  changed_.push_back(number);
}

/// All links and flows that hang together with what has changed. A change cannot reach others.
void FlowNetwork::gather_concerned() {
  concerned_links_.clear();
  concerned_flows_.clear();
  concerned_links_.swap(changed_);
  for (size_t i = 0; i < concerned_links_.size(); i++)
    for (const auto index : links_[concerned_links_[i]].flows) {
      auto& flow = flows_[index];
      if (flow.seen) continue;
      flow.seen = true;
      concerned_flows_.push_back(index);
      for (const auto number : flow.links) {
        if (links_[number].seen) continue;
        links_[number].seen = true;
        concerned_links_.push_back(number);
      }
    }
}

/// Bandwidth for the longest ways first, what they leave for the next shorter ones.
void FlowNetwork::share() {
  gather_concerned();
  for (const auto number : concerned_links_) {
    links_[number].free = bandwidth_;
    links_[number].seen = false;
  }
  std::stable_sort(concerned_flows_.begin(), concerned_flows_.end(),
                   [&](uint32_t a, uint32_t b) { return flows_[a].links.size() > flows_[b].links.size(); });
  for (auto first = concerned_flows_.begin(); first != concerned_flows_.end();) {
    const auto length = flows_[*first].links.size();
    const auto end = std::find_if(first, concerned_flows_.end(),
                                  [&](uint32_t index) { return flows_[index].links.size() != length; });
    fill(std::span(first, end));
    first = end;
  }
}

/// Progressive filling: the link that leaves least for each of its flows decides theirs, and so on with what is left.
void FlowNetwork::fill(std::span<const uint32_t> flows) {
  filled_links_.clear();
  for (const auto index : flows)
    for (const auto number : flows_[index].links)
      if (links_[number].undecided++ == 0) filled_links_.push_back(number);
  constexpr double kSame = 1 + 1e-9;         // links as narrow as the narrowest but for rounding
  const double nothing = bandwidth_ * 1e-9;  // what rounding has left
  for (auto open = filled_links_.size(); open > 0;) {
    double narrowest = bandwidth_;
    size_t kept = 0;
    for (size_t i = 0; i < open; i++) {
      const auto& link = links_[filled_links_[i]];
      if (link.undecided == 0) continue;
      narrowest = std::min(narrowest, link.free / link.undecided);
      filled_links_[kept++] = filled_links_[i];
    }
    open = kept;
    if (narrowest < nothing) narrowest = 0;
    for (size_t i = 0; i < open; i++) {
      const auto& link = links_[filled_links_[i]];
      if (link.undecided == 0 || link.free / link.undecided > narrowest * kSame + nothing) continue;
      for (const auto index : link.flows)
        if (flows_[index].seen && flows_[index].links.size() == flows_[flows.front()].links.size())
          give(index, narrowest);
    }
  }
}

/// A flow's new rate, and when it will be through.
void FlowNetwork::give(uint32_t index, double rate) {
  auto& flow = flows_[index];
  flow.seen = false;
  for (const auto number : flow.links) {
    links_[number].free = std::max(0.0, links_[number].free - rate);
    links_[number].undecided--;
  }
  if (rate == flow.rate) return;
  flow.left = std::max(0.0, flow.left - flow.rate * static_cast<double>(now_ - flow.since));
  flow.since = now_;
  flow.rate = rate;
  flow.version++;
  if (rate > 0)
    events_.add(now_ + static_cast<Femtoseconds>(std::llround(flow.left / rate)), kDrained, index, flow.version);
}

bool FlowNetwork::run_until(Femtoseconds end) {
  while (true) {
    if (!changed_.empty() && (events_.empty() || events_.next_time() > now_)) {
      share();  // all that happens now has happened
      continue;
    }
    if (events_.empty() || events_.next_time() > end) break;
    const auto event = events_.take();
    now_ = event.time;
    switch (event.kind) {
      case kSend:
        start(event.subject);
        break;
      case kDrained:
        if (flows_[event.subject].version == event.object) drained(event.subject);
        break;
      case kDelivered: {
        const auto message = flows_[event.subject].message;
        free_flows_.push_back(event.subject);
        messages_++;
        if (handler_) handler_(message, now_);
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

}  // namespace weft::ici
