/// The network of a slice at the grain of packets: routers with virtual cut-through, links with credits, one event a
/// packet and hop.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/ici/arbiter.hpp"
#include "model/ici/arrival_times.hpp"
#include "model/ici/credit_returns.hpp"
#include "model/ici/event_queue.hpp"
#include "model/ici/large_vector.hpp"
#include "model/ici/link_state.hpp"
#include "model/ici/link_view.hpp"
#include "model/ici/optical_links.hpp"
#include "model/ici/router_limits.hpp"
#include "model/ici/routing.hpp"
#include "model/ici/time.hpp"
#include "model/ici/topology.hpp"
#include "model/ici/transport.hpp"
#include "weft/spec/ici.hpp"

namespace weft::ici {

struct NetworkOptions {
  uint64_t link_bytes_per_second = 45'000'000'000;  ///< on the wire, one way
  Femtoseconds hop_latency = spec::kIciHopLatencyNs * kNanosecond;
  OpticalLinks optical = {};                                     ///< hops that take longer
  double bit_error_rate = 0;                                     ///< of every link
  uint64_t seed = 1;                                             ///< each link draws from its own sequence
  uint64_t packet_payload_bytes = spec::kIciPacketPayloadBytes;  ///< largest, > 0, < 2^31
  bool framing = true;  ///< false: packets take the time of their payload alone, to be compared with closed forms
  /// Of a link's virtual channel, in full packets; 0: what keeps the link busy (bandwidth x round trip, two packets).
  uint32_t buffer_packets = 0;
  /// kIgnored: packets keep to their first channel. A saturated ring deadlocks then, which shows that it would be told.
  Datelines datelines = Datelines::kKept;
  RouterLimits router = {};
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

/// How a message ended. kUnreachable and kStuck are told at its source, which cannot know whether the message has
/// arrived after all: then both are told.
enum class Delivery : uint8_t {
  kDone,         ///< the last byte has arrived
  kUnreachable,  ///< a fault has left no way
  kStuck,        ///< packets waited for each other, and nothing could happen any more
};

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
///
/// No chip acts on another one within a hop's time: news of links, acknowledgements and credits take it too. What
/// fail_link, fail_chip and revive_link do comes from outside, to both ends at once.
class Network {
 public:
  using Handler = std::function<void(const Message&, Delivery, Femtoseconds)>;
  using Observer = std::function<void(const Hop&)>;
  using TroubleSource = std::function<LinkTrouble(uint32_t chip, unsigned port)>;
  using StuckHandler = std::function<void(const std::string& report)>;

  Network(const Topology& topology, const NetworkOptions& options);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Called when the last byte of a message has arrived, and when its source gives it up; the handler may send.
  void on_delivery(Handler handler) { handler_ = std::move(handler); }

  /// Told of every packet that sets out on the last link of its way, with the moment of its last byte's arrival.
  /// Outlives the network; nullptr: nobody asks.
  void note_arrivals(ArrivalTimes* arrivals) { arrivals_ = arrivals; }

  /// Told of every hop; must not send. For traces and maps of link use.
  void on_hop(Observer observer) { observer_ = std::move(observer); }

  /// Told when messages are under way and no event is left, with the circle of buffers that wait for each other. All
  /// packets are dropped then, and all messages under way end as kStuck.
  void on_stuck(StuckHandler handler) { stuck_handler_ = std::move(handler); }

  /// Sends at `at`, not before now(). The source keeps the message in its memory until all of it is acknowledged.
  void send(const Message& message, Femtoseconds at);

  /// Both directions of a link, or all links of a chip, die now. Packets on them are lost; their sources send them
  /// again by other ways once they know.
  void fail_link(uint32_t chip, unsigned port);
  void fail_chip(uint32_t chip);
  /// Both directions of a dead link live again, if its chips do.
  void revive_link(uint32_t chip, unsigned port);
  /// Chips that live again, all of them, with all links to chips that live: others have taken their places.
  void replace_chips(const std::vector<uint32_t>& chips);
  /// Asked whenever a packet leaves by a link, once a packet and hop.
  void set_trouble(TroubleSource source) { trouble_ = std::move(source); }
  [[nodiscard]] LinkState state(uint32_t chip, unsigned port) const;

