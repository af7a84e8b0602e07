/// The interconnect between the chips of a slice: cores' remote writes and barriers as messages of model/ici.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/chip/by_peer.hpp"
#include "model/chip/chip_options.hpp"
#include "model/chip/core_clock.hpp"
#include "model/chip/fault_injector.hpp"
#include "model/chip/number_window.hpp"
#include "model/chip/rank_share.hpp"
#include "model/chip/rank_wire.hpp"
#include "model/chip/slice_barriers.hpp"
#include "model/chip/slice_flows.hpp"
#include "model/chip/slice_parcels.hpp"
#include "model/chip/timed_heap.hpp"
#include "model/core/remote/remote_port.hpp"
#include "model/ici/arrival_times.hpp"
#include "model/ici/link_trace.hpp"
#include "model/ici/network.hpp"
#include "model/ici/slice.hpp"
#include "weft/spec/chips.hpp"

namespace weft::chip {

class CoreHost;

/// Owns the network and a port for each core. Data travel in packets with the link's bandwidth and latency; what comes
/// back (room in the interconnect, acknowledgements) takes a hop's latency for each link and no bandwidth, as it rides
/// on frames that travel anyway. Barriers are messages of the control class to the group's lowest chip and back. That a
/// core was reset is known to the other chips a hop's time later.
///
/// The pieces of a COPY take all shortest ways to the receiver by turns (ici::balanced_route), so they arrive in any
/// order; its post follows all of them, and posts of one sender at one receiver keep the order of their commands.
///
/// **Ranks.** A slice may be simulated by several processes, each with its share of the chips and the whole network.
/// What its chips give to the network, each rank gives to all others at the end of a window of simulated time of
/// lookahead_fs(), and what comes back to their senders with it; then each lets the network do what the window brought.
/// What arrives at a chip has set out on its last link a hop's time before: so by the end of a window all is known that
/// arrives in the next one. Once a fault of a link has been armed, what is on its way may be lost: from then on the
/// network is run up to a window's beginning, tells of arrivals when they happen, and its next event ends the window.
///
/// Deterministic: what happens is ordered by SliceOrder, whatever order the simulator runs the cores in. One thread.
/// Made before the chips, which it must outlive.
class SliceNetwork final : public Interconnect {
 public:
  SliceNetwork(const ici::Slice& slice, const spec::Chip& chip, const ici::NetworkOptions& options,
               const RankShare& share = {});
  ~SliceNetwork() override;

  /// The core's way out; for CoreOptions::remote.
  [[nodiscard]] core::RemotePort& port(uint32_t chip);
  /// The core behind a port in simulated time, and what faults do to packets that leave its chip.
  void attach(uint32_t chip, CoreHost& host, std::function<ici::LinkTrouble(unsigned port)> trouble);

  /// What a chip's registers tell of the slice.
  [[nodiscard]] SliceRegisters registers(uint32_t chip) const;
  /// What has left by a port until now, and the link's state.
  [[nodiscard]] weft_ici_link link(uint32_t chip, unsigned port) const;
  [[nodiscard]] const ici::Slice& slice() const { return slice_; }
  /// Other chips have taken the places of these, at both ends of all their links at once. The same in all ranks.
  void replace_chips(const std::vector<uint32_t>& chips) { network_.replace_chips(chips); }
  /// Every packet's hops go to this Chrome trace. Before anything is sent.
  void trace_to(std::shared_ptr<TraceFile> file);
  [[nodiscard]] const ici::Network& network() const { return network_; }

  // With several ranks, at the end of a window
  [[nodiscard]] const RankShare& share() const { return share_; }
  [[nodiscard]] uint32_t first_chip() const { return first_chip_; }
  /// What there is for another rank since the last exchange.
  void pack(unsigned rank, std::vector<std::byte>& bytes) const;
  /// What another rank has packed for this one.
  void unpack(std::span<const std::byte> bytes);
  /// All has been packed and unpacked: the network does what happens before `end_fs`. The first moment after that in
  /// which there is something to do on the links or at a chip of any rank, as far as it has become known by this call.
  [[nodiscard]] uint64_t exchanged(uint64_t end_fs);
  /// A window is about to begin. It ends here at the latest; UINT64_MAX: the links do not end it.
  [[nodiscard]] uint64_t begin_window(uint64_t begin_fs);
  /// A fault was armed at a function of an own chip; nullptr: all of its faults were disarmed.
  void note_fault(uint32_t chip, unsigned function, const InjectedFault* fault);
  /// The first moment of what has been packed; UINT64_MAX: nothing has.
  [[nodiscard]] uint64_t first_packed_fs() const;

  // Interconnect; chips are counted from this rank's first one
  [[nodiscard]] uint64_t next_event_fs() const override;
  void run(uint64_t now_fs) override;
  [[nodiscard]] uint64_t lookahead_fs() const override { return options_.hop_latency; }
  [[nodiscard]] uint64_t next_arrival_fs(size_t chip, uint64_t now_fs) override;

