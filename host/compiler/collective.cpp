// Who passes what to whom: chains towards each block's owner, and blocks away from their owners.
#include "host/compiler/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "host/compiler/collective_tiles.hpp"
#include "host/compiler/program_builder.hpp"

namespace weft::compiler {
namespace {

constexpr uint8_t kScratch = 2, kInput = 3, kOutput = 4;  // segments
constexpr unsigned kGate = 12;                            // posted by the BARRIER
constexpr uint64_t kGranule = 16, kPitch = 64;

/// Semaphores that the neighbours post, and where in scratch their data land: sums on their way up and down, blocks on
/// their way up and down.
constexpr uint8_t kSumUp = 48, kSumDown = 49, kBlockUp = 50, kBlockDown = 51;
/// What any rank sends straight to this one's output, a post for each tile.
constexpr uint8_t kDirect = 52;
constexpr uint64_t kMostAtOnce = 16384;  // posts that one WAIT takes, so that the semaphore never overflows

constexpr uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

/// The part of one rank.
class Rank {
 public:
  Rank(const SliceShape& slice, uint32_t chip, const Collective& collective)
      : slice_(slice), c_(collective), ranks_(slice.size[collective.axis]) {
    for (unsigned axis = 0; axis < collective.axis; axis++) stride_ *= slice.size[axis];
    rank_ = chip / stride_ % ranks_;
    first_chip_ = chip - rank_ * stride_;
  }

  [[nodiscard]] unsigned rank() const { return rank_; }
  [[nodiscard]] CollectiveBlock own() const { return block(rank_); }
  [[nodiscard]] spec::BarrierCommand barrier(uint32_t signature) const {
    spec::BarrierCommand c;
    c.header.opcode = WEFT_OPCODE_BARRIER;
    c.base = static_cast<uint16_t>(first_chip_);
    c.count0 = static_cast<uint16_t>(ranks_);
    c.stride0 = static_cast<uint16_t>(ranks_ > 1 ? stride_ : 0);
    c.count1 = c.count2 = 1;
    c.signature = signature;
    return c;
  }

  [[nodiscard]] std::vector<Transfer> transfers() {
    switch (c_.kind) {
      case CollectiveKind::kAllGather:
        set_out({TransferSource{{kInput, 0}, WEFT_NO_SEMAPHORE}});
        pass_blocks_on();
        break;
      case CollectiveKind::kReduceScatter:
        pass_sums_on();
        out_.push_back({own().bytes, sum_sources(), {{{kOutput, 0}, {}, WEFT_NO_SEMAPHORE}}});
        break;
      case CollectiveKind::kAllReduce:
        pass_sums_on();
        set_out(sum_sources());
        pass_blocks_on();
        break;
      case CollectiveKind::kBroadcast:
        if (rank_ == c_.root) set_out({TransferSource{{kInput, 0}, WEFT_NO_SEMAPHORE}});
        pass_blocks_on();
        break;
      case CollectiveKind::kAllToAll:
        send_blocks();
        break;
      case CollectiveKind::kPermute:
        send_array();
        break;
      case CollectiveKind::kBarrier:
        break;
    }
    return std::move(out_);
  }

  /// Bytes that one rank, and how many, send straight to this one.
  struct Direct {
    uint64_t bytes = 0, senders = 0;
  };
  [[nodiscard]] Direct direct() const {
    if (c_.kind == CollectiveKind::kAllToAll) return {own().bytes, ranks_ - 1};
    if (c_.kind == CollectiveKind::kPermute && c_.shift != 0) return {c_.bytes, 1};
    return {};
  }

