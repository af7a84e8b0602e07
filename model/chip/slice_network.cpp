// Cores ask ahead of time, messages travel in time, answers come back.
#include "model/chip/slice_network.hpp"

#include <algorithm>
#include <utility>

#include "model/chip/core_host.hpp"
#include "model/golden/remote.hpp"

namespace weft::chip {
namespace {

constexpr uint8_t kDataClass = 0, kControlClass = 1;

/// What keeps every link of a chip busy until the first answer from the far end of the slice is back.
uint64_t room_for(const ici::Topology& topology, const ici::NetworkOptions& options) {
  unsigned farthest = 1;
  for (uint32_t chip = 0; chip < topology.chips(); chip++) farthest = std::max(farthest, topology.distance(0, chip));
  const uint64_t round_trip = 2 * farthest * options.hop_latency;
  const auto on_wire =
      static_cast<uint64_t>(Uint128{options.link_bytes_per_second} * round_trip / kFemtosecondsPerSecond);
  return ici::kPorts * (on_wire + 2 * options.packet_payload_bytes);
}

}  // namespace

struct SliceNetwork::Chip {
  std::unique_ptr<Port> port;
  core::RemoteCore* core = nullptr;
  CoreHost* host = nullptr;
  std::function<ici::LinkTrouble(unsigned port)> trouble;
  uint32_t epoch = 0;       // core resets
  uint64_t on_its_way = 0;  // bytes
  uint64_t numbers = 0;     // of remote commands
  uint64_t under_way = 0;   // of those, not acknowledged
  uint32_t period = 0;      // counts the times that none was left: a drained slice is as a new one
};

class SliceNetwork::Port final : public core::RemotePort {
 public:
  Port(SliceNetwork& network, uint32_t chip) : network_(network), chip_(chip) {}

  [[nodiscard]] golden::SlicePlace place() const override { return {chip_, network_.slice_.chips()}; }
  void attach(core::RemoteCore* core) override { state().core = core; }
  [[nodiscard]] bool congested() const override { return state().on_its_way >= network_.room_bytes_; }

  uint64_t begin(const spec::DmaCommand& command) override {
    const uint64_t number = ++state().numbers;
    state().under_way++;
    network_.flows_[flow_key(chip_, command.remote_chip)].transfers.push_back(
        {.number = number, .command = command, .receiver_epoch = network_.chips_[command.remote_chip]->epoch});
    return number;
  }

  void send(core::RemotePiece piece, uint64_t cycle) override {
    const uint32_t to = piece.command.remote_chip;
    Flow& flow = network_.flows_[flow_key(chip_, to)];
    auto& transfers = flow.transfers;
    const auto transfer = std::ranges::find(transfers, piece.number, &Transfer::number);
    if (transfer == transfers.end()) return;
    transfer->sent++;
    transfer->all_sent = piece.last;
    const uint64_t bytes = piece.bytes;
    state().on_its_way += bytes;
    network_.depart(chip_, network_.time_.edge_fs(cycle + 1),
                    {chip_, to, bytes, kDataClass, network_.route(chip_, to, flow), Data{chip_, to, std::move(piece)}});
  }

  void enter_barrier(const spec::BarrierCommand& command, uint64_t cycle) override {
    const uint64_t at_fs = network_.time_.edge_fs(cycle + 1) + network_.way_to_itself(chip_, command.base);
    network_.depart(chip_, at_fs, {chip_, command.base, 0, kControlClass, {}, Arrival{chip_, state().epoch, command}});
  }

  void core_reset() override {
    state().epoch++;
    state().period++;
    state().on_its_way = state().under_way = 0;
    auto& flows = network_.flows_;
    for (uint32_t to = 0; to < network_.chips_.size() && !flows.empty(); to++)
      if (const auto flow = flows.find(flow_key(chip_, to)); flow != flows.end()) flow->second = {};
    network_.barriers_.forget(chip_);
  }

