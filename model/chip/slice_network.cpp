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
  const uint64_t round_trip = 2 * farthest * std::max(options.hop_latency, options.optical.latency);
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
  uint32_t epoch = 0;          // core resets
  uint32_t known_epoch = 0;    // as the other chips know it
  uint32_t barrier_epoch = 0;  // as the chips know it that barriers are at
  uint64_t on_its_way = 0;     // bytes
  uint64_t numbers = 0;        // of remote commands
  uint64_t under_way = 0;      // of those, not acknowledged
  uint32_t period = 0;         // counts the times that none was left: a drained slice is as a new one
  ByPeer<Way> ways;            // to the chips that it has sent to
  uint64_t departures = 0, releases = 0, returns = 0;  // what this chip has caused, each counted by itself
};

class SliceNetwork::Port final : public core::RemotePort {
 public:
  Port(SliceNetwork& network, uint32_t chip) : network_(network), chip_(chip) {}

  [[nodiscard]] golden::SlicePlace place() const override { return {chip_, network_.slice_.chips()}; }
  void attach(core::RemoteCore* core) override { state().core = core; }
  [[nodiscard]] bool congested() const override { return state().on_its_way >= network_.room_bytes_; }

  uint64_t begin(const spec::DmaCommand& command) override {
    const uint32_t to = command.remote_chip;
    Way& way = state().ways[to];
    state().under_way++;
    way.sending.push_back({++state().numbers, way.serial++, network_.chips_[to]->known_epoch});
    return state().numbers;
  }

  [[nodiscard]] std::vector<std::byte> buffer() override {
    auto& buffers = network_.buffers_;
    if (buffers.empty()) return {};
    std::vector<std::byte> buffer = std::move(buffers.back());
    buffers.pop_back();
    return buffer;
  }

  void send(core::RemotePiece piece, uint64_t cycle) override {
    const uint32_t to = piece.command.remote_chip;
    Way& way = state().ways[to];
    const auto sending = std::ranges::find(way.sending, piece.number, &Sending::number);
    if (sending == way.sending.end()) return;
    sending->sent++;
    const uint64_t bytes = piece.bytes, number = ++state().departures;
    state().on_its_way += bytes;
    DataParcel data{chip_, to, state().epoch, sending->receiver_epoch, sending->serial, 0, number, std::move(piece)};
    if (data.piece.last) {
      data.pieces = sending->sent;
      way.sending.erase(sending);
    }
    const ici::Route route = network_.route(chip_, to, way);
    network_.depart(network_.time_.edge_fs(cycle + 1), kByCore, number,
                    {chip_, to, bytes, kDataClass, route, std::move(data)});
  }

  void enter_barrier(const spec::BarrierCommand& command, uint64_t cycle) override {
    const uint64_t at_fs = network_.time_.edge_fs(cycle + 1) + network_.way_to_itself(chip_, command.base);
    network_.depart(at_fs, kByCore, ++state().departures,
                    {chip_, command.base, 0, kControlClass, {}, BarrierArrival{chip_, state().epoch, command}});
  }

  void core_reset() override {
    state().epoch++;
    state().period++;
    state().on_its_way = state().under_way = 0;
    state().ways.clear();
    network_.core_was_reset(chip_);
  }

 private:
  [[nodiscard]] Chip& state() const { return *network_.chips_[chip_]; }

  SliceNetwork& network_;
  uint32_t chip_;
};

SliceNetwork::SliceNetwork(const ici::Slice& slice, const spec::Chip& chip, const ici::NetworkOptions& options,
                           const RankShare& share)
    : slice_(slice),
      options_(options),
      share_(share),
      first_chip_(share.first(slice.chips())),
      end_chip_(share.end(slice.chips())),
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
      [this](const ici::Message& message, ici::Delivery how, ici::Femtoseconds at) { delivered(message, how, at); });
  if (in_ranks()) {
    network_.on_hop([this](const ici::Hop& hop) { foresee(hop); });
    return;
  }
  network_.set_trouble([this](uint32_t sender, unsigned port) { return own_trouble(sender, port); });
}

