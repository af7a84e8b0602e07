// A slice in several processes: what ranks give each other at the end of a window, and what of the next one is known by
// then.
#include <algorithm>
#include <utility>

#include "model/chip/link_faults.hpp"
#include "model/chip/slice_network.hpp"

namespace weft::chip {
namespace {

enum class ParcelKind : uint8_t { kData, kDataOfOthers, kArrival, kReset };

/// A Departure without its parcel.
struct Header {
  SliceOrder order;
  uint32_t from, to;
  uint64_t bytes;
  uint8_t traffic_class;
  ici::Route route;
  ParcelKind kind;
};

/// A DataParcel without its runs and data.
struct DataHeader {
  uint32_t sender_epoch, receiver_epoch, serial, pieces;
  uint64_t departure, command_number, bytes;
  spec::DmaCommand command;
  bool last;
};

void put_data(WireWriter& out, const DataParcel& data) {
  const core::RemotePiece& piece = data.piece;
  out.put(DataHeader{data.sender_epoch, data.receiver_epoch, data.serial, data.pieces, data.number, piece.number,
                     piece.bytes, piece.command, piece.last});
  out.put_all(piece.runs.series());
  out.put_all(piece.data);
}

DataParcel get_data(WireReader& in, uint32_t from, uint32_t to) {
  const auto header = in.get<DataHeader>();
  DataParcel data{from, to, header.sender_epoch, header.receiver_epoch, header.serial, header.pieces, header.departure,
                  {}};
  data.piece.number = header.command_number;
  data.piece.command = header.command;
  data.piece.bytes = header.bytes;
  data.piece.last = header.last;
  data.piece.runs = core::RemoteRuns(in.get_all<core::RemoteRuns::Series>());
  data.piece.data = in.get_all<std::byte>();
  return data;
}

}  // namespace

uint64_t SliceNetwork::first_packed_fs() const {
  uint64_t first = UINT64_MAX;
  for (const GivenReturn& given : given_returns_) first = std::min(first, given.order.time_fs);
  for (const GivenDeparture& given : given_departures_) first = std::min(first, given.order.time_fs);
  return first;
}

void SliceNetwork::pack(unsigned rank, std::vector<std::byte>& bytes) const {
  const uint32_t chips = slice_.chips();
  const RankShare other{rank, share_.ranks};
  const auto is_theirs = [&](uint32_t chip) { return chip >= other.first(chips) && chip < other.end(chips); };
  WireWriter out(bytes);
  out.put(static_cast<uint64_t>(given_departures_.size()));
  for (const auto& [order, departure] : given_departures_) {
    Header header{order,           departure.from,    departure.to, departure.bytes, departure.traffic_class,
                  departure.route, ParcelKind::kReset};
    const auto* data = std::get_if<DataParcel>(&departure.parcel);
    const auto* arrival = std::get_if<BarrierArrival>(&departure.parcel);
    const auto* reset = std::get_if<CoreWasReset>(&departure.parcel);
    if (data != nullptr) header.kind = is_theirs(data->to) ? ParcelKind::kData : ParcelKind::kDataOfOthers;
    if (arrival != nullptr) header.kind = ParcelKind::kArrival;
    out.put(header);
    if (header.kind == ParcelKind::kData) put_data(out, *data);
    if (arrival != nullptr) out.put(*arrival);
    if (reset != nullptr) out.put(*reset);
  }
  out.put_all(given_faults_);
  for (const auto& given : given_returns_)
    if (is_theirs(given.order.chip)) out.put(given);
}

void SliceNetwork::unpack(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  for (auto left = in.get<uint64_t>(); left > 0; left--) {
    const auto header = in.get<Header>();
    Departure departure{header.from, header.to, header.bytes, header.traffic_class, header.route, {}};
    switch (header.kind) {
      case ParcelKind::kData:
        departure.parcel = get_data(in, header.from, header.to);
        break;
      case ParcelKind::kDataOfOthers:
        break;
      case ParcelKind::kArrival:
        departure.parcel = in.get<BarrierArrival>();
        break;
      case ParcelKind::kReset: {
        const auto reset = in.get<CoreWasReset>();
        resets_.push(header.order, reset);
        departure.parcel = reset;
        break;
      }
    }
    departures_.push(header.order, std::move(departure));
  }
  for (const GivenFault& given : in.get_all<GivenFault>()) take_fault(given);
  while (!in.empty()) {
    const auto [order, back] = in.get<GivenReturn>();
    arrivals_.note(order.chip, order.time_fs, now_fs_);
    returns_.push(order, back);
  }
}

uint64_t SliceNetwork::exchanged(uint64_t end_fs) {
  for (auto& [order, departure] : given_departures_) departures_.push(order, std::move(departure));
  given_departures_.clear();
  given_returns_.clear();
  for (const GivenFault& given : given_faults_) take_fault(given);
  given_faults_.clear();
  foreseen_fs_ = UINT64_MAX;
  if (is_behind() && end_fs > 0) run_links(end_fs - 1);
  if (is_behind() && !faults_.empty()) keep_in_time();
  return std::min(foreseen_fs_, next_on_links_fs());
}

uint64_t SliceNetwork::begin_window(uint64_t begin_fs) {
  if (is_behind()) return UINT64_MAX;
  run_links(begin_fs);
  return next_on_links_fs();
}

// ---------------------------------------------------------------- faults of links

void SliceNetwork::note_fault(uint32_t chip, unsigned function, const InjectedFault* fault) {
  if (fault == nullptr)
    given_faults_.push_back({chip, function, true, {}});
  else if (FaultInjector::is_of_links(fault->kind))
    given_faults_.push_back({chip, function, false, *fault});
}

void SliceNetwork::take_fault(const GivenFault& given) {
  constexpr uint32_t kAllPorts = (1u << ici::kPorts) - 1;
  const std::pair key(given.chip, given.function);
  if (!given.disarms)
    (void)faults_.try_emplace(key, kAllPorts).first->second.arm(given.fault);
  else if (const auto armed = faults_.find(key); armed != faults_.end())
    armed->second.disarm();
}

/// From now on a packet may be lost on its last link: what was foreseen is left to happen.
void SliceNetwork::keep_in_time() {
  in_time_ = true;
  network_.set_trouble([this](uint32_t chip, unsigned port) { return trouble_in_ranks(chip, port); });
  std::vector<std::pair<SliceOrder, Arrived>> certain;
  while (!arrived_.empty()) {
    auto [order, arrived] = arrived_.pop();
    if (arrived.tag == kNoTag)
      certain.emplace_back(order, std::move(arrived));
    else
      recalled_.emplace(arrived.tag, std::move(arrived.parcel));
  }
  for (auto& [order, arrived] : certain) arrived_.push(order, std::move(arrived));
}

/// The same in all ranks. The chip's own faults count the occasion too, for its registers.
ici::LinkTrouble SliceNetwork::trouble_in_ranks(uint32_t chip, unsigned port) {
  if (is_own(chip)) (void)own_trouble(chip, port);
  ici::LinkTrouble out;
  for (auto at = faults_.lower_bound({chip, 0}); at != faults_.end() && at->first.first == chip; ++at)
    add_link_trouble(at->second, port, time_, out);
  return out;
}

// ---------------------------------------------------------------- arrivals in advance

/// A packet sets out: what arrives with it is known from its last link on. All messages here are one packet.
void SliceNetwork::foresee(const ici::Hop& hop) {
  if (!hop.last || in_time_) return;
  const Parcel* parcel = parcels_.find(hop.message_tag);
  if (parcel == nullptr || std::holds_alternative<BarrierArrival>(*parcel)) return;
  if (auto taken = parcels_.take(hop.message_tag); !std::holds_alternative<std::monostate>(*taken))
    bring(hop.last_byte, std::move(*taken), ici::Delivery::kDone, hop.message_tag);
  else
    foreseen_fs_ = std::min(foreseen_fs_, hop.last_byte);
}

}  // namespace weft::chip