 private:
  class Port;
  struct Chip;
  /// A parcel that has arrived at its chip, or has been given up.
  struct Arrived {
    Parcel parcel;
    ici::Delivery how;
    uint64_t tag;  ///< of its message if it has been foreseen, else kNoTag
  };
  static constexpr uint64_t kNoTag = UINT64_MAX;
  /// A remote command of which pieces are still to be sent.
  struct Sending {
    uint64_t number;
    uint32_t serial;
    uint32_t receiver_epoch;
    uint32_t sent = 0;  // pieces
  };
  /// From one core to another, at the sender.
  struct Way {
    std::vector<Sending> sending;  // few
    uint32_t serial = 0;           // of the next command
    uint32_t blocks = 0;           // pieces sent in this period of the sender: they choose the way
    uint32_t period = 0;
  };
  enum DepartureKind : uint32_t { kByCore, kByBarrier };
  struct GivenDeparture {
    SliceOrder order;
    Departure departure;
  };
  struct GivenReturn {
    SliceOrder order;
    Return back;
  };
  struct GivenFault {
    uint32_t chip, function;
    bool disarms;
    InjectedFault fault;
  };
  enum ArrivalKind : uint32_t { kData, kRelease };
  static constexpr size_t kMostBuffers = 512;

  /// A core may be ahead of time by the lookahead, so not even its own chip's answer comes before.
  [[nodiscard]] uint64_t way_to_itself(uint32_t from, uint32_t to) const {
    return from == to ? options_.hop_latency : 0;
  }
  [[nodiscard]] bool in_ranks() const { return share_.ranks > 1; }
  /// The network is a window behind the chips, and arrivals are foreseen.
  [[nodiscard]] bool is_behind() const { return in_ranks() && !in_time_; }
  /// The chip is simulated here.
  [[nodiscard]] bool is_own(uint32_t chip) const { return chip >= first_chip_ && chip < end_chip_; }

  // at the sender
  void depart(uint64_t at_fs, DepartureKind kind, uint64_t number, Departure departure);
  [[nodiscard]] ici::Route route(uint32_t from, uint32_t to, Way& way) const;
  void core_was_reset(uint32_t chip);
  void return_to(uint32_t chip, const Return& back);

  // on the links
  [[nodiscard]] uint64_t next_on_links_fs() const;
  void run_links(uint64_t end_fs);
  void set_out(const SliceOrder& order, Departure departure);
  void delivered(const ici::Message& message, ici::Delivery how, uint64_t at_fs);
  void bring(uint64_t at_fs, Parcel parcel, ici::Delivery how, uint64_t tag = kNoTag);
  void take_fault(const GivenFault& given);
  void keep_in_time();
  [[nodiscard]] ici::LinkTrouble own_trouble(uint32_t chip, unsigned port) const;
  [[nodiscard]] ici::LinkTrouble trouble_in_ranks(uint32_t chip, unsigned port);
  void foresee(const ici::Hop& hop);

  // at the receiver
  void act(uint64_t now_fs);
  void receive(const DataParcel& data, ici::Delivery how);
  void keep_buffer(std::vector<std::byte> buffer);
  void settle(uint32_t from, uint32_t to);
  void release(const BarrierRelease& release, ici::Delivery how);
  void give_back(uint32_t to, uint32_t across, uint64_t at_fs, const Return& back);
  void know_reset(const CoreWasReset& reset);

  // at the barrier's chip
  void arrive(const BarrierArrival& arrival, uint64_t at_fs);
  void cannot_arrive(const BarrierArrival& arrival, uint64_t at_fs);
  void forget_at_barriers(const CoreWasReset& reset);

  const ici::Slice slice_;
  const ici::NetworkOptions options_;
  const RankShare share_;
  const uint32_t first_chip_, end_chip_;
  const TimeBase time_;
  ici::Network network_;
  uint64_t room_bytes_;  // that one core may have on its way
  uint64_t now_fs_ = 0;
  std::vector<std::unique_ptr<Chip>> chips_;
  std::vector<std::vector<std::byte>> buffers_;  // of pieces that have been received, empty
  SliceFlows flows_;
  TimedHeap<SliceOrder, Departure> departures_;
  TimedHeap<SliceOrder, Arrived> arrived_;
  TimedHeap<SliceOrder, Return> returns_;
  TimedHeap<SliceOrder, CoreWasReset> resets_;
  NumberWindow<Parcel> parcels_;  // by the tag of their message
  ici::ArrivalTimes arrivals_;    // of what is on its way to a chip
  SliceBarriers barriers_;
  std::vector<GivenDeparture> given_departures_;                   // to all ranks at the end of the window
  std::vector<GivenReturn> given_returns_;                         // to those of their chips
  std::vector<GivenFault> given_faults_;                           // to all ranks
  bool in_time_ = false;                                           // a fault of a link has been armed
  std::map<std::pair<uint32_t, uint32_t>, FaultInjector> faults_;  // of links, by chip and function: alike in all ranks
  std::unordered_map<uint64_t, Parcel> recalled_;  // by tag: parcels whose arrival was foreseen when links were certain
  uint64_t foreseen_fs_ = UINT64_MAX;              // the first arrival at any chip that this exchange has shown
  std::unique_ptr<ici::LinkTrace> trace_;
};

}  // namespace weft::chip
