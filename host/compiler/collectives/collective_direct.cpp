// Parts go to their owners' VMEM, sums to everybody's HBM.
//
// VMEM holds areas of one size, a lane each: a lane is one of the pieces (part, half) that a block is cut into, because
// each is added in an order of its own. First this rank's array, lane by lane and block by block; behind it what comes
// from each rank for this rank's block.
//
//   dma_in   own array ──► VMEM ──┐                                              the owner of a block:
//   dma_out                       ├─ each block to its owner's VMEM ──► ... ──►  add in place (VPU)
//   dma_out                       └─ the sum of the own block to every rank's output
#include "host/compiler/collectives/collective_direct.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/round_up.hpp"
#include "host/compiler/collectives/collective_paths.hpp"

namespace weft::compiler {
namespace {

constexpr unsigned kLoaded = 0;  // every load, for dma_out
constexpr unsigned kOwn = 1;     // every load, for the VPU
constexpr unsigned kAdded = 2;   // the sums are there
constexpr uint8_t kPart = 61;    // another rank's parts of this rank's block are there

/// Runs of equal length at equal distances, which one COPY takes.
struct Strip {
  uint64_t vmem, hbm, bytes;
  uint64_t count = 1, vmem_stride = 0, hbm_stride = 0;
};

/// Of the pieces of a block.
uint64_t longest_piece(const CollectiveMesh& mesh, const CollectiveBlock& block) {
  uint64_t longest = 0;
  for (unsigned part = 0; part < mesh.axes.size(); part++)
    longest = std::max(longest, collective_piece(mesh, block, part, 0).bytes);
  return longest;
}

/// Of VMEM, for any piece of a reduction: whole rows of f32.
uint64_t area_bytes(const spec::Chip& chip, const CollectiveMesh& mesh, const Collective& c) {
  uint64_t longest = 0;
  for (const unsigned rank : {0u, mesh.ranks() - 1})
    longest = std::max(longest, longest_piece(mesh, collective_block(c.bytes, mesh.ranks(), rank)));
  return round_up(longest, 2 * chip.word_bytes);
}

class Direct {
 public:
  Direct(ProgramBuilder& program, const CollectiveMesh& mesh, const Collective& c, weft_vpu_dtype dtype, unsigned gate)
      : program_(program), mesh_(mesh), c_(c), dtype_(dtype), gate_(gate) {}

  DirectCollective run() {
    const bool reduces = c_.kind == CollectiveKind::kReduceScatter || c_.kind == CollectiveKind::kAllReduce;
    unsigned ready = kLoaded;
    if (reduces) {
      load_parts();
      send_parts();
      sum_parts();
      ready = kAdded;
    } else if (has_result(mesh_.rank)) {
      const CollectiveBlock block = result_block(mesh_.rank);
      load({0, 0, block.bytes}, 1, 0);
    }
    if (has_result(mesh_.rank)) send_result(ready);
    DirectCollective out{.waits = leaves_};
    if (c_.kind != CollectiveKind::kReduceScatter)
      for (unsigned rank = 0; rank < mesh_.ranks(); rank++)
        if (rank != mesh_.rank && has_result(rank)) out.direct_posts += result_strips(rank).size();
    program_.note_vmem_words(direct_vmem_bytes(program_.chip(), mesh_, c_) / program_.chip().word_bytes);
    return out;
  }

 private:
  [[nodiscard]] unsigned halves() const { return mesh_.halves() ? 2 : 1; }
  [[nodiscard]] unsigned lanes() const { return static_cast<unsigned>(mesh_.axes.size()) * halves(); }
  [[nodiscard]] CollectiveBlock block(unsigned rank) const { return collective_block(c_.bytes, mesh_.ranks(), rank); }
  [[nodiscard]] CollectiveBlock piece(unsigned rank, unsigned lane) const {
    return collective_piece(mesh_, block(rank), lane / halves(), lane % halves());
  }
  [[nodiscard]] uint64_t area() const { return area_bytes(program_.chip(), mesh_, c_); }
  /// This rank's part of a block, and what comes from a rank for this rank's block.
  [[nodiscard]] uint64_t own(unsigned owner, unsigned lane) const { return (owner * lanes() + lane) * area(); }
  [[nodiscard]] uint64_t arrived(unsigned from, unsigned lane) const {
    return from == mesh_.rank ? own(from, lane) : own(mesh_.ranks() + from, lane);
  }