ici::LinkTrouble SliceNetwork::own_trouble(uint32_t chip, unsigned port) const {
  const auto& trouble = chips_[chip]->trouble;
  return trouble ? trouble(port) : ici::LinkTrouble{};
}

SliceNetwork::~SliceNetwork() = default;

core::RemotePort& SliceNetwork::port(uint32_t chip) { return *chips_[chip]->port; }

void SliceNetwork::attach(uint32_t chip, CoreHost& host, std::function<ici::LinkTrouble(unsigned port)> trouble) {
  chips_[chip]->host = &host;
  chips_[chip]->trouble = std::move(trouble);
}

void SliceNetwork::trace_to(std::shared_ptr<TraceFile> file) {
  trace_ = std::make_unique<ici::LinkTrace>(std::move(file), network_.topology());
  network_.on_hop([this](const ici::Hop& hop) {
    trace_->hop(hop);
    if (in_ranks()) foresee(hop);
  });
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

uint64_t SliceNetwork::next_on_links_fs() const {
  const uint64_t next = network_.next_event();
  return departures_.empty() ? next : std::min(next, departures_.key().time_fs);
}

/// With several ranks the links come later, at the end of the window.
uint64_t SliceNetwork::next_event_fs() const {
  uint64_t next = in_ranks() ? UINT64_MAX : next_on_links_fs();
  if (!arrived_.empty()) next = std::min(next, arrived_.key().time_fs);
  if (!returns_.empty()) next = std::min(next, returns_.key().time_fs);
  if (!resets_.empty()) next = std::min(next, resets_.key().time_fs);
  return next;
}

/// Once links have died, messages may also be given up, which acts on the chips at both ends without notice.
uint64_t SliceNetwork::next_arrival_fs(size_t chip, uint64_t now_fs) {
  if (network_.troubled()) return next_event_fs();
  const uint64_t next = arrivals_.next(first_chip_ + static_cast<uint32_t>(chip), now_fs);
  return resets_.empty() ? next : std::min(next, resets_.key().time_fs);
}

/// What sets out and what is on its way, then what that does to chips. A barrier may add to what sets out now.
void SliceNetwork::run(uint64_t now_fs) {
  now_fs_ = now_fs;
  while (next_event_fs() <= now_fs) {
    if (!in_ranks()) run_links(now_fs);
    act(now_fs);
  }
}

/// All of it up to `end_fs`.
void SliceNetwork::run_links(uint64_t end_fs) {
  for (uint64_t now = next_on_links_fs(); now <= end_fs; now = next_on_links_fs()) {
    while (!departures_.empty() && departures_.key().time_fs <= now) {
      auto [order, departure] = departures_.pop();
      set_out(order, std::move(departure));
    }
    network_.run_until(now);
  }
}

/// What happens at chips at one time: resets that become known, arrivals, answers that come back.
void SliceNetwork::act(uint64_t now_fs) {
  const auto due = [now_fs](const auto& heap) { return !heap.empty() && heap.key().time_fs <= now_fs; };
  while (due(resets_)) know_reset(resets_.pop().second);
  while (due(arrived_)) {
    auto [order, arrived] = arrived_.pop();
    if (auto* data = std::get_if<DataParcel>(&arrived.parcel)) {
      receive(*data, arrived.how);
      keep_buffer(std::move(data->piece.data));
    }
    if (const auto* released = std::get_if<BarrierRelease>(&arrived.parcel)) release(*released, arrived.how);
  }
  while (due(returns_)) {
    const auto [order, back] = returns_.pop();
    return_to(order.chip, back);
  }
}

// ---------------------------------------------------------------- at the sender

void SliceNetwork::depart(uint64_t at_fs, DepartureKind kind, uint64_t number, Departure departure) {
  const auto [from, to] = std::pair(departure.from, departure.to);
  if (from == to) arrivals_.note(from, at_fs, now_fs_);  // on no link
  if (from == to && !std::holds_alternative<BarrierArrival>(departure.parcel))
    return bring(at_fs, std::move(departure.parcel), ici::Delivery::kDone);
  const SliceOrder order{at_fs, from, kind, 0, number};
  if (in_ranks() && kind == kByCore) return given_departures_.push_back({order, std::move(departure)});
  departures_.push(order, std::move(departure));
}

ici::Route SliceNetwork::route(uint32_t from, uint32_t to, Way& way) const {
  const uint32_t period = chips_[from]->period;
  if (way.period != period) way.blocks = 0, way.period = period;
  return ici::balanced_route(network_.topology(), from, to, way.blocks++);
}

/// The other chips know it a hop later, before anything that sets out after the reset arrives.
void SliceNetwork::core_was_reset(uint32_t number) {
  Chip& chip = *chips_[number];
  const uint64_t reset_fs = chip.host != nullptr ? time_.edge_fs(chip.host->core().cycle()) : now_fs_;
  const SliceOrder order{std::max(reset_fs, now_fs_) + options_.hop_latency, number, kByCore, 0, ++chip.departures};
  const CoreWasReset reset{number, chip.epoch};
  resets_.push(order, reset);
  Departure departure{number, number, 0, kControlClass, {}, reset};
  if (in_ranks()) return given_departures_.push_back({order, std::move(departure)});
  departures_.push(order, std::move(departure));
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

// ---------------------------------------------------------------- on the links

void SliceNetwork::set_out(const SliceOrder& order, Departure departure) {
  if (const auto* reset = std::get_if<CoreWasReset>(&departure.parcel)) return forget_at_barriers(*reset);
  ici::Message message;
  message.from = departure.from;
  message.to = departure.to;
  message.bytes = departure.bytes;
  message.traffic_class = departure.traffic_class;
  message.order = departure.route.order;
  message.way = departure.route.way;
  message.tag = parcels_.add(std::move(departure.parcel));
  network_.send(message, std::max(order.time_fs, network_.now()));
}

void SliceNetwork::delivered(const ici::Message& message, ici::Delivery how, uint64_t at_fs) {
  auto parcel = parcels_.take(message.tag);
  if (auto recalled = recalled_.extract(message.tag); !parcel && recalled) parcel = std::move(recalled.mapped());
  if (!parcel) return;  // it was foreseen; or it arrived, and its source could not know
  if (std::holds_alternative<std::monostate>(*parcel)) return;
  const auto* arrival = std::get_if<BarrierArrival>(&*parcel);
  if (arrival == nullptr) return bring(at_fs, std::move(*parcel), how);
  return how == ici::Delivery::kDone ? arrive(*arrival, at_fs) : cannot_arrive(*arrival, at_fs);
}

/// To the chip, at its time.
void SliceNetwork::bring(uint64_t at_fs, Parcel parcel, ici::Delivery how, uint64_t tag) {
  SliceOrder order{.time_fs = at_fs};
  if (const auto* data = std::get_if<DataParcel>(&parcel)) {
    order = {at_fs, data->to, kData, data->from, data->number};
  } else if (const auto* release = std::get_if<BarrierRelease>(&parcel)) {
    order = {at_fs, release->to, kRelease, release->from, release->number};
  }
  foreseen_fs_ = std::min(foreseen_fs_, at_fs);
  if (is_own(order.chip)) arrived_.push(order, {std::move(parcel), how, tag});
}

// ---------------------------------------------------------------- at the receiver

void SliceNetwork::receive(const DataParcel& data, ici::Delivery how) {
  if (data.sender_epoch != chips_[data.from]->known_epoch) return;  // the sender was reset
  give_back(data.from, data.to, now_fs_,
            {.number = 0, .room = data.piece.bytes, .epoch = data.sender_epoch, .done = false, .fault = {}});
  Chip& to = *chips_[data.to];
  std::optional<golden::Fault> fault;
  uint64_t visible = 0;
  if (how != ici::Delivery::kDone || to.core == nullptr) {
    fault = golden::ici_fault(WEFT_ICI_CAUSE_UNREACHABLE, data.to, 0);
  } else if (to.epoch != data.receiver_epoch) {
    fault = golden::ici_fault(WEFT_ICI_CAUSE_RECEIVER_RESET, data.to, 0);
  } else {
    to.host->catch_up();
    fault = to.core->receive(data.piece, visible);
  }
  flows_.arrive(data, visible, fault);
  settle(data.from, data.to);
}

/// For the next piece that a core sends.
void SliceNetwork::keep_buffer(std::vector<std::byte> buffer) {
  if (buffer.capacity() == 0 || buffers_.size() >= kMostBuffers) return;
  buffer.clear();
  buffers_.push_back(std::move(buffer));
}

/// Commands whose data are all there post and are acknowledged, in the order in which their sender took them.
void SliceNetwork::settle(uint32_t from, uint32_t to) {
  while (const auto finished = flows_.finish(from, to)) {
    uint64_t at_fs = now_fs_;
    if (!finished->fault) {
      at_fs = std::max(at_fs, time_.edge_fs(finished->visible));
      if (finished->header.post_sem1 != WEFT_NO_SEMAPHORE)
        chips_[to]->core->receive_post(finished->header.post_sem1, finished->header.post_count1, finished->visible);
    }
    give_back(from, to, at_fs,
              {.number = finished->number,
               .room = 0,
               .epoch = chips_[from]->known_epoch,
               .done = true,
               .fault = finished->fault});
  }
}

/// `across`: the chip that answers.
void SliceNetwork::give_back(uint32_t to, uint32_t across, uint64_t at_fs, const Return& back) {
  const uint64_t way =
      std::max(options_.hop_latency, options_.optical.way_time(network_.topology(), across, to, options_.hop_latency));
  const SliceOrder order{at_fs + way, to, 0, across, ++chips_[across]->returns};
  if (!is_own(to)) return given_returns_.push_back({order, back});
  arrivals_.note(to, order.time_fs, now_fs_);
  returns_.push(order, back);
}

void SliceNetwork::know_reset(const CoreWasReset& reset) {
  chips_[reset.chip]->known_epoch = reset.epoch;
  flows_.forget_sender(reset.chip);
}

void SliceNetwork::release(const BarrierRelease& release, ici::Delivery how) {
  if (how != ici::Delivery::kDone) return;  // the chip that waits is told by its watchdog
  Chip& chip = *chips_[release.to];
  if (release.epoch != chip.epoch || chip.core == nullptr) return;
  chip.host->catch_up();
  chip.core->end_barrier(release.fault);
}

// ---------------------------------------------------------------- at the barrier's chip, the group's lowest

void SliceNetwork::arrive(const BarrierArrival& arrival, uint64_t at_fs) {
  if (arrival.epoch != chips_[arrival.chip]->barrier_epoch) return;
  const uint32_t from = arrival.command.base;
  for (const SliceBarriers::Release& released : barriers_.arrive(arrival.chip, arrival.command)) {
    const uint64_t number = ++chips_[from]->releases;
    depart(at_fs + way_to_itself(from, released.chip), kByBarrier, number,
           {from,
            released.chip,
            0,
            kControlClass,
            {},
            BarrierRelease{from, released.chip, chips_[released.chip]->barrier_epoch, number, released.fault}});
  }
}

/// No way to the barrier is left: the chip that came is told, and the others by their watchdogs.
void SliceNetwork::cannot_arrive(const BarrierArrival& arrival, uint64_t at_fs) {
  const auto fault = golden::ici_fault(WEFT_ICI_CAUSE_UNREACHABLE, arrival.command.base, 0);
  const uint64_t number = ++chips_[arrival.chip]->releases;
  depart(at_fs + options_.hop_latency, kByBarrier, number,
         {arrival.chip,
          arrival.chip,
          0,
          kControlClass,
          {},
          BarrierRelease{arrival.chip, arrival.chip, arrival.epoch, number, fault}});
}

void SliceNetwork::forget_at_barriers(const CoreWasReset& reset) {
  chips_[reset.chip]->barrier_epoch = reset.epoch;
  barriers_.forget(reset.chip);
}

}  // namespace weft::chip
