// Chains towards each block's owner, and blocks away from their owners, axis after axis.
//
// The data of a block are cut into a part for each axis of the group (and two halves each, if an axis is an even ring):
// lanes. A lane goes through phases, one an axis; lanes of different parts are at different axes at the same time. A
// transfer's place in the order is (phase, step, lane), step being the distance that the data have come; what a
// transfer waits for on other chips has a lower place there, so no order of lanes ends in a deadlock, and what one rank
// posts comes in the order in which the other waits for it.
#include "host/compiler/collectives/collective_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "host/compiler/collectives/collective_straight.hpp"

namespace weft::compiler {
namespace {

constexpr uint8_t kScratch = 2;  // segment

/// Semaphores that the neighbours on axis a post, 4 a higher: sums on their way up and down, blocks on their way up and
/// down.
enum Way : uint8_t { kSumUp = 48, kSumDown = 49, kBlockUp = 50, kBlockDown = 51 };
constexpr uint8_t kStored = 41;  // .. + 2: this rank's own sums of a part are in scratch
constexpr uint64_t kMaxPosts = 65535;

using Order = std::tuple<unsigned, unsigned, unsigned>;  // phase, step, lane

class Paths {
 public:
  Paths(const CollectiveMesh& mesh, const Collective& c, uint64_t tile_bytes)
      : mesh_(mesh), c_(c), tile_bytes_(tile_bytes), axes_(static_cast<unsigned>(mesh.axes.size())) {}

  Result<CollectivePaths> run() {
    const bool reduces = c_.kind == CollectiveKind::kReduceScatter || c_.kind == CollectiveKind::kAllReduce;
    const bool gathers = c_.kind == CollectiveKind::kAllGather || c_.kind == CollectiveKind::kAllReduce ||
                         c_.kind == CollectiveKind::kBroadcast;
    first_gather_ = reduces ? axes_ : 0;
    for (lane_ = 0; lane_ < axes_ * halves(); lane_++) {
      if (reduces)
        for (phase_ = 0; phase_ < axes_; phase_++) reduce(gathers);
      if (gathers)
        for (phase_ = first_gather_; phase_ < first_gather_ + axes_; phase_++) gather(reduces);
    }
    std::ranges::stable_sort(planned_, {}, [](const Planned& p) { return p.order; });
    take_turns();
    if (!await_stores())
      return Error{
          WEFT_ERROR_UNSUPPORTED,
          fmt::format("{} bytes over several axes: what a rank sums has more than {} tiles", c_.bytes, kMaxPosts)};
    CollectivePaths paths;
    for (auto& p : planned_) paths.transfers.push_back(std::move(p.transfer));
    const unsigned areas = (reduces ? 2 * axes_ : 0) + (gathers ? axes_ - 1 : 0) + (reduces && axes_ > 1 ? axes_ : 0);
    paths.scratch_bytes = areas * c_.bytes;
    paths.direct_posts = direct_posts_;
    return paths;
  }

 private:
  struct Planned {
    Order order;
    Transfer transfer;
    unsigned way;  // 2 axis + 1 if it goes down
  };

  [[nodiscard]] unsigned halves() const { return mesh_.halves() ? 2 : 1; }
  [[nodiscard]] unsigned part() const { return lane_ / halves(); }
  [[nodiscard]] unsigned half() const { return lane_ % halves(); }
  [[nodiscard]] bool gathering() const { return phase_ >= first_gather_; }
  /// The axis of a phase: a gathering goes back the way of a reduction.
  [[nodiscard]] unsigned axis_of(unsigned phase) const {
    return reduction_axis(mesh_, part(), phase < first_gather_ ? phase : axes_ - 1 - (phase - first_gather_));
  }
  [[nodiscard]] unsigned axis() const { return axis_of(phase_); }
  [[nodiscard]] unsigned size() const { return mesh_.axes[axis()].ranks; }
  [[nodiscard]] bool ring() const { return mesh_.axes[axis()].ring; }
  [[nodiscard]] unsigned here() const { return mesh_.coordinate(mesh_.rank, axis()); }
  [[nodiscard]] unsigned up(unsigned from, unsigned by) const { return (from + by) % size(); }
  [[nodiscard]] unsigned down(unsigned from, unsigned by) const { return (from + size() - by) % size(); }
  [[nodiscard]] CollectiveReach reach(unsigned coordinate) const {
    return collective_reach(size(), ring(), coordinate, half());
  }