  /// Other ranks, the farthest first, both ways by turns.
  [[nodiscard]] std::vector<unsigned> others() const {
    std::vector<unsigned> ranks;
    for (unsigned by = mesh_.ranks() / 2; by > 0; by--) {
      ranks.push_back((mesh_.rank + by) % mesh_.ranks());
      if (2 * by != mesh_.ranks()) ranks.push_back((mesh_.rank + mesh_.ranks() - by) % mesh_.ranks());
    }
    std::ranges::stable_sort(ranks, std::ranges::greater{}, [this](unsigned rank) { return hops(rank); });
    return ranks;
  }
  [[nodiscard]] unsigned hops(unsigned rank) const {
    unsigned all = 0;
    for (unsigned axis = 0; axis < mesh_.axes.size(); axis++) {
      const auto [size, ring] = mesh_.axes[axis];
      const unsigned a = mesh_.coordinate(rank, axis), b = mesh_.coordinate(mesh_.rank, axis);
      const unsigned distance = std::max(a, b) - std::min(a, b);
      all += ring ? std::min(distance, size - distance) : distance;
    }
    return all;
  }

  void load(const Strip& strip, uint64_t for_dma_out, uint64_t for_vpu) {
    spec::DmaCommand command = copy("load", strip);
    command.src_seg = kCollectiveInput;
    command.src_off = strip.hbm, command.dst_off = strip.vmem;
    command.src_stride1 = static_cast<int32_t>(strip.hbm_stride);
    command.dst_stride1 = static_cast<int32_t>(strip.vmem_stride);
    ProgramBuilder::post(command.header, kLoaded, for_dma_out);
    ProgramBuilder::post(command.header, kOwn, for_vpu);
    program_.note_hbm_bytes(strip.bytes * strip.count);
    program_.push(WEFT_QUEUE_DMA_IN, spec::encode(command));
    load_count_++;
  }
  spec::DmaCommand copy(const std::string& tag, const Strip& strip) {
    spec::DmaCommand command;
    command.header.opcode = WEFT_OPCODE_COPY;
    command.header.tag = program_.tag(tag);
    command.size0 = static_cast<uint32_t>(strip.bytes);
    command.size1 = static_cast<uint16_t>(strip.count);
    return command;
  }
  /// On dma_out; the first one waits for `ready`, the first of all for the gate as well. Loads wait for nothing.
  spec::DmaCommand put(const std::string& tag, const Strip& strip, std::optional<unsigned> to) {
    spec::DmaCommand command = copy(tag, strip);
    command.src_off = strip.vmem, command.dst_off = strip.hbm;
    command.src_stride1 = static_cast<int32_t>(strip.vmem_stride);
    command.dst_stride1 = static_cast<int32_t>(strip.hbm_stride);
    if (to) {
      command.header.flags = WEFT_COMMAND_FLAG_REMOTE;
      command.remote_chip = static_cast<uint16_t>(mesh_.chips[*to]);
      command.header.post_count1 = 1;
    }
    return command;
  }
  void push_out(spec::DmaCommand& command, unsigned ready, uint64_t count, bool& first) {
    if (first) ProgramBuilder::wait(command.header, ready, count);
    if (!leaves_) ProgramBuilder::wait(command.header, gate_, 1);
    first = false, leaves_ = true;
    program_.push(WEFT_QUEUE_DMA_OUT, spec::encode(command));
  }

  // --- Reductions

