/// The network of a slice at the grain of packets: routers with virtual cut-through, links with credits, one event a
/// packet and hop.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "model/ici/event_queue.hpp"
#include "model/ici/routing.hpp"
#include "model/ici/time.hpp"
#include "model/ici/topology.hpp"
#include "weft/spec/ici.hpp"

namespace weft::ici {

struct NetworkOptions {
  uint64_t link_bytes_per_second = 45'000'000'000;  ///< on the wire, one way
  Femtoseconds hop_latency = spec::kIciHopLatencyNs * kNanosecond;
  double bit_error_rate = 0;  ///< of every link
  uint64_t seed = 1;          ///< each link draws from its own sequence
  /// Largest payload of a packet. 0: a message is one packet and buffers are boundless, which makes a flow-level model
  /// for slices whose packets are too many: exact where messages do not meet on a link, first come first served where
  /// they do.
  uint64_t packet_payload_bytes = spec::kIciPacketPayloadBytes;
  bool framing = true;  ///< false: packets take the time of their payload alone, to be compared with closed forms
};

/// What a link did. Bytes and packets are counted once, however often frames were sent again.
struct LinkCounters {
  uint64_t packets = 0;
  uint64_t payload_bytes = 0;
  uint64_t wire_bytes = 0;
  uint64_t frame_errors = 0;
  Femtoseconds busy = 0;    ///< with frames, replays included
  Femtoseconds replay = 0;  ///< of that, lost to replays
};

/// A message from one chip to another, cut into packets. Messages of one source, destination, class and order arrive in
/// order.
struct Message {
  uint32_t from = 0;
  uint32_t to = 0;
  uint64_t bytes = 0;
  uint8_t traffic_class = 0;  ///< < kClasses
  uint8_t order = 0;          ///< < kOrders: in which the axes are taken
  bool other_way = false;     ///< of two ways that are as short, the one that wraps more
  uint64_t tag = 0;           ///< comes back with the delivery
};

enum class Delivery : uint8_t { kDone, kUnreachable };

/// A network. It owns its clock; nothing happens but in run_until. One thread.
class Network {
 public:
  using Handler = std::function<void(const Message&, Delivery, Femtoseconds)>;

  Network(const Topology& topology, const NetworkOptions& options);

  /// Called when the last byte of a message has arrived, or when a fault leaves no way; the handler may send.
  void on_delivery(Handler handler) { handler_ = std::move(handler); }

  /// Sends at `at`, not before now(). The message waits in the source's memory as long as its first link is not free.
  void send(const Message& message, Femtoseconds at);

  /// Both directions of a link, or all links of a chip, die now. What is under way takes other ways; a packet that was
  /// on the link is sent again.
  void fail_link(uint32_t chip, unsigned port);
  void fail_chip(uint32_t chip);

  /// Runs what happens up to `end`, and until nothing is left to happen. False if events are left.
  bool run_until(Femtoseconds end);
  [[nodiscard]] Femtoseconds next_event() const { return events_.empty() ? kNever : events_.next().time; }

  [[nodiscard]] Femtoseconds now() const { return now_; }
  [[nodiscard]] uint64_t packet_hops() const { return packet_hops_; }
  [[nodiscard]] uint32_t packets_in_flight() const { return in_flight_; }
  [[nodiscard]] const LinkCounters& link(uint32_t chip, unsigned port) const {
    return links_[chip * kPorts + port].counters;
  }
  [[nodiscard]] const Topology& topology() const { return topology_; }

  /// Bytes on the wire of so much payload, in full packets and a rest.
  static uint64_t wire_bytes(uint64_t payload_bytes);

 private:
  enum EventKind : uint16_t { kSend, kArrive, kRetry, kDelivered };
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr unsigned kInputs =
      2 * kPorts;  // of a router: its ports, then the chip itself, once for each first port

