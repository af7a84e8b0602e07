#include "model/ici/dcn.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weft::ici {

namespace {

constexpr double kFemtosecondsPerSecond = 1e15;
constexpr uint32_t kLastPacket = 1u << 31;  // of an arrival's second word; below it the payload's bytes

}  // namespace

Dcn::Dcn(const DcnOptions& options) : options_(options), hosts_(options.hosts) { assert(options.bytes_per_second > 0); }

uint64_t Dcn::wire_bytes(uint64_t payload_bytes) {
  const uint64_t packets =
      std::max<uint64_t>(1, (payload_bytes + spec::kDcnPacketPayloadBytes - 1) / spec::kDcnPacketPayloadBytes);
  return payload_bytes + packets * spec::kDcnPacketHeaderBytes;
}

Femtoseconds Dcn::packet_time(uint64_t payload_bytes) const {
  return transfer_time(length(payload_bytes), options_.bytes_per_second);
}

void Dcn::send(const DcnMessage& message, Femtoseconds at) {
  assert(at >= now_ && message.from != message.to && message.from < hosts_.size() && message.to < hosts_.size());
  uint32_t index = static_cast<uint32_t>(sendings_.size());
  if (free_.empty()) {
    sendings_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  auto& sending = sendings_[index];
  sending.message = message;
  sending.left = message.bytes;
  events_.add(at, kSend, index, 0);
}

void Dcn::start(uint32_t index) {
  auto& sends = hosts_[sendings_[index].message.from].sends;
  sends.push_back(index);
  if (sends.size() == 1) set_out(index);
}

void Dcn::set_out(uint32_t index) {
  if (options_.grain == Grain::kPackets) {
    leave(index);
    return;
  }
  auto& sending = sendings_[index];
  sending.unsent = static_cast<double>(length(sending.message.bytes));
  sending.rate = 0;
  sending.since = now_;
  hosts_[sending.message.to].receives.push_back(index);
  share(sending.message.to);
}

/// A message's next packet leaves its host, or the next message if that was the last one.
void Dcn::leave(uint32_t index) {
  auto& sending = sendings_[index];
  const uint64_t payload = std::min<uint64_t>(sending.left, spec::kDcnPacketPayloadBytes);
  sending.left -= payload;
  const bool last = sending.left == 0;
  hosts_[sending.message.from].bytes_sent += length(payload);
  events_.add(now_ + options_.latency, kArrive, index, static_cast<uint32_t>(payload) | (last ? kLastPacket : 0));
  events_.add(now_ + packet_time(payload), kLeave, last ? sending.message.from : index, last ? 1 : 0);
}

/// The first byte of a packet has reached its receiver.
void Dcn::arrive(uint32_t index, uint64_t what) {
  auto& host = hosts_[sendings_[index].message.to];
  host.receives_until = std::max(now_, host.receives_until) + packet_time(what & ~kLastPacket);
  if ((what & kLastPacket) != 0) events_.add(host.receives_until, kDelivered, index, 0);
}

void Dcn::next_of(uint32_t sender) {
  auto& sends = hosts_[sender].sends;
  sends.pop_front();
  if (!sends.empty()) set_out(sends.front());
}

/// What streams into a host has new rates.
void Dcn::share(uint32_t receiver) {
  const auto& receives = hosts_[receiver].receives;
  const double rate = static_cast<double>(options_.bytes_per_second) / kFemtosecondsPerSecond /
                      static_cast<double>(std::max<size_t>(1, receives.size()));
  for (const auto index : receives) {
    auto& sending = sendings_[index];
    sending.unsent = std::max(0.0, sending.unsent - sending.rate * static_cast<double>(now_ - sending.since));
    sending.since = now_;
    sending.rate = rate;
    const auto left = static_cast<Femtoseconds>(std::llround(sending.unsent / rate));
    events_.add(now_ + left, kDrained, index, ++sending.version);
  }
}

void Dcn::drained(uint32_t index) {
  auto& sending = sendings_[index];
  sending.version++;
  auto& receives = hosts_[sending.message.to].receives;
  receives.erase(std::find(receives.begin(), receives.end(), index));
  hosts_[sending.message.from].bytes_sent += length(sending.message.bytes);
  events_.add(now_ + options_.latency, kDelivered, index, 0);
  share(sending.message.to);
  next_of(sending.message.from);
}

void Dcn::deliver(uint32_t index) {
  const auto message = sendings_[index].message;
  free_.push_back(index);
  if (handler_) handler_(message, now_);
}

void Dcn::run_until(Femtoseconds end) {
  while (events_.next_time() <= end && !events_.empty()) {
    const auto event = events_.take();
    now_ = event.time;
    switch (event.kind) {
      case kSend:
        start(event.subject);
        break;
      case kLeave:
        event.object != 0 ? next_of(event.subject) : leave(event.subject);
        break;
      case kArrive:
        arrive(event.subject, event.object);
        break;
      case kDrained:
        if (sendings_[event.subject].version == event.object) drained(event.subject);
        break;
      case kDelivered:
        deliver(event.subject);
        break;
      default:
        break;
    }
  }
}

}  // namespace weft::ici