  /// This lane's piece of a rank's block.
  [[nodiscard]] CollectiveBlock piece(unsigned rank) const {
    if (c_.kind == CollectiveKind::kBroadcast) return collective_piece(mesh_, {0, c_.bytes}, part(), half());
    return collective_piece(mesh_, collective_block(c_.bytes, mesh_.ranks(), rank), part(), half());
  }

  /// Whose pieces the rank at place `owner` on this phase's axis has: in a gathering those that came to it along the
  /// axes before, in a reduction those that it passes on along the axes behind. A broadcast has the root's only.
  [[nodiscard]] std::vector<unsigned> pieces_of(unsigned owner) const {
    const unsigned at = mesh_.moved(mesh_.rank, axis(), owner);
    if (c_.kind == CollectiveKind::kBroadcast) return carries(at) ? std::vector{c_.root} : std::vector<unsigned>{};
    std::vector<unsigned> ranks{at};
    const unsigned from = gathering() ? first_gather_ : phase_ + 1, to = gathering() ? phase_ : axes_;
    for (unsigned other = from; other < to; other++) {
      std::vector<unsigned> more;
      for (unsigned i = 0; i < mesh_.axes[axis_of(other)].ranks; i++)
        for (const unsigned rank : ranks) more.push_back(mesh_.moved(rank, axis_of(other), i));
      ranks = std::move(more);
    }
    std::ranges::sort(ranks);
    return ranks;
  }
  /// A broadcast: the root's array has come to this rank before the phase.
  [[nodiscard]] bool carries(unsigned rank) const {
    for (unsigned other = phase_; other < first_gather_ + axes_; other++)
      if (mesh_.coordinate(rank, axis_of(other)) != mesh_.coordinate(c_.root, axis_of(other))) return false;
    return true;
  }

  // --- Places. Scratch: two areas of sums for each phase of a reduction, one of blocks for each phase of a gathering
  // but the last, whose blocks come to the output itself, and one of this rank's own sums for each phase of a
  // reduction, all as large as the array.
  [[nodiscard]] bool last_gathering(unsigned phase) const { return phase + 1 == first_gather_ + axes_; }
  [[nodiscard]] TransferPlace landing(Way way, unsigned phase, unsigned rank) const {
    const bool sum = way == kSumUp || way == kSumDown;
    if (!sum && last_gathering(phase)) return {kCollectiveOutput, piece(rank).offset};
    const unsigned area = sum ? 2 * phase + (way - kSumUp) : 2 * first_gather_ + phase - first_gather_;
    return {kScratch, area * c_.bytes + piece(rank).offset};
  }
  [[nodiscard]] TransferPlace own_sums(unsigned phase, unsigned rank) const {
    const unsigned gathers = c_.kind == CollectiveKind::kAllReduce ? axes_ - 1 : 0;
    return {kScratch, (2 * axes_ + gathers + phase) * c_.bytes + piece(rank).offset};
  }
  [[nodiscard]] uint8_t semaphore(Way way) const { return static_cast<uint8_t>(way + 4 * axis()); }
  [[nodiscard]] TransferSource arrival(Way way, unsigned rank) const {
    return {landing(way, phase_, rank), semaphore(way)};
  }
  [[nodiscard]] TransferSink neighbor(Way way, unsigned rank, uint8_t arrival) const {
    const unsigned to = way == kSumUp || way == kBlockUp ? up(here(), 1) : down(here(), 1);
    return {landing(way, phase_, rank), static_cast<uint16_t>(mesh_.chips[mesh_.moved(mesh_.rank, axis(), to)]),
            arrival};
  }
  /// A block to the next rank, which passes it on over `left` links. Over none, in the last phase: nobody loads it.
  [[nodiscard]] TransferSink next(Way way, unsigned rank, unsigned left) const {
    return neighbor(way, rank, left == 0 && last_gathering(phase_) ? kCollectiveDirect : semaphore(way));
  }
  /// All-gather: the piece is the whole input; otherwise the input has it where the array has it.
  [[nodiscard]] TransferSource input(unsigned rank) const {
    const uint64_t first =
        c_.kind == CollectiveKind::kAllGather ? collective_block(c_.bytes, mesh_.ranks(), mesh_.rank).offset : 0;
    return {{kCollectiveInput, piece(rank).offset - first}, WEFT_NO_SEMAPHORE};
  }
  [[nodiscard]] TransferSink output(unsigned rank) const {
    const uint64_t first =
        c_.kind == CollectiveKind::kReduceScatter ? collective_block(c_.bytes, mesh_.ranks(), mesh_.rank).offset : 0;
    return {{kCollectiveOutput, piece(rank).offset - first}, {}, WEFT_NO_SEMAPHORE};
  }