  /// Ranks with blocks of one length follow each other, so a lane of all of them is one COPY.
  void load_parts() {
    const bool sends = std::ranges::any_of(others(), [this](unsigned rank) { return block(rank).bytes != 0; });
    const bool adds = block(mesh_.rank).bytes != 0;
    for (unsigned from = 0, to = 0; from < mesh_.ranks(); from = to) {
      while (to < mesh_.ranks() && block(to).bytes == block(from).bytes) to++;
      for (unsigned lane = 0; lane < lanes(); lane++) {
        const auto [offset, bytes] = piece(from, lane);
        if (bytes != 0)
          load({own(from, lane), offset, bytes, to - from, lanes() * area(), block(from).bytes}, sends ? 1 : 0,
               adds ? 1 : 0);
      }
    }
  }
  /// All lanes of a block at once, each as long as the longest; what is behind a shorter one is not used.
  void send_parts() {
    bool first = true;
    for (const unsigned owner : others()) {
      const uint64_t longest = longest_piece(mesh_, block(owner));
      if (longest == 0) continue;
      const uint64_t there = (uint64_t{mesh_.ranks()} + mesh_.rank) * lanes() * area();
      auto command = put("part to chip " + std::to_string(mesh_.chips[owner]),
                         {own(owner, 0), there, longest, lanes(), area(), area()}, owner);
      command.header.post_sem1 = kPart;
      push_out(command, kLoaded, load_count_, first);
    }
  }
  /// The last addition of a lane leaves it where this rank's own part was.
  void sum_parts() {
    const unsigned axes = static_cast<unsigned>(mesh_.axes.size());
    for (unsigned lane = 0; lane < lanes(); lane++)
      if (piece(mesh_.rank, lane).bytes != 0) {
        (void)sum(mesh_.rank, axes, lane);
        adds_.back().d_addr = static_cast<uint32_t>(own(mesh_.rank, lane) / program_.chip().word_bytes);
      }
    for (size_t i = 0; i < adds_.size(); i++) {
      if (i == 0) {
        ProgramBuilder::wait(adds_[i].header, kPart, mesh_.ranks() - 1);
        ProgramBuilder::wait(adds_[i].header, kOwn, load_count_);
      }
      if (i + 1 == adds_.size()) ProgramBuilder::post(adds_[i].header, kAdded, 1);
      program_.push(WEFT_QUEUE_VPU, spec::encode(adds_[i]));
    }
  }
  /// What `rank` would have of this rank's piece after so many axes: along the last of them, the chain from below, what
  /// it had before, the chain from above. It takes the place of the first operand, which is returned.
  uint64_t sum(unsigned rank, unsigned phases, unsigned lane) {
    if (phases == 0) return arrived(rank, lane);
    const unsigned axis = reduction_axis(mesh_, lane / halves(), phases - 1);
    const auto [size, ring] = mesh_.axes[axis];
    const unsigned here = mesh_.coordinate(rank, axis);
    const auto [below, above] = collective_reach(size, ring, here, lane % halves());
    std::vector<unsigned> up, down;
    for (unsigned distance = below; distance > 0; distance--) up.push_back((here + size - distance) % size);
    up.push_back(here);
    for (unsigned distance = above; distance > 0; distance--) down.push_back((here + distance) % size);
    const auto chain = [&](const std::vector<unsigned>& coordinates) {
      const uint64_t first = sum(mesh_.moved(rank, axis, coordinates.front()), phases - 1, lane);
      for (size_t i = 1; i < coordinates.size(); i++)
        add(first, sum(mesh_.moved(rank, axis, coordinates[i]), phases - 1, lane), lane);
      return first;
    };
    const uint64_t total = chain(up);
    if (above > 0) add(total, chain(down), lane);
    return total;
  }
  /// Whole rows; what lies behind a piece's last byte is not sent.
  void add(uint64_t to, uint64_t from, unsigned lane) {
    const spec::Chip& chip = program_.chip();
    const unsigned words = dtype_ == WEFT_VPU_DTYPE_BF16 ? 1 : 2;
    const uint64_t row_bytes = uint64_t{words} * chip.word_bytes;
    spec::VpuCommand command;
    command.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    command.header.tag = program_.tag("add");
    command.op = WEFT_VPU_OP_ADD;
    command.src_dtype = command.dst_dtype = dtype_;
    command.rows = static_cast<uint16_t>((piece(mesh_.rank, lane).bytes + row_bytes - 1) / row_bytes);
    command.cols = static_cast<uint16_t>(chip.n);
    command.a_addr = command.d_addr = static_cast<uint32_t>(to / chip.word_bytes);
    command.b_addr = static_cast<uint32_t>(from / chip.word_bytes);
    command.a_stride = command.b_stride = command.d_stride = words;
    command.b_mode = WEFT_VPU_B_MODE_TENSOR;
    adds_.push_back(command);
  }