 private:
  /// Of the array, by owner.
  [[nodiscard]] CollectiveBlock block(unsigned owner) const {
    if (c_.kind == CollectiveKind::kPermute) return {0, c_.bytes};
    if (c_.kind != CollectiveKind::kBroadcast) return collective_block(c_.bytes, ranks_, owner);
    return {0, owner == c_.root ? c_.bytes : 0};
  }
  [[nodiscard]] CollectiveReach reach(unsigned rank) const { return collective_reach(slice_, c_.axis, rank); }
  [[nodiscard]] unsigned up(unsigned from, unsigned by) const { return (from + by) % ranks_; }
  [[nodiscard]] unsigned down(unsigned from, unsigned by) const { return (from + ranks_ - by) % ranks_; }
  [[nodiscard]] bool has(bool above) const {
    return ranks_ > 1 && (slice_.wraps[c_.axis] || (above ? rank_ + 1 < ranks_ : rank_ > 0));
  }
  [[nodiscard]] TransferPlace landing(uint8_t semaphore, unsigned owner) const {
    const unsigned area = semaphore == kSumUp ? 0 : semaphore == kSumDown ? 1 : 2;  // blocks come once, from one side
    return {kScratch, area * c_.bytes + block(owner).offset};
  }
  [[nodiscard]] TransferSource arrival(uint8_t semaphore, unsigned owner) const {
    return {landing(semaphore, owner), semaphore};
  }
  [[nodiscard]] TransferSink neighbor(bool above, uint8_t semaphore, unsigned owner) const {
    const unsigned to = above ? up(rank_, 1) : down(rank_, 1);
    return {landing(semaphore, owner), static_cast<uint16_t>(first_chip_ + to * stride_), semaphore};
  }
  [[nodiscard]] TransferSource input(unsigned owner) const {
    return {{kInput, block(owner).offset}, WEFT_NO_SEMAPHORE};
  }

  /// This rank's own block is known: it goes out here, and sets out both ways.
  void set_out(const std::vector<TransferSource>& sources) {
    Transfer transfer{own().bytes, sources, {{{kOutput, own().offset}, {}, WEFT_NO_SEMAPHORE}}};
    if (has(true) && reach(up(rank_, 1)).below >= 1) transfer.sinks.push_back(neighbor(true, kBlockUp, rank_));
    if (has(false) && reach(down(rank_, 1)).above >= 1) transfer.sinks.push_back(neighbor(false, kBlockDown, rank_));
    out_.push_back(transfer);
  }

  /// Blocks of the others, the nearest first, from below and above by turns: each goes out here and one link on.
  void pass_blocks_on() {
    const auto [below, above] = reach(rank_);
    for (unsigned distance = 1; distance <= std::max(below, above); distance++) {
      if (distance <= below) {
        const unsigned owner = down(rank_, distance);
        Transfer transfer{block(owner).bytes, {arrival(kBlockUp, owner)}, {out_of(owner)}};
        if (has(true) && distance + 1 <= reach(up(rank_, 1)).below && up(rank_, 1) != owner)
          transfer.sinks.push_back(neighbor(true, kBlockUp, owner));
        out_.push_back(transfer);
      }
      if (distance <= above) {
        const unsigned owner = up(rank_, distance);
        Transfer transfer{block(owner).bytes, {arrival(kBlockDown, owner)}, {out_of(owner)}};
        if (has(false) && distance + 1 <= reach(down(rank_, 1)).above && down(rank_, 1) != owner)
          transfer.sinks.push_back(neighbor(false, kBlockDown, owner));
        out_.push_back(transfer);
      }
    }
  }
  [[nodiscard]] TransferSink out_of(unsigned owner) const {
    return {{kOutput, block(owner).offset}, {}, WEFT_NO_SEMAPHORE};
  }

  [[nodiscard]] TransferSink straight_to(unsigned rank, uint64_t offset) const {
    if (rank == rank_) return {{kOutput, offset}, {}, WEFT_NO_SEMAPHORE};
    return {{kOutput, offset}, static_cast<uint16_t>(first_chip_ + rank * stride_), kDirect};
  }
  /// Each rank's block to that rank, the farthest first, both ways by turns; the network finds the way.
  void send_blocks() {
    const auto send = [&](unsigned to) {
      const uint64_t bytes = block(to).bytes;
      out_.push_back({bytes, {input(to)}, {straight_to(to, rank_ * bytes)}});
    };
    const auto [below, above] = reach(rank_);  // how far down, and how far up, the others are
    for (unsigned distance = std::max(below, above); distance > 0; distance--) {
      if (distance <= above) send(up(rank_, distance));
      if (distance <= below) send(down(rank_, distance));
    }
    send(rank_);
  }
  void send_array() { out_.push_back({c_.bytes, {input(0)}, {straight_to(up(rank_, c_.shift), 0)}}); }