  /// Runs what happens up to `end`, and until nothing is left to happen. False if events are left.
  bool run_until(Femtoseconds end);
  [[nodiscard]] Femtoseconds next_event() const { return events_.next_time(); }

  [[nodiscard]] Femtoseconds now() const { return now_; }
  /// A link has died, or messages have been stuck: from then on some may end at a moment that arrivals do not name.
  [[nodiscard]] bool troubled() const { return books_open_; }
  [[nodiscard]] uint64_t packet_hops() const { return packet_hops_; }
  [[nodiscard]] uint32_t packets_in_flight() const { return in_flight_; }
  /// Messages that have begun and not ended, as their sources know it.
  [[nodiscard]] uint64_t messages_under_way() const { return under_way_; }
  /// What contradicts the rules that keep packets from blocking each other: generations that mix, ends that their chip
  /// takes for something else, credits that are lost. For tests; looks at everything.
  [[nodiscard]] std::optional<std::string> audit() const;
  [[nodiscard]] const LinkCounters& link(uint32_t chip, unsigned port) const {
    return links_[chip * kPorts + port].counters;
  }
  [[nodiscard]] const Topology& topology() const { return topology_; }

  /// Bytes on the wire of so much payload, in full packets and a rest.
  static uint64_t wire_bytes(uint64_t payload_bytes);

 private:
  enum EventKind : uint16_t {
    kSend,
    kArrive,
    kRetry,
    kDelivered,
    // of a link's end, with its session
    kEndDown,
    kEndUp,
    kFarDown,
    kFarUp,
    kFarDark,
    kChipCut,
    kNews,  // at a link's end
    // of a flow
    kAcknowledged,
    kResume,
    kGiveUp,
    kHead,  // of a queue, which has waited for `head_delay`
  };
  static constexpr uint32_t kNone = kNothing;
  static constexpr unsigned kInputs =
      2 * kPorts;  // of a router: its ports, then the chip itself, once for each first port

  /// What a hop needs, in one cache line.
  struct alignas(64) Packet {
    uint32_t payload_bytes = 0;
    uint32_t wire_bytes = 0;
    Femtoseconds time = 0;  // on a link, without replays
    uint32_t next = kNone;  // in its queue
    uint32_t message = 0;
    uint32_t number = 0;
    uint32_t place = 0;  // in its message
    uint32_t to = 0;
    uint32_t sent_on = kNone;  // link of its last hop
    uint32_t session = 0;      // of that link when it was sent; kNone: something befell it there
    uint32_t generation = 0;   // by tables: of its source's view
    uint32_t credit_delay_ns = 0;
    DimensionOrder route;
    uint8_t port = 0;  // route.port()
    uint8_t traffic_class = 0;
    uint8_t channel = 0;
    uint8_t axis = kAxes;
    uint8_t account = 0;  // of its source, in arbiters
    bool past_dateline : 1 = false;
    bool by_tables : 1 = false;
    bool went_down : 1 = false;
  };
  static_assert(sizeof(Packet) == 64);
  struct Queue {
    uint32_t head = kNone;
    uint32_t tail : 31 = kNone >> 1;
    uint32_t waiting : 1 = 0;  // its head stands in a link's list
  };
  /// A direction of a link, and the sender's end of it. What is touched together shares a cache line.
  struct alignas(64) Link {
    uint32_t to = kNoChip;
    uint32_t input = 0;    // queue of channel 0 that its packets wait in
    uint32_t session = 0;  // counts the times that the end came up
    bool alive = false;
    bool wraps = false;
    bool retraining = false;
    bool optical = false;
    Femtoseconds busy_until = 0;
    Femtoseconds retry_at = kNever;
    alignas(64) Arbiter arbiter;
    alignas(64) CreditReturns returning;
    alignas(64) std::array<uint32_t, kChannels> credits{};  // bytes
    uint64_t random = 0;
    double until_error = 0;  // what its frames may still take of errors (frame_hazard) until one is damaged
    alignas(64) LinkCounters counters;
  };
  /// News on its way over a link.
  struct News {
    LinkNews news;
    uint32_t session;  // of the link
  };

