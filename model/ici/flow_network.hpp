/// The network of a slice at the grain of flows: a message is a stream of bytes that shares links with others, for
/// slices whose packets are too many.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/ici/event_queue.hpp"
#include "model/ici/network.hpp"
#include "model/ici/optical_links.hpp"
#include "model/ici/time.hpp"
#include "model/ici/topology.hpp"

namespace weft::ici {

struct FlowNetworkOptions {
  uint64_t link_bytes_per_second = 45'000'000'000;  ///< on the wire, one way
  Femtoseconds hop_latency = spec::kIciHopLatencyNs * kNanosecond;
  OpticalLinks optical = {};  ///< hops that take longer
  bool framing = true;  ///< false: messages take the time of their payload alone, to be compared with closed forms
};

/// Takes the messages of `Network` the same ways, and tells their deliveries. A message that has set out occupies all
/// links of its way at one rate; links share their bandwidth by max-min fairness (Bertsekas and Gallager, Data
/// Networks, 6.5.2). Its last byte arrives a link's latency for each hop after the last one has left. Messages of a
/// chip that leave by one port in one order and class set out one after the other.
///
/// No buffers, no credits, no errors, no faults. Deterministic. One thread; nothing happens but in run_until.
class FlowNetwork {
 public:
  using Handler = std::function<void(const Message&, Femtoseconds)>;

  FlowNetwork(const Topology& topology, const FlowNetworkOptions& options);

  /// Called when the last byte of a message has arrived; the handler may send.
  void on_delivery(Handler handler) { handler_ = std::move(handler); }

  /// Sends at `at`, not before now().
  void send(const Message& message, Femtoseconds at);

  /// Runs what happens up to `end`, and until nothing is left to happen. False if events are left.
  bool run_until(Femtoseconds end);

  /// When the next thing happens; kNever: nothing is left.
  [[nodiscard]] Femtoseconds next_event() const { return changed_.empty() ? events_.next_time() : now_; }

  [[nodiscard]] Femtoseconds now() const { return now_; }
  [[nodiscard]] uint64_t messages() const { return messages_; }  ///< delivered
  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// Bytes that have left by a link, of messages that have left whole.
  [[nodiscard]] uint64_t link_bytes(uint32_t chip, unsigned port) const { return links_[chip * kPorts + port].bytes; }

 private:
  enum EventKind : uint16_t { kSend, kDrained, kDelivered };
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Flow {
    Message message;
    std::vector<uint32_t> links;  // of its way
    Femtoseconds latency = 0;     // of them all
    uint64_t bytes = 0;           // on the wire
    double left = 0;              // bytes at `since`
    double rate = 0;              // bytes a femtosecond
    Femtoseconds since = 0;
    uint32_t version = 0;   // of the rate: an older drained event is void
    uint32_t next = kNone;  // in its source's list
    bool seen = false;      // by the search for those that a change concerns
  };
  struct Link {
    std::vector<uint32_t> flows;
    double free = 0;         // bandwidth not yet given away
    uint32_t undecided = 0;  // flows of this length without a rate
    bool seen = false;
    uint64_t bytes = 0;
  };

  void start(uint32_t flow);
  void set_out(uint32_t flow);
  void drained(uint32_t flow);
  void touch(uint32_t link);
  void share();
  void gather_concerned();
  void fill(std::span<const uint32_t> flows);
  void give(uint32_t flow, double rate);
  uint32_t new_flow();

  Topology topology_;
  FlowNetworkOptions options_;
  double bandwidth_;  // bytes a femtosecond
  EventQueue events_;
  Femtoseconds now_ = 0;
  std::vector<Flow> flows_;
  std::vector<uint32_t> free_flows_;
  std::vector<Link> links_;
  std::vector<uint32_t> head_, tail_;  // of what a chip sends by a port, in an order and class
  std::vector<uint32_t> changed_;      // links that flows came to or left
  std::vector<uint32_t> concerned_links_, concerned_flows_, filled_links_;  // by a change
  Handler handler_;
  uint64_t messages_ = 0;
};

}  // namespace weft::ici