  /// Sums towards other owners, the farthest first, up and down by turns: what has come, plus this rank's part.
  void pass_sums_on() {
    for (unsigned distance = ranks_; distance-- > 1;) {
      const unsigned higher = up(rank_, distance), lower = down(rank_, distance);
      if (has(true) && reach(higher).below >= distance && (slice_.wraps[c_.axis] || rank_ + distance < ranks_))
        pass_sum_on(higher, reach(higher).below == distance, true);
      if (has(false) && reach(lower).above >= distance && (slice_.wraps[c_.axis] || rank_ >= distance))
        pass_sum_on(lower, reach(lower).above == distance, false);
    }
  }
  void pass_sum_on(unsigned owner, bool begins, bool above) {
    const uint8_t semaphore = above ? kSumUp : kSumDown;
    Transfer transfer{block(owner).bytes, {}, {neighbor(above, semaphore, owner)}};
    if (!begins) transfer.sources.push_back(arrival(semaphore, owner));
    transfer.sources.push_back(input(owner));
    out_.push_back(transfer);
  }
  /// Of the sum of this rank's block: (from below + own) + from above.
  [[nodiscard]] std::vector<TransferSource> sum_sources() const {
    std::vector<TransferSource> sources;
    if (reach(rank_).below > 0) sources.push_back(arrival(kSumUp, rank_));
    sources.push_back(input(rank_));
    if (reach(rank_).above > 0) sources.push_back(arrival(kSumDown, rank_));
    return sources;
  }

