// The network's making, and its loop.
#include "model/ici/network.hpp"

#include <algorithm>
#include <cassert>

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
      links_(size_t{topology.chips()} * (kPorts + (options.router.ingress ? 1 : 0))),
      queues_(size_t{topology.chips()} * kInputs * kChannels),
      list_head_(size_t{topology.chips()} * kPorts * kChannels, kNone),
      list_tail_(list_head_.size(), kNone),
      chip_alive_(topology.chips(), true),
      prefetches_(links_.size() * sizeof(Link) + queues_.size() * sizeof(Queue) > kNearBytes),
      limited_(options.router.any()),
      input_free_(options.router.crossbar ? size_t{topology.chips()} * kInputs : 0),
      channel_free_(options.router.channel_delay != 0 ? links_.size() * kChannels : 0),
      tables_(topology_) {
  assert(options.datelines != Datelines::kAhead || !topology.twisted());
  assert(!options.optical.any() || options.optical.latency >= options.hop_latency);
  assert(options.router.injection_queues <= RouterLimits::kMostInjectionQueues);
  // what a sender may have on its way and in the next router before the first credit is back
  const auto round_trip = 2 * longest_hop();
  const auto packet = wire_bytes(options.packet_payload_bytes);
  const auto bytes = options.buffer_packets != 0 ? static_cast<unsigned __int128>(options.buffer_packets) * packet
                                                 : static_cast<unsigned __int128>(options.link_bytes_per_second) *
                                                           round_trip / 1'000'000'000'000'000 +
                                                       2 * packet;
  buffer_bytes_ = static_cast<uint32_t>(std::min<unsigned __int128>(bytes, ~uint32_t{0}));
  set_length(full_, options.packet_payload_bytes);
  for (uint32_t chip = 0; chip < topology.chips(); chip++)
    for (unsigned port = 0; port < kPorts; port++) {
      auto& link = links_[chip * kPorts + port];
      link.to = topology.neighbor(chip, port);
      link.alive = link.to != kNoChip;
      link.input = link.alive ? queue_index(link.to, opposite(port), 0) : 0;
      link.optical = options.optical.is_optical(topology, chip, port);
      link.wraps = options.datelines != Datelines::kIgnored && topology.is_wrap_link(chip, port);
      link.credits.fill(buffer_bytes_);
      link.random = options.seed * 0x100000001b3ull + chip * kPorts + port;
      draw_error(link);
    }
  for (size_t number = size_t{topology.chips()} * kPorts; number < links_.size(); number++) links_[number].alive = true;
}

bool Network::run_until(Femtoseconds end) {
  for (;;) {
    const auto source = events_.next_source();
    const auto time = events_.front(source).time;
    if (time == kNever && under_way_ != 0) {
      break_up();
      continue;
    }
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
      case kDelivered:
        tell_delivery(event.subject, static_cast<Delivery>(event.object));
        break;
      default:
        act(event);
        break;
    }
  }
  if (events_.empty() || end == kNever) return events_.empty();
  now_ = end;
  return false;
}

/// What happens only when something is wrong.
void Network::act(const Event& event) {
  switch (event.kind) {
    case kEndDown:
      end_goes_down(event.subject, event.object / 2, event.object % 2 != 0);
      break;
    case kEndUp:
      if (links_[event.subject].retraining && links_[event.subject].session == event.object)
        end_comes_up(event.subject, event.object + 1);
      break;
    case kFarDown:
      hear_far_down(event.subject, event.object / 2, event.object % 2 != 0);
      break;
    case kFarUp:
      hear_far_up(event.subject, event.object);
      break;
    case kFarDark:
      if (links_[event.subject].session == event.object) end_goes_dark(event.subject);
      break;
    case kChipCut:
      cut_off(event.subject);
      break;
    case kNews:
      hear_news(event.subject, event.object);
      break;
    case kAcknowledged:
      hear_acknowledgement(event.subject);
      break;
    case kResume:
      if (flows_[event.subject].resume_at == now_) resume(event.subject);
      break;
    case kHead:
      request(event.subject);
      break;
    case kGiveUp:
      if (flows_[event.subject].give_up_at == now_) give_up(event.subject, Delivery::kUnreachable);
      break;
    default:
      break;
  }
}

}  // namespace weft::ici