  [[nodiscard]] uint32_t queue_index(uint32_t chip, unsigned input, unsigned channel) const {
    return (chip * kInputs + input) * kChannels + channel;
  }
  static uint32_t chip_of_queue(uint32_t queue) { return queue / (kInputs * kChannels); }
  /// Where a chip's messages stand whose packets set out by this port and channel.
  [[nodiscard]] uint32_t injection_queue(const Message& message, unsigned port, unsigned channel) const {
    const auto queues = options_.router.injection_queues;
    if (queues == 0) return queue_index(message.from, kPorts + port, channel);
    return queue_index(message.from, kPorts, message.traffic_class * queues + message.to % queues);
  }
  static bool is_injection(uint32_t queue) { return queue / kChannels % kInputs >= kPorts; }
  /// Where the messages stand that feed an injection queue.
  static uint32_t message_list(uint32_t queue) {
    return (chip_of_queue(queue) * kPorts + queue / kChannels % kInputs - kPorts) * kChannels + queue % kChannels;
  }
  /// The other end of the same link.
  /// Of a link, and of its way back.
  [[nodiscard]] Femtoseconds hop_time(const Link& link) const {
    return link.optical ? options_.optical.latency : options_.hop_latency;
  }
  [[nodiscard]] Femtoseconds hop_time(uint32_t number) const {
    return options_.optical.any() ? hop_time(links_[number]) : options_.hop_latency;
  }
  [[nodiscard]] Femtoseconds longest_hop() const {
    return options_.optical.any() ? options_.optical.latency : options_.hop_latency;
  }
  [[nodiscard]] uint32_t back(uint32_t link) const { return links_[link].to * kPorts + opposite(link % kPorts); }

  // messages and packets
  void act(const Event& event);
  void start_message(uint32_t message);
  void append_to_list(uint32_t message, uint32_t queue);
  void cut_packet(uint32_t queue, Femtoseconds from);
  void drop_finished(uint32_t list);
  void finish(uint32_t packet, Femtoseconds last_byte);
  void tell_delivery(uint32_t message, Delivery how);
  void set_length(Packet& packet, uint64_t payload_bytes) const;
  /// What a packet takes of a link's time and of a buffer.
  [[nodiscard]] uint32_t link_bytes(const Packet& packet) const {
    return options_.framing ? packet.wire_bytes : packet.payload_bytes;
  }
  uint32_t new_packet();
  uint32_t new_message();

  // hops
  void arrive(uint32_t packet, uint32_t link);
  void enqueue(uint32_t packet, uint32_t queue, Femtoseconds from);
  void request(uint32_t queue);
  void serve(uint32_t link);
  void retry(uint32_t link, Femtoseconds at);
  void new_head(uint32_t queue, Femtoseconds from);
  void follow(uint32_t queue, Femtoseconds from);
  void tell(const Packet& packet, uint32_t link, Femtoseconds replay) const;
  void transmit(uint32_t link, const Waiting& what);
  void collect_credits(Link& link) const;
  void return_credits(uint32_t link, uint8_t channel, uint32_t bytes, Femtoseconds at);
  void discard(uint32_t packet);
  void forget(uint32_t packet);
  [[nodiscard]] uint8_t next_channel(const Packet& packet, uint32_t link) const;
  void prefetch(EventQueue::Source source) const;
  void prefetch_places(const Event& event) const;
  void prefetch_contents(const Event& event) const;
  void prefetch_sender(const Event& event) const;

  // routers that are not ideal
  [[nodiscard]] uint32_t ingress_of(uint32_t chip) const { return topology_.chips() * kPorts + chip; }
  [[nodiscard]] bool is_ingress(uint32_t link) const { return link >= topology_.chips() * kPorts; }
  [[nodiscard]] uint32_t wanted_link(const Packet& packet, uint32_t chip);
  [[nodiscard]] Femtoseconds free_at(uint32_t link, const Waiting& waiting) const;
  void serve_limited(uint32_t link);
  Femtoseconds occupy(uint32_t link, const Waiting& what, Femtoseconds until);
  void take_in(uint32_t link, const Waiting& what);