  /// A broadcast's steps are one: data only go away from the root, and a chip that begins one part of them passes
  /// another on.
  void plan(unsigned phase, unsigned step, Transfer transfer, bool down = false) {
    if (c_.kind == CollectiveKind::kBroadcast) step = 0;
    if (transfer.bytes != 0 && !transfer.sinks.empty())
      planned_.push_back({{phase, step, lane_}, std::move(transfer), 2 * axis_of(phase) + (down ? 1 : 0)});
  }

  /// What goes up and down each axis in a step, tile by tile in turns: a block larger than what waits at the links
  /// would leave all others idle. Each way keeps its order.
  void take_turns() {
    std::vector<Planned> turns;
    const auto step_of = [](const Planned& p) { return std::pair{std::get<0>(p.order), std::get<1>(p.order)}; };
    for (size_t first = 0, last = 0; first < planned_.size(); first = last) {
      std::array<std::vector<Planned>, 6> ways;
      for (; last < planned_.size() && step_of(planned_[last]) == step_of(planned_[first]); last++)
        for (uint64_t at = 0; at < planned_[last].transfer.bytes; at += tile_bytes_)
          ways[planned_[last].way].push_back(tile_of(planned_[last], at));
      for (size_t i = 0; std::ranges::any_of(ways, [i](const auto& way) { return i < way.size(); }); i++)
        for (auto& way : ways)
          if (i < way.size()) turns.push_back(std::move(way[i]));
    }
    planned_ = std::move(turns);
  }
  [[nodiscard]] Planned tile_of(const Planned& planned, uint64_t at) const {
    Planned tile = planned;
    tile.transfer.bytes = std::min(tile_bytes_, planned.transfer.bytes - at);
    for (auto& source : tile.transfer.sources) source.place.offset += at;
    for (auto& sink : tile.transfer.sinks) sink.place.offset += at;
    return tile;
  }

  [[nodiscard]] uint64_t tiles(uint64_t bytes) const { return (bytes + tile_bytes_ - 1) / tile_bytes_; }

  /// From this rank's own sums of a phase, which are in scratch.
  [[nodiscard]] TransferSource stored(unsigned phase, unsigned rank) const {
    return {own_sums(phase, rank), static_cast<uint8_t>(kStored + part())};
  }
  /// Own sums are announced by their stores, which may end in any order: whoever is the first to read one waits for
  /// all. False: they are more than a semaphore counts.
  bool await_stores() {
    std::array<uint64_t, 3> posts{};
    bool counted = true;
    const auto posts_of = [&](uint8_t semaphore) -> uint64_t* {
      return semaphore >= kStored && semaphore < kStored + posts.size() ? &posts[semaphore - kStored] : nullptr;
    };
    for (Planned& planned : planned_) {
      for (TransferSource& source : planned.transfer.sources) {
        uint64_t* due = posts_of(source.arrival);
        if (due == nullptr) continue;
        counted &= *due <= kMaxPosts;
        if (*due == 0) source.arrival = WEFT_NO_SEMAPHORE;
        source.at_once = static_cast<uint16_t>(std::exchange(*due, 0));
      }
      for (const TransferSink& sink : planned.transfer.sinks)
        if (uint64_t* due = posts_of(sink.arrival)) *due += tiles(planned.transfer.bytes);
    }
    return counted;
  }

  // --- Reductions

  /// Sums towards other owners, the farthest first: what has come, plus this rank's part. Then the sums of its own.
  void reduce(bool gathers) {
    for (unsigned distance = size(); distance-- > 1;) {
      const unsigned higher = up(here(), distance), lower = down(here(), distance);
      if ((ring() || here() + distance < size()) && reach(higher).below >= distance)
        pass_sums_on(higher, distance, reach(higher).below == distance, kSumUp);
      if ((ring() || here() >= distance) && reach(lower).above >= distance)
        pass_sums_on(lower, distance, reach(lower).above == distance, kSumDown);
    }
    for (const unsigned rank : pieces_of(here())) sum(rank, gathers);
  }
  /// This rank's part of a sum.
  [[nodiscard]] TransferSource own_part(unsigned rank) const {
    return phase_ == 0 ? input(rank) : stored(phase_ - 1, rank);
  }