  const SliceShape slice_;
  const Collective c_;
  const unsigned ranks_;
  uint32_t stride_ = 1, first_chip_ = 0;
  unsigned rank_ = 0;
  std::vector<Transfer> out_;
};

/// The same for all chips that do the same together (FNV-1a).
uint32_t signature_of(const Collective& c) {
  uint32_t hash = 2166136261u;
  for (const uint64_t value : {static_cast<uint64_t>(c.kind), uint64_t{c.axis}, static_cast<uint64_t>(c.dtype), c.bytes,
                               uint64_t{c.root}, uint64_t{c.shift}})
    for (unsigned byte = 0; byte < sizeof value; byte++) hash = (hash ^ (value >> (8 * byte) & 0xff)) * 16777619u;
  return hash;
}

Argument argument(std::string_view name, const Collective& c, weft_argument_direction direction, uint64_t bytes) {
  const uint64_t element = c.dtype == WEFT_ARGUMENT_DTYPE_F32 ? 4 : 2;
  const uint64_t size = round_up(std::max(bytes, kGranule), kPitch);
  return {.name = std::string(name),
          .dtype = c.dtype,
          .direction = direction,
          .rows = 1,
          .columns = std::max(bytes, kGranule) / element,
          .pitch_bytes = size,
          .size_bytes = size};
}

std::optional<Error> check(const SliceShape& slice, uint32_t chip, const Collective& c) {
  const auto invalid = [](std::string text) { return Error{WEFT_ERROR_INVALID_ARGUMENT, std::move(text)}; };
  if (chip >= slice.chips()) return invalid(fmt::format("chip {}: the slice has {}", chip, slice.chips()));
  if (c.axis >= slice.size.size()) return invalid(fmt::format("axis {}: 0 to 2 are possible", c.axis));
  if (c.kind == CollectiveKind::kBarrier) return std::nullopt;
  if (c.dtype != WEFT_ARGUMENT_DTYPE_F32 && c.dtype != WEFT_ARGUMENT_DTYPE_BF16)
    return invalid(fmt::format("dtype {}: f32 and bf16 are possible", static_cast<int>(c.dtype)));
  if (c.bytes == 0 || c.bytes % kGranule != 0)
    return invalid(fmt::format("{} bytes: a multiple of {} from {} is due", c.bytes, kGranule, kGranule));
  if (c.root >= slice.size[c.axis])
    return invalid(fmt::format("root {}: the axis has {} ranks", c.root, slice.size[c.axis]));
  if (c.shift >= slice.size[c.axis])
    return invalid(fmt::format("shift {}: the axis has {} ranks", c.shift, slice.size[c.axis]));
  return std::nullopt;
}

/// The sync queue waits until all that others send straight to this rank is there.
void wait_for_direct(ProgramBuilder& program, const Rank& rank) {
  const auto [bytes, senders] = rank.direct();
  const uint64_t tile = transfer_tile_bytes(program.chip());
  for (uint64_t left = (bytes + tile - 1) / tile * senders; left != 0;) {
    const uint64_t now = std::min(left, kMostAtOnce);
    spec::NoneCommand wait;
    wait.header.opcode = WEFT_OPCODE_WAIT;
    wait.header.tag = program.tag("wait for the others");
    ProgramBuilder::wait(wait.header, kDirect, now);
    program.push(WEFT_QUEUE_SYNC, spec::encode(wait));
    left -= now;
  }
}

/// Bytes of the arguments of this rank.
uint64_t input_bytes(const Rank& rank, const Collective& c) {
  return c.kind == CollectiveKind::kAllGather ? rank.own().bytes : c.bytes;
}
uint64_t output_bytes(const Rank& rank, const Collective& c, unsigned ranks) {
  if (c.kind == CollectiveKind::kAllToAll) return ranks * rank.own().bytes;
  return c.kind == CollectiveKind::kReduceScatter ? rank.own().bytes : c.bytes;
}

}  // namespace

CollectiveBlock collective_block(uint64_t bytes, unsigned ranks, unsigned rank) {
  const uint64_t granules = bytes / kGranule, each = granules / ranks, longer = granules % ranks;
  return {(rank * each + std::min<uint64_t>(rank, longer)) * kGranule, (each + (rank < longer ? 1 : 0)) * kGranule};
}

CollectiveReach collective_reach(const SliceShape& slice, unsigned axis, unsigned rank) {
  const unsigned ranks = slice.size[axis];
  if (!slice.wraps[axis]) return {rank, ranks - 1 - rank};
  return {ranks / 2, ranks - 1 - ranks / 2};
}

Result<Kernel> compile_collective(const spec::Chip& chip, const SliceShape& slice, uint32_t number,
                                  const Collective& c) {
  if (auto error = check(slice, number, c)) return *error;
  Rank rank(slice, number, c);
  const std::vector<Transfer> transfers = rank.transfers();
  const bool moves = std::ranges::any_of(transfers, [](const Transfer& t) { return t.bytes != 0; });
  ProgramBuilder program(chip);
  auto barrier = rank.barrier(signature_of(c));
  barrier.header.tag = program.tag("barrier");
  if (moves) ProgramBuilder::post(barrier.header, kGate, 1);
  program.push(WEFT_QUEUE_SYNC, spec::encode(barrier));
  schedule_transfers(program, transfers, c.dtype == WEFT_ARGUMENT_DTYPE_F32 ? WEFT_VPU_DTYPE_F32 : WEFT_VPU_DTYPE_BF16,
                     kGate);
  wait_for_direct(program, rank);

  Kernel kernel;
  kernel.name = "collective";
  if (c.kind != CollectiveKind::kBarrier) {
    kernel.arguments = {
        argument("input", c, WEFT_ARGUMENT_DIRECTION_INPUT, input_bytes(rank, c)),
        argument("output", c, WEFT_ARGUMENT_DIRECTION_OUTPUT, output_bytes(rank, c, slice.size[c.axis]))};
    kernel.scratch_bytes = round_up(3 * c.bytes, kPitch);
  }
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
    kernel.queues[queue] = program.commands(static_cast<weft_queue_index>(queue));
  kernel.tags = program.tags();
  kernel.vmem_bytes = program.vmem_bytes();
  kernel.semaphores = program.semaphores();
  kernel.cycle_estimate = program.cycle_estimate();
  return kernel;
}

}  // namespace weft::compiler
