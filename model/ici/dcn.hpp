/// The data-centre network (DCN) between the hosts of several slices, at the grain of packets or of flows.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "model/ici/event_queue.hpp"
#include "model/ici/time.hpp"
#include "weft/spec/dcn.hpp"

namespace weft::ici {

/// kPackets: a message is cut into packets, each an event. kFlows: it is a stream of bytes at one rate.
enum class Grain : uint8_t { kPackets, kFlows };

struct DcnOptions {
  uint32_t hosts = 0;
  uint64_t bytes_per_second = 0;  ///< of a host's interfaces together, each way, on the wire; > 0
  Femtoseconds latency = spec::kDcnLatencyUs * kMicrosecond;  ///< from a host's memory to another's
  bool framing = true;  ///< false: messages take the time of their payload alone, to be compared with closed forms
  Grain grain = Grain::kPackets;
};

struct DcnMessage {
  uint32_t from = 0, to = 0;  ///< hosts, two different ones
  uint64_t bytes = 0;         ///< payload
  uint64_t tag = 0;           ///< the sender's
};

/// Each host has interfaces of one bandwidth out and in; between them nothing blocks: switches have room for all that
/// waits in front of a receiver, and lose nothing. A host's messages set out one after the other. As packets, those
/// that reach a receiver at once follow each other in the order of their first bytes; as flows, they share its
/// bandwidth alike, and a sender sends no faster than its receiver takes.
///
/// It owns its clock; nothing happens but in run_until. Deterministic. One thread.
class Dcn {
 public:
  using Handler = std::function<void(const DcnMessage&, Femtoseconds)>;

  explicit Dcn(const DcnOptions& options);

  /// Called when the last byte of a message has arrived; the handler may send.
  void on_delivery(Handler handler) { handler_ = std::move(handler); }
  /// Sends at `at`, not before now().
  void send(const DcnMessage& message, Femtoseconds at);
  /// Runs what happens up to `end`.
  void run_until(Femtoseconds end);

  [[nodiscard]] Femtoseconds next_event() const { return events_.next_time(); }
  [[nodiscard]] Femtoseconds now() const { return now_; }
  [[nodiscard]] uint64_t bytes_sent(uint32_t host) const { return hosts_[host].bytes_sent; }  ///< on the wire

  /// Bytes on the wire of so much payload: full packets and a rest, at least one.
  static uint64_t wire_bytes(uint64_t payload_bytes);

 private:
  enum EventKind : uint16_t { kSend, kLeave, kArrive, kDrained, kDelivered };

  struct Sending {
    DcnMessage message;
    uint64_t left = 0;  // kPackets: payload that has not set out
    double unsent = 0;  // kFlows: bytes on the wire at `since`
    double rate = 0;    // kFlows: bytes a femtosecond
    Femtoseconds since = 0;
    uint32_t version = 0;  // of the rate: an older drained event is void
  };
  struct Host {
    std::deque<uint32_t> sends;       // the first one is on its way out
    std::vector<uint32_t> receives;   // kFlows: what streams in
    Femtoseconds receives_until = 0;  // kPackets: when all that has reached it is in
    uint64_t bytes_sent = 0;
  };

  void start(uint32_t index);
  void set_out(uint32_t index);
  void leave(uint32_t index);
  void arrive(uint32_t index, uint64_t payload_bytes);
  void share(uint32_t receiver);
  void drained(uint32_t index);
  void next_of(uint32_t sender);
  void deliver(uint32_t index);
  [[nodiscard]] Femtoseconds packet_time(uint64_t payload_bytes) const;
  [[nodiscard]] uint64_t length(uint64_t payload_bytes) const {
    return options_.framing ? wire_bytes(payload_bytes) : payload_bytes;
  }

  DcnOptions options_;
  EventQueue events_;
  Femtoseconds now_ = 0;
  std::vector<Host> hosts_;
  std::vector<Sending> sendings_;
  std::vector<uint32_t> free_;
  Handler handler_;
};

}  // namespace weft::ici