  // faults
  /// Expected damaged frames for each whole one.
  static double frame_hazard(double bit_error_rate);
  Femtoseconds replay_time(Link& link, uint64_t wire_bytes, double hazard);
  static void draw_error(Link& link);
  void strike(uint32_t link, const LinkTrouble& trouble);
  void end_goes_down(uint32_t end, uint32_t session, bool comes_back);
  void hear_far_down(uint32_t end, uint32_t session, bool comes_back);
  void end_goes_dark(uint32_t end);
  void end_comes_up(uint32_t end, uint32_t session);
  void hear_far_up(uint32_t end, uint32_t session);
  void cut_off(uint32_t chip);
  void die(uint32_t end, bool comes_back);
  void rise(uint32_t end, uint32_t session);

  // news of links
  [[nodiscard]] LinkName name(uint32_t end) const { return link_name(topology_, end / kPorts, end % kPorts); }
  void learn(uint32_t chip, const LinkNews& news, uint32_t heard_by);
  void send_news(uint32_t end, const LinkNews& news);
  void hear_news(uint32_t end, uint32_t news);
  void drop_old_packets(uint32_t chip);
  [[nodiscard]] const FaultTables& tables(uint32_t chip);

  // from end to end, once the books are open
  void open_books();
  void enter_into_books(uint32_t message);
  uint32_t flow_of(const Message& message);
  void join_flow(uint32_t message);
  void send_kept(uint32_t flow, uint32_t message);
  void choose_way(uint32_t flow);
  [[nodiscard]] bool goes_over(const SourceFlow& flow, LinkName link) const;
  [[nodiscard]] bool way_is_alive(const SourceFlow& flow) const;
  void turn_flows(uint32_t chip, LinkName link);
  void withdraw(uint32_t queue);
  void wait_for_acknowledgements(uint32_t flow);
  void resume(uint32_t flow);
  void give_up(uint32_t flow, Delivery how);
  void receive(uint32_t packet, Femtoseconds last_byte);
  void acknowledge(uint32_t flow);
  void hear_acknowledgement(uint32_t flow);
  void release(uint32_t message);

  // nothing moves any more
  void break_up();
  [[nodiscard]] std::string describe_stuck();
  [[nodiscard]] uint32_t waits_for(uint32_t queue);
  [[nodiscard]] std::string buffer_name(uint32_t queue) const;

  const Topology topology_;
  NetworkOptions options_;
  EventQueue events_;
  Femtoseconds now_ = 0;
  Femtoseconds frame_time_;
  double frame_hazard_;
  uint32_t buffer_bytes_;
  Packet full_;  // the length of the largest packet
  LargeVector<Link> links_;
  LargeVector<Queue> queues_;
  std::vector<uint32_t> list_head_, list_tail_;  // messages to be sent, for each chip, first port and channel
  LargeVector<Packet> packets_;
  std::vector<uint32_t> free_packets_, free_messages_;
  LargeVector<Sending> sendings_;      // messages at their sources
  LargeVector<Receiving> receivings_;  // the same messages at their receivers
  std::vector<bool> chip_alive_;
  bool prefetches_;
  const bool limited_;                      // by options_.router
  std::vector<Femtoseconds> input_free_;    // with a crossbar: when an input may pass on the next packet
  std::vector<Femtoseconds> channel_free_;  // of links, with a delay of channels
  bool books_open_ = false;                 // something has gone wrong
  std::vector<ChipBooks> chips_;
  std::vector<SourceFlow> flows_;
  std::vector<ReceiverFlow> receiver_flows_;  // the same flows at their receivers
  TablesOfViews tables_;
  std::vector<News> news_;
  std::vector<uint32_t> free_news_;
  Femtoseconds settle_time_ = 0;   // news reach all chips by the shortest ways, and their acknowledgements come back
  Femtoseconds give_up_time_ = 0;  // news reach all chips by whatever way
  Handler handler_;
  Observer observer_;
  ArrivalTimes* arrivals_ = nullptr;
  StuckHandler stuck_handler_;
  TroubleSource trouble_;
  uint32_t packets_cut_ = 0;
  uint32_t messages_started_ = 0;
  uint64_t packet_hops_ = 0;
  uint64_t under_way_ = 0;
  uint32_t in_flight_ = 0;
  uint32_t period_ = 0;  // counts the times that no packet was left: what arbiters remember ends then
};

}  // namespace weft::ici
