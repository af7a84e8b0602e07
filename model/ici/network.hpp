/// The network of a slice at the grain of packets: routers with virtual cut-through, links with credits, one event a
/// packet and hop.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "model/ici/credit_returns.hpp"
#include "model/ici/event_queue.hpp"
#include "model/ici/large_vector.hpp"
#include "model/ici/link_state.hpp"
#include "model/ici/routing.hpp"
#include "model/ici/time.hpp"
#include "model/ici/topology.hpp"
#include "weft/spec/ici.hpp"

namespace weft::ici {

struct NetworkOptions {
  uint64_t link_bytes_per_second = 45'000'000'000;  ///< on the wire, one way
  Femtoseconds hop_latency = spec::kIciHopLatencyNs * kNanosecond;
  double bit_error_rate = 0;                                     ///< of every link
  uint64_t seed = 1;                                             ///< each link draws from its own sequence
  uint64_t packet_payload_bytes = spec::kIciPacketPayloadBytes;  ///< largest, > 0
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
  uint32_t downs = 0;       ///< times that the link went down
};

/// What happens to a packet that leaves, or to its link from then on.
struct LinkTrouble {
  enum class Kind : uint8_t {
    kNone,
    kDown,     ///< the link dies, with the packet on it
    kFlap,     ///< as kDown, and it comes back after `time`
    kDark,     ///< this direction carries nothing any more: both ends retrain for as long as a link end does, then the
               ///< link dies
    kChipCut,  ///< all links of the sending chip die
  };
  Kind kind = Kind::kNone;
  Femtoseconds time = 0;
  double bit_error_rate = 0;     ///< on top of the network's
  uint32_t credit_delay_ns = 0;  ///< of this packet's credit
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

/// A packet that sets out by a link.
struct Hop {
  uint32_t chip;
  uint8_t port;
  uint8_t traffic_class;
  bool first, last;  ///< of its way
  uint32_t packet;   ///< a number of its own, for 2^32 packets
  uint64_t message_tag;
  uint64_t payload_bytes;
  Femtoseconds from, to;               ///< first and last byte leave; replays included
  Femtoseconds first_byte, last_byte;  ///< reaches the next chip
};

/// A network. It owns its clock; nothing happens but in run_until. One thread.
class Network {
 public:
  using Handler = std::function<void(const Message&, Delivery, Femtoseconds)>;
  using Observer = std::function<void(const Hop&)>;
  using TroubleSource = std::function<LinkTrouble(uint32_t chip, unsigned port)>;

  Network(const Topology& topology, const NetworkOptions& options);

  /// Called when the last byte of a message has arrived, or when a fault leaves no way; the handler may send.
  void on_delivery(Handler handler) { handler_ = std::move(handler); }

  /// Told of every hop; must not send. For traces and maps of link use.
  void on_hop(Observer observer) { observer_ = std::move(observer); }

  /// Sends at `at`, not before now(). The message waits in the source's memory as long as its first link is not free.
  void send(const Message& message, Femtoseconds at);

  /// Both directions of a link, or all links of a chip, die now. What is under way takes other ways; a packet that was
  /// on the link is sent again.
  void fail_link(uint32_t chip, unsigned port);
  void fail_chip(uint32_t chip);
  /// Both directions of a dead link live again, if its chips do.
  void revive_link(uint32_t chip, unsigned port);
  /// Asked whenever a packet leaves by a link, once a packet and hop.
  void set_trouble(TroubleSource source) { trouble_ = std::move(source); }
  [[nodiscard]] LinkState state(uint32_t chip, unsigned port) const;

  /// Runs what happens up to `end`, and until nothing is left to happen. False if events are left.
  bool run_until(Femtoseconds end);
  [[nodiscard]] Femtoseconds next_event() const { return events_.next_time(); }

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
  enum EventKind : uint16_t { kSend, kArrive, kRetry, kDelivered, kLinkDown, kLinkUp, kChipCut };
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr unsigned kInputs =
      2 * kPorts;  // of a router: its ports, then the chip itself, once for each first port