 private:
  [[nodiscard]] Chip& state() const { return *network_.chips_[chip_]; }

  SliceNetwork& network_;
  uint32_t chip_;
};

SliceNetwork::SliceNetwork(const ici::Slice& slice, const spec::Chip& chip, const ici::NetworkOptions& options)
    : slice_(slice),
      options_(options),
      time_(chip.clock_hz),
      network_(slice.topology(), options),
      room_bytes_(room_for(network_.topology(), options)),
      arrivals_(slice.chips()) {
  for (uint32_t i = 0; i < slice.chips(); i++) {
    chips_.push_back(std::make_unique<Chip>());
    chips_.back()->port = std::make_unique<Port>(*this, i);
  }
  network_.note_arrivals(&arrivals_);
  network_.on_delivery(
      [this](const ici::Message& message, ici::Delivery how, ici::Femtoseconds) { delivered(message, how); });
  network_.set_trouble([this](uint32_t sender, unsigned port) {
    const auto& trouble = chips_[sender]->trouble;
    return trouble ? trouble(port) : ici::LinkTrouble{};
  });
}

SliceNetwork::~SliceNetwork() = default;

core::RemotePort& SliceNetwork::port(uint32_t chip) { return *chips_[chip]->port; }

void SliceNetwork::attach(uint32_t chip, CoreHost& host, std::function<ici::LinkTrouble(unsigned port)> trouble) {
  chips_[chip]->host = &host;
  chips_[chip]->trouble = std::move(trouble);
}

void SliceNetwork::trace_to(std::shared_ptr<TraceFile> file) {
  trace_ = std::make_unique<ici::LinkTrace>(std::move(file), network_.topology());
  network_.on_hop([this](const ici::Hop& hop) { trace_->hop(hop); });
}

SliceRegisters SliceNetwork::registers(uint32_t chip) const {
  constexpr unsigned kBits = 16;
  const ici::Topology& topology = network_.topology();
  SliceRegisters out;
  out.chip = chip | WEFT_TO_FIELD(WEFT_REG_ICI_CHIP_CHIPS, topology.chips());
  constexpr std::array<uint64_t, ici::kAxes> kSizes{WEFT_REG_ICI_SHAPE_X, WEFT_REG_ICI_SHAPE_Y, WEFT_REG_ICI_SHAPE_Z};
  for (unsigned axis = 0; axis < ici::kAxes; axis++)
    out.shape |= WEFT_TO_FIELD(kSizes[axis], uint64_t{topology.size(axis)}) |
                 WEFT_TO_FIELD(WEFT_REG_ICI_SHAPE_RINGS, uint64_t{topology.wraps(axis)} << axis);
  out.shape |= topology.twisted() ? WEFT_REG_ICI_SHAPE_TWISTED : 0;
  const auto neighbor = [&](unsigned port) { return uint64_t{topology.neighbor(chip, port) & 0xffff}; };
  for (unsigned port = 0; port < 4; port++) out.neighbors |= neighbor(port) << kBits * port;
  out.neighbors_z = static_cast<uint32_t>(neighbor(4) | neighbor(5) << kBits);
  out.link_bytes_per_second = options_.link_bytes_per_second;
  out.link = [this, chip](unsigned port) { return link(chip, port); };
  return out;
}

weft_ici_link SliceNetwork::link(uint32_t chip, unsigned port) const {
  weft_ici_link out{};
  const CoreHost* host = chips_[chip]->host;
  out.cycle = host != nullptr ? host->cycle() : time_.cycle_at(now_fs_);
  if (network_.topology().neighbor(chip, port) == ici::kNoChip) return out;  // WEFT_LINK_STATE_ABSENT
  switch (network_.state(chip, port)) {
    case ici::LinkState::kUp:
      out.state = WEFT_LINK_STATE_UP;
      break;
    case ici::LinkState::kRetraining:
      out.state = WEFT_LINK_STATE_RETRAINING;
      break;
    case ici::LinkState::kDown:
      out.state = WEFT_LINK_STATE_DOWN;
      break;
  }
  const ici::LinkCounters& counters = network_.link(chip, port);
  out.downs = counters.downs;
  out.packets = counters.packets;
  out.payload_bytes = counters.payload_bytes;
  out.wire_bytes = counters.wire_bytes;
  out.frame_errors = counters.frame_errors;
  out.busy_cycles = time_.cycle_at(counters.busy);
  out.replay_cycles = time_.cycle_at(counters.replay);
  return out;
}

// ---------------------------------------------------------------- time

uint64_t SliceNetwork::next_event_fs() const {
  uint64_t next = network_.next_event();
  if (!departures_.empty()) next = std::min(next, std::get<0>(departures_.key()));
  if (!returns_.empty()) next = std::min(next, std::get<0>(returns_.key()));
  return next;
}

/// Once links have died, messages may also be given up, which acts on the chips at both ends without notice.
uint64_t SliceNetwork::next_arrival_fs(size_t chip, uint64_t now_fs) {
  return network_.troubled() ? next_event_fs() : arrivals_.next(static_cast<uint32_t>(chip), now_fs);
}

/// What sets out, then what is on its way, then what comes back. A barrier may add to what sets out now.
void SliceNetwork::run(uint64_t now_fs) {
  now_fs_ = now_fs;
  while (next_event_fs() <= now_fs) {
    while (!departures_.empty() && std::get<0>(departures_.key()) <= now_fs) {
      auto [order, departure] = departures_.pop();
      ici::Message message;
      message.from = departure.from;
      message.to = departure.to;
      message.bytes = departure.bytes;
      message.traffic_class = departure.traffic_class;
      message.order = departure.route.order;
      message.way = departure.route.way;
      message.tag = parcels_.add(std::move(departure.parcel));
      network_.send(message, std::max(std::get<0>(order), network_.now()));
    }
    network_.run_until(now_fs);
    while (!returns_.empty() && std::get<0>(returns_.key()) <= now_fs) {
      const auto [order, back] = returns_.pop();
      return_to(std::get<1>(order), back);
    }
  }
}

void SliceNetwork::depart(uint32_t from, uint64_t at_fs, Departure departure) {
  if (departure.to == from) arrivals_.note(from, at_fs, now_fs_);  // on no link
  departures_.push({at_fs, from, asked_++}, std::move(departure));
}

ici::Route SliceNetwork::route(uint32_t from, uint32_t to, Flow& flow) const {
  const uint32_t period = chips_[from]->period;
  if (flow.period != period) flow.blocks = 0, flow.period = period;
  return ici::balanced_route(network_.topology(), from, to, flow.blocks++);
}

/// `across`: the chip that answers.
void SliceNetwork::give_back(uint32_t to, uint32_t across, uint64_t at_fs, const Return& back) {
  const uint64_t way = std::max(1u, network_.topology().distance(across, to)) * options_.hop_latency;
  arrivals_.note(to, at_fs + way, now_fs_);
  returns_.push({at_fs + way, to, asked_++}, back);
}

// ---------------------------------------------------------------- arrivals

void SliceNetwork::delivered(const ici::Message& message, ici::Delivery how) {
  auto parcel = parcels_.take(message.tag);
  if (!parcel) return;  // it arrived, and its source could not know
  if (auto* data = std::get_if<Data>(&*parcel)) return receive(*data, how);
  const bool lost = how != ici::Delivery::kDone;
  if (const auto* arrival = std::get_if<Arrival>(&*parcel)) return lost ? cannot_arrive(*arrival) : arrive(*arrival);
  if (lost) return;  // who waits at the barrier is told by its watchdog
  release(std::get<Release>(*parcel));
}

void SliceNetwork::receive(Data& data, ici::Delivery how) {
  Flow& flow = flows_[flow_key(data.from, data.to)];
  const auto transfer = std::ranges::find(flow.transfers, data.piece.number, &Transfer::number);
  if (transfer == flow.transfers.end()) return;  // the sender was reset
  give_back(data.from, data.to, now_fs_,
            {.number = 0, .room = data.piece.bytes, .epoch = chips_[data.from]->epoch, .done = false, .fault = {}});
  Chip& to = *chips_[data.to];
  transfer->arrived++;
  std::optional<golden::Fault> fault;
  if (how != ici::Delivery::kDone || to.core == nullptr) {
    fault = golden::ici_fault(WEFT_ICI_CAUSE_UNREACHABLE, data.to, 0);
  } else if (to.epoch != transfer->receiver_epoch) {
    fault = golden::ici_fault(WEFT_ICI_CAUSE_RECEIVER_RESET, data.to, 0);
  } else {
    to.host->catch_up();
    uint64_t visible = 0;
    fault = to.core->receive(data.piece, visible);
    transfer->visible = std::max(transfer->visible, visible);
  }
  if (!transfer->fault) transfer->fault = fault;
  settle(data.from, data.to, flow);
}

/// Commands whose data are all there post and are acknowledged, in the order of their numbers.
void SliceNetwork::settle(uint32_t from, uint32_t to, Flow& flow) {
  while (!flow.transfers.empty()) {
    const Transfer& first = flow.transfers.front();
    if (!first.all_sent || first.arrived < first.sent) return;
    uint64_t at_fs = now_fs_;
    if (!first.fault) {
      flow.visible = std::max(flow.visible, first.visible);
      at_fs = std::max(at_fs, time_.edge_fs(flow.visible));
      const spec::CommandHeader& header = first.command.header;
      if (header.post_sem1 != WEFT_NO_SEMAPHORE)
        chips_[to]->core->receive_post(header.post_sem1, header.post_count1, flow.visible);
    }
    give_back(from, to, at_fs,
              {.number = first.number, .room = 0, .epoch = chips_[from]->epoch, .done = true, .fault = first.fault});
    flow.transfers.pop_front();
  }
}

void SliceNetwork::return_to(uint32_t chip, const Return& back) {
  Chip& sender = *chips_[chip];
  if (back.epoch != sender.epoch || sender.core == nullptr) return;
  sender.host->catch_up();
  sender.on_its_way -= std::min(sender.on_its_way, back.room);
  if (!back.done) return;
  if (--sender.under_way == 0) sender.period++;
  sender.core->acknowledge(back.number, back.fault);
}

// ---------------------------------------------------------------- barriers

/// At the group's lowest chip.
void SliceNetwork::arrive(const Arrival& arrival) {
  if (arrival.epoch != chips_[arrival.chip]->epoch) return;
  for (const SliceBarriers::Release& released : barriers_.arrive(arrival.chip, arrival.command)) {
    const uint32_t from = arrival.command.base;
    depart(from, now_fs_ + way_to_itself(from, released.chip),
           {from,
            released.chip,
            0,
            kControlClass,
            {},
            Release{released.chip, chips_[released.chip]->epoch, released.fault}});
  }
}

/// No way to the group's lowest chip is left: who came is told, and the others by their watchdogs.
void SliceNetwork::cannot_arrive(const Arrival& arrival) {
  const auto fault = golden::ici_fault(WEFT_ICI_CAUSE_UNREACHABLE, arrival.command.base, 0);
  depart(arrival.chip, now_fs_ + options_.hop_latency,
         {arrival.chip, arrival.chip, 0, kControlClass, {}, Release{arrival.chip, arrival.epoch, fault}});
}

void SliceNetwork::release(const Release& release) {
  Chip& chip = *chips_[release.chip];
  if (release.epoch != chip.epoch || chip.core == nullptr) return;
  chip.host->catch_up();
  chip.core->end_barrier(release.fault);
}

}  // namespace weft::chip
