#include "model/ici/multislice.hpp"

#include <algorithm>
#include <cassert>
#include <deque>
#include <optional>
#include <utility>

#include "model/ici/closed_forms.hpp"
#include "model/ici/collective.hpp"
#include "model/ici/slice_links.hpp"

namespace weft::ici {

namespace {

uint32_t group_of(const Slice& slice, unsigned axes) {
  uint32_t chips = 1;
  for (unsigned axis = 0; axis < kAxes; axis++)
    if ((axes >> axis & 1) != 0) chips *= slice.size[axis];
  return chips;
}

/// Where part `number` of `parts` begins.
uint64_t begin_of(uint64_t bytes, uint64_t number, uint64_t parts) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) * number / parts);
}

class Multislice {
 public:
  Multislice(const Slice& slice, const MultisliceOptions& options)
      : options_(options),
        slice_(slice),
        topology_(slice.topology()),
        hosts_(hosts_of(slice, options.chips_per_host)),
        dcn_({.hosts = hosts_ * options.slices,
              .bytes_per_second = options.host_bytes_per_second,
              .latency = options.dcn_latency,
              .framing = options.framing,
              .grain = options.grain}),
        slices_(options.slices),
        exchanges_(size_t{options.pieces} * options.slices * hosts_) {
    dcn_.on_delivery([this](const DcnMessage& message, Femtoseconds at) { arrived(message, at); });
    const uint64_t rate = slice.generation->link_bytes_per_second;
    for (uint32_t number = 0; number < options.slices; number++) {
      slices_[number].hosts_done.resize(options.pieces);
      slices_[number].links =
          make_slice_links(topology_,
                           {.link_bytes_per_second = rate,
                            .framing = options.framing,
                            .grain = options.grain,
                            .optical = options.optical},
                           [this, number](const Message& message, Femtoseconds at) { delivered(number, message, at); });
    }
  }

  MultisliceTimes run() {
    for (uint32_t slice = 0; slice < options_.slices; slice++) begin(slice);
    while (true) {
      Femtoseconds next = dcn_.next_event();
      for (const auto& slice : slices_) next = std::min(next, slice.links->next_event());
      if (next == kNever) break;
      now_ = next;
      dcn_.run_until(now_);
      for (auto& slice : slices_)
        if (slice.links->next_event() <= now_) slice.links->run_until(now_);
    }
    MultisliceTimes times;
    times.reduced_us = microseconds(reduced_);
    times.exchanged_us = microseconds(exchanged_);
    times.us = microseconds(gathered_);
    for (uint32_t host = 0; host < hosts_ * options_.slices; host++)
      times.dcn_bytes = std::max(times.dcn_bytes, dcn_.bytes_sent(host));
    times.finished = std::all_of(slices_.begin(), slices_.end(),
                                 [&](const OneSlice& slice) { return slice.gathered == options_.pieces; });
    return times;
  }

 private:
  struct OneSlice {
    std::unique_ptr<SliceLinks> links;
    std::optional<Collective> step;  // what its links carry
    uint32_t piece = 0;              // of that step
    bool gathers = false;
    uint32_t reduced = 0, gathered = 0;  // pieces
    std::deque<uint32_t> exchanged;      // pieces that are to be gathered
    std::vector<uint32_t> hosts_done;    // with each piece
  };
  /// A host's part in one piece.
  struct Exchange {
    uint32_t summands = 0, sums = 0;
  };
  enum Kind : uint64_t { kSummand, kSum };

  [[nodiscard]] uint64_t piece_bytes(uint32_t piece) const {
    return begin_of(options_.bytes, piece + 1, options_.pieces) - begin_of(options_.bytes, piece, options_.pieces);
  }
  /// Of a host's shares of a piece, what slice `owner` adds up.
  [[nodiscard]] uint64_t part(uint32_t piece, uint32_t host, uint32_t owner) const {
    const uint64_t chips =
        std::min<uint64_t>(options_.chips_per_host, slice_.chips() - uint64_t{host} * options_.chips_per_host);
    const uint64_t group = group_of(slice_, options_.axes);
    const uint64_t shares = chips * ((piece_bytes(piece) + group - 1) / group);
    return begin_of(shares, owner + 1, options_.slices) - begin_of(shares, owner, options_.slices);
  }
  Exchange& exchange(uint32_t piece, uint32_t slice, uint32_t host) {
    return exchanges_[(size_t{piece} * options_.slices + slice) * hosts_ + host];
  }

  /// Reductions, or blocks of all pieces on their way to the other slices.
  void begin(uint32_t number) {
    if (options_.kind != CollectiveKind::kAllGather) return begin_step(number);
    slices_[number].reduced = options_.pieces;
    for (uint32_t piece = 0; piece < options_.pieces; piece++)
      for (uint32_t host = 0; host < hosts_; host++) send_sums(piece, number, host);
  }