  /// What a hop needs, in one cache line.
  struct alignas(64) Packet {
    uint64_t payload_bytes = 0;
    uint64_t wire_bytes = 0;
    Femtoseconds time = 0;  // on a link, without replays
    uint32_t next = kNone;  // in its queue
    uint32_t message = 0;
    uint32_t number = 0;
    uint32_t to = 0;
    uint32_t sent_on = kNone;  // link of its last hop
    uint32_t epoch = 0;        // of that link when it was sent
    uint32_t credit_delay_ns = 0;
    DimensionOrder route;
    uint8_t port = 0;  // route.port()
    uint8_t traffic_class = 0;
    uint8_t channel = 0;
    uint8_t axis = kAxes;
    bool past_dateline = false;
    bool around_fault = false;
    bool went_down = false;
  };
  static_assert(sizeof(Packet) == 64);
  struct Queue {
    uint32_t head = kNone;
    uint32_t tail : 31 = kNone >> 1;
    uint32_t waiting : 1 = 0;  // its head stands in a link's list
  };
  /// A queue whose head goes out by a link.
  struct Waiting {
    uint32_t queue;
    uint32_t packet;   // its head
    uint32_t sent_on;  // the head's last link
    uint32_t bytes;    // of credits that the head takes
    uint8_t channel;   // in which
  };
  /// What is touched together shares a cache line.
  struct alignas(64) Link {
    uint32_t to = kNoChip;
    uint32_t input = 0;  // queue of channel 0 that its packets wait in
    uint32_t epoch = 0;  // counts its deaths
    bool alive = false;
    bool wraps = false;
    bool retraining = false;
    Femtoseconds busy_until = 0;
    Femtoseconds retry_at = kNever;
    std::vector<Waiting> passing;                  // the one that waits longest first
    alignas(64) std::vector<Waiting> setting_out;  // likewise
    CreditReturns returning;
    alignas(64) std::array<uint32_t, kChannels> credits{};  // bytes
    uint64_t random = 0;
    double until_error = 0;  // what its frames may still take of errors (frame_hazard) until one is damaged
    alignas(64) LinkCounters counters;

    [[nodiscard]] bool has_waiting() const { return !passing.empty() || !setting_out.empty(); }
  };
  struct alignas(64) Flow {
    Message message;
    uint64_t left_bytes = 0;  // not yet cut into packets
    Femtoseconds last_byte = 0;
    DimensionOrder route;
    uint32_t packets_left = 0;  // not yet delivered
    uint32_t next = kNone;      // in its source's list
    bool unreachable = false;
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
  bool serve_one_of(std::vector<Waiting>& waiting, uint32_t link);
  void tell(const Packet& packet, uint32_t link, Femtoseconds replay) const;
  void transmit(uint32_t link, const Waiting& what);
  void collect_credits(Link& link) const;
  void return_credits(uint32_t link, uint8_t channel, uint64_t bytes, Femtoseconds at);
  void finish(uint32_t packet, Delivery how, Femtoseconds last_byte);
  void set_length(Packet& packet, uint64_t payload_bytes) const;
  /// What a packet takes of a link's time and of a buffer.
  [[nodiscard]] uint64_t link_bytes(const Packet& packet) const {
    return options_.framing ? packet.wire_bytes : packet.payload_bytes;
  }
  void prefetch(EventQueue::Source source) const;
  void prefetch_places(const Event& event) const;
  void prefetch_contents(const Event& event) const;
  void prefetch_sender(const Event& event) const;
  [[nodiscard]] unsigned choose_port(const Packet& packet, uint32_t chip) const;
  [[nodiscard]] uint8_t next_channel(const Packet& packet, uint32_t link) const;
  /// Expected damaged frames for each whole one.
  static double frame_hazard(double bit_error_rate);
  Femtoseconds replay_time(Link& link, uint64_t wire_bytes, double hazard);
  static void draw_error(Link& link);
  Femtoseconds strike(uint32_t link, const LinkTrouble& trouble);
  void take_down(uint32_t link, bool flap);
  void kill(uint32_t link);
  void rebuild_tables();
  void turn_queues();
  uint32_t new_packet();
  uint32_t new_flow();

  Topology topology_;
  NetworkOptions options_;
  EventQueue events_;
  Femtoseconds now_ = 0;
  Femtoseconds frame_time_;
  double frame_hazard_;
  uint32_t buffer_bytes_;
  Packet full_;  // the length of the largest packet
  LargeVector<Link> links_;
  LargeVector<Queue> queues_;
  std::vector<uint32_t> flow_head_, flow_tail_;  // messages to be sent, for each chip, first port and channel
  LargeVector<Packet> packets_;
  std::vector<uint32_t> free_packets_, free_flows_;
  LargeVector<Flow> flows_;
  std::vector<bool> chip_alive_;
  bool prefetches_;
  std::vector<FaultTables> tables_;  // one after a fault, else none
  Handler handler_;
  Observer observer_;
  TroubleSource trouble_;
  uint32_t packets_cut_ = 0;
  uint64_t packet_hops_ = 0;
  uint32_t in_flight_ = 0;
};

}  // namespace weft::ici
