/// The interconnect between the chips of a slice: cores' remote writes and barriers as messages of model/ici.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "model/chip/chip_options.hpp"
#include "model/chip/core_clock.hpp"
#include "model/chip/number_window.hpp"
#include "model/chip/slice_barriers.hpp"
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
/// on frames that travel anyway. Barriers are messages of the control class to the group's lowest chip and back.
///
/// The pieces of a COPY take all shortest ways to the receiver by turns (ici::balanced_route), so they arrive in any
/// order; its post follows all of them, and posts of one sender at one receiver keep the order of their commands.
///
/// Deterministic: what cores ask for is ordered by (time, chip, order of asking), whatever order the simulator runs
/// them in. One thread. Made before the chips, which it must outlive.
class SliceNetwork final : public Interconnect {
 public:
  SliceNetwork(const ici::Slice& slice, const spec::Chip& chip, const ici::NetworkOptions& options);
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
  /// Every packet's hops go to this Chrome trace. Before anything is sent.
  void trace_to(std::shared_ptr<TraceFile> file);
  [[nodiscard]] const ici::Network& network() const { return network_; }

  // Interconnect
  [[nodiscard]] uint64_t next_event_fs() const override;
  void run(uint64_t now_fs) override;
  [[nodiscard]] uint64_t lookahead_fs() const override { return options_.hop_latency; }
  [[nodiscard]] uint64_t next_arrival_fs(size_t chip, uint64_t now_fs) override;

 private:
  class Port;
  using Order = std::tuple<uint64_t, uint32_t, uint64_t>;  // femtoseconds, chip, order of asking

  struct Arrival {  // at a barrier
    uint32_t chip, epoch;
    spec::BarrierCommand command;
  };
  struct Release {  // from one
    uint32_t chip, epoch;
    std::optional<golden::Fault> fault;
  };
  struct Data {
    uint32_t from, to;
    core::RemotePiece piece;
  };
  using Parcel = std::variant<Data, Arrival, Release>;
  struct Departure {
    uint32_t from, to;
    uint64_t bytes;
    uint8_t traffic_class;
    ici::Route route;
    Parcel parcel;
  };
  /// A remote command on its way.
  struct Transfer {
    uint64_t number;
    spec::DmaCommand command;
    uint32_t receiver_epoch;
    uint64_t sent = 0, arrived = 0;  // pieces
    bool all_sent = false;
    uint64_t visible = 0;  // cycle
    std::optional<golden::Fault> fault;
  };
  /// From one core to another, in order.
  struct Flow {
    std::list<Transfer> transfers;
    uint64_t visible = 0;  // cycle of the last post
    uint32_t blocks = 0;   // pieces sent in this period of the sender: they choose the way
    uint32_t period = 0;
  };
  struct Return {  // to a sender
    uint64_t number;
    uint64_t room;  // bytes that have left the interconnect
    uint32_t epoch;
    bool done;  // the command is
    std::optional<golden::Fault> fault;
  };
  struct Chip;

  /// A core may be ahead of time by the lookahead, so not even its own chip's answer comes before.
  [[nodiscard]] uint64_t way_to_itself(uint32_t from, uint32_t to) const {
    return from == to ? options_.hop_latency : 0;
  }
  static uint64_t flow_key(uint32_t from, uint32_t to) { return uint64_t{from} << 32 | to; }
  void depart(uint32_t from, uint64_t at_fs, Departure departure);
  /// Of the next piece from one core to another.
  [[nodiscard]] ici::Route route(uint32_t from, uint32_t to, Flow& flow) const;
  void give_back(uint32_t to, uint32_t across, uint64_t at_fs, const Return& back);
  void delivered(const ici::Message& message, ici::Delivery how);
  void receive(Data& data, ici::Delivery how);
  void settle(uint32_t from, uint32_t to, Flow& flow);
  void arrive(const Arrival& arrival);
  void release(const Release& release);
  void return_to(uint32_t chip, const Return& back);
  void cannot_arrive(const Arrival& arrival);

  const ici::Slice slice_;
  const ici::NetworkOptions options_;
  const TimeBase time_;
  ici::Network network_;
  uint64_t room_bytes_;  // that one core may have on its way
  uint64_t now_fs_ = 0;
  uint64_t asked_ = 0;
  std::vector<std::unique_ptr<Chip>> chips_;
  TimedHeap<Order, Departure> departures_;
  TimedHeap<Order, Return> returns_;
  NumberWindow<Parcel> parcels_;              // by the tag of their message
  std::unordered_map<uint64_t, Flow> flows_;  // that have been used, by flow_key()
  ici::ArrivalTimes arrivals_;                // of what is on its way to a chip
  SliceBarriers barriers_;
  std::unique_ptr<ici::LinkTrace> trace_;
};

}  // namespace weft::chip