  /// A slice's links are free: the next reduction, or a gathering that has its sums.
  void begin_step(uint32_t number) {
    auto& slice = slices_[number];
    if (slice.reduced < options_.pieces) {
      slice.piece = slice.reduced;
      slice.gathers = false;
    } else if (!slice.exchanged.empty()) {
      slice.piece = slice.exchanged.front();
      slice.exchanged.pop_front();
      slice.gathers = true;
    } else {
      return;
    }
    slice.step.emplace(topology_,
                       CollectiveOptions{slice.gathers ? CollectiveKind::kAllGather : CollectiveKind::kReduceScatter,
                                         piece_bytes(slice.piece), options_.axes},
                       [this, &slice](const Message& message) { slice.links->send(message, now_); });
    slice.step->start();
    if (slice.step->finished()) end_step(number);
  }

  void delivered(uint32_t number, const Message& message, Femtoseconds at) {
    now_ = at;
    slices_[number].step->delivered(message);
    if (slices_[number].step->finished()) end_step(number);
  }

  void end_step(uint32_t number) {
    auto& slice = slices_[number];
    const uint32_t piece = slice.piece;
    slice.step.reset();
    if (slice.gathers) {
      slice.gathered++;
      gathered_ = now_;
    } else {
      slice.reduced++;
      if (piece == 0) reduced_ = now_;
      for (uint32_t host = 0; host < hosts_; host++) send_summands(piece, number, host);
    }
    if (!slice.step) begin_step(number);
  }

  /// To every slice its part, the next one first, so that each host receives from one at a time.
  void send_summands(uint32_t piece, uint32_t slice, uint32_t host) {
    for (uint32_t ahead = 1; ahead < options_.slices; ahead++) {
      const uint32_t owner = (slice + ahead) % options_.slices;
      dcn_.send({slice * hosts_ + host, owner * hosts_ + host, part(piece, host, owner), tag(kSummand, piece)}, now_);
    }
    add_summand(piece, slice, host);
  }

  static uint64_t tag(Kind kind, uint32_t piece) { return uint64_t{piece} << 1 | kind; }

  void arrived(const DcnMessage& message, Femtoseconds at) {
    now_ = at;
    const uint32_t slice = message.to / hosts_, host = message.to % hosts_;
    const auto piece = static_cast<uint32_t>(message.tag >> 1);
    if ((message.tag & 1) == kSummand)
      add_summand(piece, slice, host);
    else
      add_sum(piece, slice, host);
  }

  /// With the last one, its own among them, a host has its sum, which it keeps or sends to all others.
  void add_summand(uint32_t piece, uint32_t slice, uint32_t host) {
    if (++exchange(piece, slice, host).summands != options_.slices) return;
    if (options_.kind != CollectiveKind::kReduceScatter) return send_sums(piece, slice, host);
    if (++slices_[slice].hosts_done[piece] != hosts_) return;
    if (piece == 0) exchanged_ = now_;
    slices_[slice].gathered++;
    gathered_ = now_;
  }

  void send_sums(uint32_t piece, uint32_t slice, uint32_t host) {
    for (uint32_t ahead = 1; ahead < options_.slices; ahead++) {
      const uint32_t to = (slice + ahead) % options_.slices;
      dcn_.send({slice * hosts_ + host, to * hosts_ + host, part(piece, host, slice), tag(kSum, piece)}, now_);
    }
    add_sum(piece, slice, host);
  }

  void add_sum(uint32_t piece, uint32_t number, uint32_t host) {
    if (++exchange(piece, number, host).sums != options_.slices) return;
    auto& slice = slices_[number];
    if (++slice.hosts_done[piece] != hosts_) return;
    if (piece == 0) exchanged_ = now_;
    slice.exchanged.push_back(piece);
    if (!slice.step && slice.reduced == options_.pieces) begin_step(number);
  }

  MultisliceOptions options_;
  const Slice slice_;
  const Topology topology_;
  uint32_t hosts_;  // of a slice
  Dcn dcn_;
  std::vector<OneSlice> slices_;
  std::vector<Exchange> exchanges_;
  Femtoseconds now_ = 0, reduced_ = 0, exchanged_ = 0, gathered_ = 0;
};

}  // namespace

uint32_t hosts_of(const Slice& slice, uint32_t chips_per_host) {
  return (slice.chips() + chips_per_host - 1) / chips_per_host;
}

MultisliceTimes run_multislice(const Slice& slice, const MultisliceOptions& options) {
  assert(options.slices >= 1 && options.pieces >= 1 && options.chips_per_host >= 1 && options.bytes >= 1);
  return Multislice(slice, options).run();
}

double multislice_us(const Slice& slice, const MultisliceOptions& options) {
  const auto topology = slice.topology();
  const LinkRate rate{.bytes_per_second = static_cast<double>(slice.generation->link_bytes_per_second),
                      .optical = options.optical};
  const double halves = options.kind == CollectiveKind::kAllReduce ? 2 : 1;
  const double within = halves * all_gather_us(topology, options.bytes, options.axes, rate, true);
  if (options.slices == 1) return within;
  const double shares = std::min<double>(options.chips_per_host, slice.chips()) * static_cast<double>(options.bytes) /
                        group_of(slice, options.axes);
  const double others = 1 - 1.0 / options.slices;
  return within + halves * (1e6 * others * shares / static_cast<double>(options.host_bytes_per_second) +
                            microseconds(options.dcn_latency));
}

}  // namespace weft::ici