  struct Packet {
    uint32_t next = kNone;  // in its queue
    uint32_t message = 0;
    uint64_t payload_bytes = 0;
    uint32_t sent_on = kNone;  // link of its last hop
    uint32_t epoch = 0;        // of that link when it was sent
    DimensionOrder route;
    uint8_t channel = 0;
    uint8_t axis = kAxes;
    bool past_dateline = false;
    bool around_fault = false;
    bool went_down = false;
  };
  struct Queue {
    uint32_t head = kNone, tail = kNone;
    bool waiting = false;  // its head stands in a link's list
  };
  struct Credit {
    Femtoseconds time;
    uint64_t bytes;
    uint8_t channel;
  };
  struct Link {
    uint32_t to = kNoChip;
    bool alive = false;
    bool wraps = false;
    uint32_t epoch = 0;
    Femtoseconds busy_until = 0;
    Femtoseconds retry_at = kNever;
    std::vector<uint32_t> waiting;  // queues whose head goes out here, the one that waits longest first
    std::vector<Credit> returning;  // by time
    uint64_t random = 0;
    double good_frames = 0;  // until the next error, short ones in part
    LinkCounters counters;
  };
  struct Flow {
    Message message;
    uint64_t left_bytes = 0;    // not yet cut into packets
    uint32_t packets_left = 0;  // not yet delivered
    Femtoseconds last_byte = 0;
    bool unreachable = false;
    uint32_t next = kNone;  // in its source's list
  };

  [[nodiscard]] uint32_t queue_index(uint32_t chip, unsigned input, unsigned channel) const {
    return (chip * kInputs + input) * kChannels + channel;
  }
  static bool is_injection(uint32_t queue) { return queue / kChannels % kInputs >= kPorts; }
  /// Where the messages stand that feed an injection queue.
  static uint32_t flow_list(uint32_t queue) {
    return (queue / (kInputs * kChannels) * kPorts + queue / kChannels % kInputs - kPorts) * kChannels +
           queue % kChannels;
  }
  void start_message(uint32_t flow);
  void cut_packet(uint32_t queue);
  void arrive(uint32_t packet, uint32_t chip);
  void enqueue(uint32_t packet, uint32_t queue);
  void request(uint32_t queue);
  void serve(uint32_t link);
  void retry(uint32_t link, Femtoseconds at);
  bool transmit(uint32_t link, uint32_t queue);
  bool take_credits(Link& link, unsigned channel, uint64_t bytes);
  void return_credits(uint32_t link, unsigned channel, uint64_t bytes, Femtoseconds at);
  void finish(uint32_t packet, Delivery how, Femtoseconds last_byte);
  [[nodiscard]] uint64_t link_bytes(const Packet& packet) const;
  [[nodiscard]] unsigned choose_port(const Packet& packet, uint32_t chip) const;
  [[nodiscard]] unsigned next_channel(Packet& packet, uint32_t link) const;
  Femtoseconds replay_time(Link& link, uint64_t wire_bytes);
  void draw_good_frames(Link& link);
  void rebuild_tables();
  void turn_queues();
  uint32_t new_packet();
  uint32_t new_flow();

  Topology topology_;
  NetworkOptions options_;
  EventQueue events_;
  Femtoseconds now_ = 0;
  Femtoseconds frame_time_;
  double frame_error_rate_;
  uint64_t buffer_bytes_;
  std::vector<Link> links_;
  std::vector<Queue> queues_;
  std::vector<uint64_t> credits_;                // bytes, for each link and channel
  std::vector<uint32_t> flow_head_, flow_tail_;  // messages to be sent, for each chip, first port and channel
  std::vector<Packet> packets_;
  std::vector<uint32_t> free_packets_, free_flows_;
  std::vector<Flow> flows_;
  std::vector<bool> chip_alive_;
  std::vector<FaultTables> tables_;  // one after a fault, else none
  Handler handler_;
  uint64_t packet_hops_ = 0;
  uint32_t in_flight_ = 0;
};

}  // namespace weft::ici