  void pass_sums_on(unsigned owner, unsigned distance, bool begins, Way way) {
    for (const unsigned rank : pieces_of(owner)) {
      Transfer transfer{piece(rank).bytes, {}, {neighbor(way, rank, semaphore(way))}};
      if (!begins) transfer.sources.push_back(arrival(way, rank));
      transfer.sources.push_back(own_part(rank));
      plan(phase_, size() - 1 - distance, std::move(transfer), way == kSumDown);
    }
  }
  /// (From below + own) + from above.
  void sum(unsigned rank, bool gathers) {
    Transfer transfer{piece(rank).bytes, {}, {}};
    if (reach(here()).below > 0) transfer.sources.push_back(arrival(kSumUp, rank));
    transfer.sources.push_back(own_part(rank));
    if (reach(here()).above > 0) transfer.sources.push_back(arrival(kSumDown, rank));
    const bool last = phase_ + 1 == axes_;
    if (last) transfer.sinks.push_back(output(rank));
    if (!last || (gathers && axes_ > 1))
      transfer.sinks.push_back({own_sums(phase_, rank), {}, static_cast<uint8_t>(kStored + part())});
    const unsigned phase = phase_, step = size() - 1;
    if (last && gathers) {
      phase_ = first_gather_;
      set_out(transfer, rank);
      phase_ = phase;
    }
    plan(phase, step, std::move(transfer));
  }

  // --- Gatherings

  void set_out(Transfer& transfer, unsigned rank) const {
    const auto [above, below] = spread(here());
    if (above > 0) transfer.sinks.push_back(next(kBlockUp, rank, above - 1));
    if (below > 0) transfer.sinks.push_back(next(kBlockDown, rank, below - 1));
  }
  /// How many ranks above, and below, the blocks of the rank at `owner` go to.
  struct Spread {
    unsigned above, below;
  };
  [[nodiscard]] Spread spread(unsigned owner) const {
    const auto r = reach(owner);
    return ring() ? Spread{r.below, r.above} : Spread{r.above, r.below};
  }

  void gather(bool reduced) {
    if (phase_ > first_gather_ || !reduced) {
      for (const unsigned rank : pieces_of(here())) {
        Transfer transfer{piece(rank).bytes, {block_of(rank, reduced)}, {}};
        if (phase_ == first_gather_) transfer.sinks.push_back(output(rank));
        set_out(transfer, rank);
        plan(phase_, 0, std::move(transfer));
      }
    }
    for (unsigned distance = 1; distance < size(); distance++) {
      const unsigned lower = down(here(), distance), higher = up(here(), distance);
      if ((ring() || here() >= distance) && spread(lower).above >= distance)
        pass_blocks_on(lower, distance, spread(lower).above - distance, kBlockUp);
      if ((ring() || here() + distance < size()) && spread(higher).below >= distance)
        pass_blocks_on(higher, distance, spread(higher).below - distance, kBlockDown);
    }
  }
  /// Each block goes out here and, if links are left, one on. In the last phase it has come to where it belongs.
  void pass_blocks_on(unsigned owner, unsigned distance, unsigned left, Way way) {
    for (const unsigned rank : pieces_of(owner)) {
      Transfer transfer{piece(rank).bytes, {arrival(way, rank)}, {}};
      if (!last_gathering(phase_)) transfer.sinks.push_back(output(rank));
      if (left > 0) transfer.sinks.push_back(next(way, rank, left - 1));
      if (transfer.sinks.empty()) direct_posts_ += tiles(transfer.bytes);
      plan(phase_, distance, std::move(transfer), way == kBlockDown);
    }
  }
  /// Where a piece lies that this rank has before the phase: its own, or where it came to in an earlier phase.
  [[nodiscard]] TransferSource block_of(unsigned rank, bool reduced) const {
    if (rank == mesh_.rank) return reduced ? stored(axes_ - 1, rank) : input(rank);
    for (unsigned phase = phase_; phase-- > first_gather_;)
      if (mesh_.coordinate(rank, axis_of(phase)) != mesh_.coordinate(mesh_.rank, axis_of(phase)))
        return {landing(kBlockUp, phase, rank), WEFT_NO_SEMAPHORE};
    return input(rank);
  }

  const CollectiveMesh& mesh_;
  const Collective& c_;
  const uint64_t tile_bytes_;
  const unsigned axes_;
  unsigned first_gather_ = 0, phase_ = 0, lane_ = 0;
  uint64_t direct_posts_ = 0;
  std::vector<Planned> planned_;
};

}  // namespace

Result<CollectivePaths> collective_paths(const CollectiveMesh& mesh, const Collective& collective,
                                         uint64_t tile_bytes) {
  if (collective.kind == CollectiveKind::kAllToAll) return all_to_all_paths(mesh, collective, tile_bytes);
  if (collective.kind == CollectiveKind::kPermute) return permute_paths(mesh, collective, tile_bytes);
  return Paths(mesh, collective, tile_bytes).run();
}

}  // namespace weft::compiler
