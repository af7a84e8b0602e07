// Fetches what the next events will touch. A large slice's network does not fit into a cache: without this a hop waits
// for memory most of its time.
#include "model/ici/network.hpp"

namespace weft::ici {

/// What an event will touch by its own numbers, so that it is here when its turn comes.
void Network::prefetch_places(const Event& event) const {
  if (event.kind == kArrive) {
    __builtin_prefetch(&packets_[event.subject]);
    __builtin_prefetch(&links_[event.object]);
    __builtin_prefetch(&links_[event.object].returning);
  } else if (event.kind == kRetry) {
    const auto& link = links_[event.subject];
    __builtin_prefetch(&link);
    __builtin_prefetch(&link.arbiter);
    __builtin_prefetch(link.credits.data());
    __builtin_prefetch(&link.counters);
  } else if (event.kind == kSend || event.kind == kDelivered) {
    __builtin_prefetch(&sendings_[event.subject]);
    if (event.kind == kDelivered) __builtin_prefetch(&receivings_[event.subject]);
  }
}

/// What is found there.
void Network::prefetch_contents(const Event& event) const {
  if (event.kind == kArrive) {
    const auto& packet = packets_[event.subject];
    const auto& link = links_[event.object];
    link.returning.prefetch_last();
    __builtin_prefetch(&queues_[link.input + packet.channel]);
    const auto& next = links_[link.to * kPorts + packet.port % kPorts];
    __builtin_prefetch(&next);
    __builtin_prefetch(&next.arbiter);
    __builtin_prefetch(next.credits.data());
    __builtin_prefetch(&next.counters);
  } else if (event.kind == kRetry) {
    const auto& link = links_[event.subject];
    link.arbiter.prefetch();
    link.returning.prefetch_first();
  }
}

/// What is found by that: of the packet that leaves.
void Network::prefetch_sender(const Event& event) const {
  if (event.kind == kArrive) {
    const auto& link = links_[event.object];
    const auto& packet = packets_[event.subject];
    links_[link.to * kPorts + packet.port % kPorts].returning.prefetch_first();
  } else if (event.kind == kRetry) {
    const auto& link = links_[event.subject];
    if (link.arbiter.empty()) return;
    link.arbiter.prefetch_accounts();
    const auto& what = link.arbiter.waiting().front();
    __builtin_prefetch(&packets_[what.packet]);
    __builtin_prefetch(&queues_[what.queue]);
    if (what.sent_on != kNone) __builtin_prefetch(&links_[what.sent_on].returning);
  }
}

void Network::prefetch(EventQueue::Source source) const {
  constexpr size_t kPlaces = 12, kContents = 8, kSender = 4;  // events ahead
  prefetch_places(events_.peek(source, kPlaces));
  prefetch_contents(events_.peek(source, kContents));
  prefetch_sender(events_.peek(source, kSender));
}

}  // namespace weft::ici