  // --- What a rank has for all

  [[nodiscard]] bool has_result(unsigned rank) const {
    return c_.kind == CollectiveKind::kBroadcast ? rank == c_.root : block(rank).bytes != 0;
  }
  [[nodiscard]] CollectiveBlock result_block(unsigned rank) const {
    return c_.kind == CollectiveKind::kBroadcast ? CollectiveBlock{0, c_.bytes} : block(rank);
  }
  /// From VMEM of this rank to the output of any; lanes of one length at one distance together.
  [[nodiscard]] std::vector<Strip> result_strips(unsigned rank) const {
    if (c_.kind == CollectiveKind::kAllGather || c_.kind == CollectiveKind::kBroadcast)
      return {{0, result_block(rank).offset, result_block(rank).bytes}};
    const uint64_t first = c_.kind == CollectiveKind::kReduceScatter ? block(rank).offset : 0;
    std::vector<Strip> strips;
    for (unsigned lane = 0; lane < lanes(); lane++) {
      const auto [offset, bytes] = piece(rank, lane);
      if (bytes == 0) continue;
      const uint64_t vmem = own(mesh_.rank, lane);
      if (strips.empty() || !extend(strips.back(), {vmem, offset - first, bytes}))
        strips.push_back({vmem, offset - first, bytes});
    }
    return strips;
  }
  static bool extend(Strip& strip, const Strip& next) {
    const uint64_t vmem_stride = next.vmem - strip.vmem - (strip.count - 1) * strip.vmem_stride;
    if (next.bytes != strip.bytes || next.hbm != strip.hbm + strip.count * strip.bytes ||
        (strip.count > 1 && vmem_stride != strip.vmem_stride))
      return false;
    strip.count++;
    strip.vmem_stride = vmem_stride, strip.hbm_stride = strip.bytes;
    return true;
  }

  void send_result(unsigned ready) {
    const auto strips = result_strips(mesh_.rank);
    const uint64_t count = ready == kAdded ? 1 : load_count_;
    bool first = true;
    if (c_.kind != CollectiveKind::kReduceScatter)
      for (const unsigned to : others())
        for (const Strip& strip : strips) {
          auto command = put("send to chip " + std::to_string(mesh_.chips[to]), strip, to);
          command.dst_seg = kCollectiveOutput;
          command.header.post_sem1 = kCollectiveDirect;
          push_out(command, ready, count, first);
        }
    for (const Strip& strip : strips) {
      auto command = put("store", strip, {});
      command.dst_seg = kCollectiveOutput;
      program_.note_hbm_bytes(strip.bytes * strip.count);
      push_out(command, ready, count, first);
    }
  }

  ProgramBuilder& program_;
  const CollectiveMesh& mesh_;
  const Collective& c_;
  const weft_vpu_dtype dtype_;
  const unsigned gate_;
  bool leaves_ = false;
  uint64_t load_count_ = 0;
  std::vector<spec::VpuCommand> adds_;
};

}  // namespace

DirectCollective schedule_direct(ProgramBuilder& program, const CollectiveMesh& mesh, const Collective& collective,
                                 weft_vpu_dtype dtype, unsigned gate) {
  return Direct(program, mesh, collective, dtype, gate).run();
}

uint64_t direct_vmem_bytes(const spec::Chip& chip, const CollectiveMesh& mesh, const Collective& c) {
  if (c.kind == CollectiveKind::kBroadcast) return round_up(c.bytes, chip.word_bytes);
  if (c.kind == CollectiveKind::kAllGather)
    return round_up(collective_block(c.bytes, mesh.ranks(), 0).bytes, chip.word_bytes);
  const uint64_t lanes = mesh.axes.size() * (mesh.halves() ? 2 : 1);
  return 2 * mesh.ranks() * lanes * area_bytes(chip, mesh, c);
}

}  // namespace weft::compiler
