// The network's making, and its loop.
#include "model/ici/network.hpp"

#include <algorithm>

namespace weft::ici {
namespace {

constexpr uint64_t kFrameBytes = spec::kIciFramePayloadBytes + spec::kIciFrameHeaderBytes + spec::kIciFrameCrcBytes;

/// What lies in a cache of this size needs no prefetching, which costs a fifth of the time then.
constexpr size_t kNearBytes = 1 << 20;

}  // namespace

Network::Network(const Topology& topology, const NetworkOptions& options)
    : topology_(topology),
      options_(options),
      frame_time_(transfer_time(kFrameBytes, options.link_bytes_per_second)),
      frame_hazard_(frame_hazard(options.bit_error_rate)),
      links_(size_t{topology.chips()} * kPorts),
      queues_(size_t{topology.chips()} * kInputs * kChannels),
      flow_head_(links_.size() * kChannels, kNone),
      flow_tail_(links_.size() * kChannels, kNone),
      chip_alive_(topology.chips(), true),
      prefetches_(links_.size() * sizeof(Link) + queues_.size() * sizeof(Queue) > kNearBytes) {
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
      link.input = link.alive ? queue_index(link.to, opposite(port), 0) : 0;
      link.wraps = topology.is_wrap_link(chip, port);
      link.credits.fill(buffer_bytes_);
      link.random = options.seed * 0x100000001b3ull + chip * kPorts + port;
      draw_error(link);
    }
}

bool Network::run_until(Femtoseconds end) {
  for (;;) {
    const auto source = events_.next_source();
    const auto time = events_.front(source).time;
    if (time > end || time == kNever) break;
    if (prefetches_) prefetch(source);
    const auto event = events_.take(source);
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
