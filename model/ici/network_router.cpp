// Routers that are not ideal: what a packet waits for besides its link and a buffer.
#include <algorithm>

#include "model/ici/network.hpp"

namespace weft::ici {

/// When neither the packet's input nor the channel that it takes is busy.
Femtoseconds Network::free_at(uint32_t number, const Waiting& waiting) const {
  Femtoseconds at = 0;
  if (options_.router.crossbar) at = input_free_[waiting.queue / kChannels];
  if (options_.router.channel_delay != 0 && !is_ingress(number))
    at = std::max(at, channel_free_[number * kChannels + waiting.channel]);
  return at;
}

/// As serve, of a link that is free and has collected its credits.
void Network::serve_limited(uint32_t number) {
  auto& link = links_[number];
  auto next = kNever;
  const auto may_go = [&](const Waiting& waiting) {
    if (!is_ingress(number) && link.credits[waiting.channel] < waiting.bytes) return false;
    const auto at = free_at(number, waiting);
    if (at > now_) next = std::min(next, at);
    return at <= now_;
  };
  const auto sharing = options_.router.first_come ? Arbiter::Sharing::kFirstCome : Arbiter::Sharing::kFair;
  if (Waiting what; link.arbiter.take_if(may_go, period_, what, sharing)) {
    if (is_ingress(number))
      take_in(number, what);
    else
      transmit(number, what);
    if (!link.arbiter.empty()) retry(number, link.busy_until);
    return;
  }
  if (!link.returning.empty()) next = std::min(next, link.returning.first().time);
  if (next != kNever) retry(number, next);
}

/// A packet leaves its queue and takes the link's channel until then. Returns from when on the next one is the queue's
/// head.
Femtoseconds Network::occupy(uint32_t number, const Waiting& what, Femtoseconds until) {
  if (options_.router.crossbar) input_free_[what.queue / kChannels] = until;
  if (options_.router.channel_delay != 0 && !is_ingress(number))
    channel_free_[number * kChannels + what.channel] = until + options_.router.channel_delay;
  return options_.router.crossbar || options_.router.head_delay != 0 ? until : now_;
}

/// The head of a queue goes into its chip.
void Network::take_in(uint32_t number, const Waiting& what) {
  auto& link = links_[number];
  auto& packet = packets_[what.packet];
  auto& queue = queues_[what.queue];
  queue.waiting = false;
  queue.head = packet.next;
  link.busy_until = now_ + packet.time;
  return_credits(packet.sent_on, packet.channel, what.bytes,
                 link.busy_until + hop_time(packet.sent_on) + packet.credit_delay_ns * kNanosecond);
  finish(what.packet, link.busy_until);
  follow(what.queue, occupy(number, what, link.busy_until));
}

}  // namespace weft::ici
