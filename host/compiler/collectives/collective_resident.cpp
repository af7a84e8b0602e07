// Commands of the steps of collective_steps.hpp, each queue in their order.
//
//   dma_in    own array ──► VMEM, in the order in which it is needed, all of it at once
//   vpu       what has come (written by a neighbour into a slot) + own part, in place
//   dma_out   ├─ to the neighbour's slot, or to its copy of the array
//             └─ sums and blocks to HBM, once
//
// Nothing of VMEM is used twice but in place: a bucket's own part makes room for its sum, which every rank's part has
// gone into. So no rank has to be told that a place is free.
#include "host/compiler/collectives/collective_resident.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/compiler/collectives/collective_paths.hpp"
#include "host/compiler/collectives/collective_steps.hpp"

namespace weft::compiler {
namespace {

constexpr unsigned kAdded = 0;         // by the VPU, in its order: a sum that dma_out waits for
constexpr unsigned kLoadedForVpu = 1;  // .. + 15: by a group of loads
constexpr unsigned kLoadedForOut = 17;
constexpr size_t kGroups = 16, kGroupsBesideProgram = 6;
constexpr size_t kNone = ~size_t{0};
/// Posted by the neighbours on axis a, 4 a higher.
enum Arrival : uint8_t { kSumUp = 48, kSumDown = 49, kBlockUp = 50, kBlockDown = 51 };

using Kind = RankStep::Kind;

class Resident {
 public:
  Resident(ProgramBuilder& program, const CollectiveMesh& mesh, const Collective& c, weft_vpu_dtype dtype,
           unsigned gate)
      : program_(program),
        mesh_(mesh),
        c_(c),
        dtype_(dtype),
        gate_(gate),
        lanes_(mesh, c, resident_row_bytes(chip())) {}

  void run(uint64_t link_bytes_per_second) {
    for (const RankStep& step : collective_steps(mesh_, c_, lanes_, link_bytes_per_second)) take(step);
    push();
    program_.note_vmem_words(lanes_.vmem_bytes() / chip().word_bytes);
  }

 private:
  /// What a command of dma_out waits for: one of these.
  struct Ready {
    size_t load = kNone, sum = kNone;
    std::optional<uint8_t> arrival = {};
  };

  [[nodiscard]] const spec::Chip& chip() const { return program_.chip(); }

  void take(const RankStep& step) {
    switch (step.kind) {
      case Kind::kBegin: {
        Ready ready;
        (step.level == 0 ? ready.load : ready.sum) = step.level == 0 ? load(step) : summed(step);
        return send_sum(step, own(step), ready);
      }
      case Kind::kPass: {
        const uint64_t slot = sum_slot(step, here(step), step.down);
        const size_t sum = add(step, slot, slot, own(step), step.down ? kSumDown : kSumUp, own_part(step));
        return send_sum(step, slot, {.sum = sum});
      }
      case Kind::kSum:
        return take_sum(step);
      case Kind::kSetOut: {
        // in the first gathering it is loaded and stored here, later it has come
        const bool fresh = step.level + 1 == lane(step).axis.size();
        Ready ready{.load = fresh ? load(step) : kNone};
        set_out(step, ready);
        if (fresh) store(step, ready);
        return;
      }
      case Kind::kArrive: {
        Ready ready{.arrival = semaphore(step, step.down ? kBlockDown : kBlockUp)};
        set_out(step, ready);
        store(step, ready);
        return;
      }
    }
  }

  // --- Places

  [[nodiscard]] const CollectiveLane& lane(const RankStep& step) const { return lanes_.lanes()[step.lane]; }
  [[nodiscard]] unsigned axis(const RankStep& step) const { return lane(step).axis[step.level]; }
  [[nodiscard]] unsigned here(const RankStep& step) const { return mesh_.coordinate(mesh_.rank, axis(step)); }
  [[nodiscard]] unsigned next(const RankStep& step, bool down) const {
    const unsigned ranks = mesh_.axes[axis(step)].ranks;
    return (here(step) + (down ? ranks - 1 : 1)) % ranks;
  }
  [[nodiscard]] uint8_t semaphore(const RankStep& step, Arrival arrival) const {
    return static_cast<uint8_t>(arrival + 4 * axis(step));
  }
  [[nodiscard]] uint64_t own(const RankStep& step) const {
    return lane(step).own + step.tile.first * lane(step).pitch + step.tile.at;
  }
  /// At the rank at `at` of the axis, of sums for the step's owner.
  [[nodiscard]] uint64_t sum_slot(const RankStep& step, unsigned at, bool from_above) const {
    const uint64_t first = lanes_.bucket(lane(step), step.level, step.owner);
    return lanes_.slot(lane(step), step.level, at, step.owner, from_above) +
           (step.tile.first - first) * lane(step).pitch + step.tile.at;
  }

  // --- Loads

  struct Load {
    std::vector<spec::DmaCommand> commands;
    uint64_t bytes = 0;
  };

  [[nodiscard]] size_t load(const RankStep& step) {
    const uint64_t first =
        c_.kind == CollectiveKind::kAllGather ? collective_block(c_.bytes, mesh_.ranks(), mesh_.rank).offset : 0;
    Load& load = loads_.emplace_back();
    for (const CollectiveStrip& strip : lanes_.strips(lane(step), step.tile, first)) {
      spec::DmaCommand command = copy("load", strip);
      command.src_seg = kCollectiveInput;
      command.src_off = strip.hbm, command.dst_off = strip.vmem;
      command.src_stride1 = static_cast<int32_t>(strip.hbm_stride[0]);
      command.src_stride2 = static_cast<int32_t>(strip.hbm_stride[1]);
      command.dst_stride1 = static_cast<int32_t>(strip.vmem_stride[0]);
      command.dst_stride2 = static_cast<int32_t>(strip.vmem_stride[1]);
      load.commands.push_back(command);
      load.bytes += strip.bytes * strip.count[0] * strip.count[1];
    }
    program_.note_hbm_bytes(load.bytes);
    return loads_.size() - 1;
  }
  /// This rank's part of a sum: loaded, or summed over the axes before by a command that the VPU has had already.
  [[nodiscard]] size_t own_part(const RankStep& step) { return step.level == 0 ? load(step) : kNone; }

  [[nodiscard]] spec::DmaCommand copy(const std::string& tag, const CollectiveStrip& strip) {
    spec::DmaCommand command;
    command.header.opcode = WEFT_OPCODE_COPY;
    command.header.tag = program_.tag(tag);
    command.size0 = static_cast<uint32_t>(strip.bytes);
    command.size1 = static_cast<uint16_t>(strip.count[0]);
    command.size2 = static_cast<uint16_t>(strip.count[1]);
    return command;
  }

  // --- Sums

  void take_sum(const RankStep& step) {
    size_t part = own_part(step), sum = kNone;
    if (step.from_below) {
      sum = add(step, own(step), sum_slot(step, here(step), false), own(step), kSumUp, part);
      part = kNone;
    }
    if (step.from_above) sum = add(step, own(step), own(step), sum_slot(step, here(step), true), kSumDown, part);
    if (!step.last_sum) {
      sums_.push_back({step.lane, step.tile, sum});
      return;
    }
    Ready ready{.sum = sum};
    set_out(step, ready);
    store(step, ready);
  }
  /// Whole rows, what is behind a shorter piece's last byte too. Returns the command's number.
  size_t add(const RankStep& step, uint64_t to, uint64_t a, uint64_t b, Arrival arrival, size_t load) {
    const unsigned words = dtype_ == WEFT_VPU_DTYPE_BF16 ? 1 : 2;
    const uint64_t row_bytes = uint64_t{words} * chip().word_bytes;
    const uint64_t bytes = step.tile.count > 1 ? step.tile.count * lane(step).pitch : step.tile.bytes;
    spec::VpuCommand command;
    command.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    command.header.tag = program_.tag("add");
    command.op = WEFT_VPU_OP_ADD;
    command.src_dtype = command.dst_dtype = dtype_;
    command.rows = static_cast<uint16_t>((bytes + row_bytes - 1) / row_bytes);
    command.cols = static_cast<uint16_t>(chip().n);
    command.a_addr = static_cast<uint32_t>(a / chip().word_bytes);
    command.b_addr = static_cast<uint32_t>(b / chip().word_bytes);
    command.d_addr = static_cast<uint32_t>(to / chip().word_bytes);
    command.a_stride = command.b_stride = command.d_stride = words;
    command.b_mode = WEFT_VPU_B_MODE_TENSOR;
    ProgramBuilder::wait(command.header, semaphore(step, arrival), 1);
    adds_.push_back({command, load, false});
    return adds_.size() - 1;
  }
  /// The last addition that the tile's pieces of a level before come from.
  [[nodiscard]] size_t summed(const RankStep& step) const {
    size_t last = kNone;
    for (const Summed& s : sums_)
      if (s.lane == step.lane && s.tile.first < step.tile.first + step.tile.count &&
          step.tile.first < s.tile.first + s.tile.count && s.tile.at < step.tile.at + step.tile.bytes &&
          step.tile.at < s.tile.at + s.tile.bytes)
        last = last == kNone ? s.sum : std::max(last, s.sum);
    return last;
  }

  // --- What leaves

  /// Of the array that has been gathered so far, to the neighbours that it goes on to.
  void set_out(const RankStep& step, Ready& ready) {
    if (step.above > 0) send(step, own(step), own(step), kBlockUp, false, std::exchange(ready, {}));
    if (step.below > 0) send(step, own(step), own(step), kBlockDown, true, std::exchange(ready, {}));
  }
  void send_sum(const RankStep& step, uint64_t from, const Ready& ready) {
    const uint64_t to = sum_slot(step, next(step, step.down), step.down);
    send(step, from, to, step.down ? kSumDown : kSumUp, step.down, ready);
  }
  void send(const RankStep& step, uint64_t from, uint64_t to, Arrival arrival, bool down, const Ready& ready) {
    const auto pitch = static_cast<int64_t>(lane(step).pitch);
    CollectiveStrip strip{.bytes = step.tile.bytes, .count = {step.tile.count, 1}, .vmem_stride = {pitch, 0}};
    if (lane(step).length == lane(step).pitch) {
      strip.bytes *= step.tile.count;
      strip.count[0] = 1;
    }
    const uint32_t chip = mesh_.chips[mesh_.moved(mesh_.rank, axis(step), next(step, down))];
    spec::DmaCommand command = copy("send to chip " + std::to_string(chip), strip);
    command.header.flags = WEFT_COMMAND_FLAG_REMOTE;
    command.remote_chip = static_cast<uint16_t>(chip);
    command.src_off = from, command.dst_off = to;
    command.src_stride1 = command.dst_stride1 = static_cast<int32_t>(strip.vmem_stride[0]);
    command.header.post_sem1 = semaphore(step, arrival);
    command.header.post_count1 = 1;
    leave(command, ready);
  }
  void store(const RankStep& step, Ready& ready) {
    const uint64_t first =
        c_.kind == CollectiveKind::kReduceScatter ? collective_block(c_.bytes, mesh_.ranks(), mesh_.rank).offset : 0;
    for (const CollectiveStrip& strip : lanes_.strips(lane(step), step.tile, first)) {
      spec::DmaCommand command = copy("store", strip);
      command.dst_seg = kCollectiveOutput;
      command.src_off = strip.vmem, command.dst_off = strip.hbm;
      command.src_stride1 = static_cast<int32_t>(strip.vmem_stride[0]);
      command.src_stride2 = static_cast<int32_t>(strip.vmem_stride[1]);
      command.dst_stride1 = static_cast<int32_t>(strip.hbm_stride[0]);
      command.dst_stride2 = static_cast<int32_t>(strip.hbm_stride[1]);
      program_.note_hbm_bytes(strip.bytes * strip.count[0] * strip.count[1]);
      leave(command, std::exchange(ready, {}));
    }
  }

  // --- Queues

  void leave(spec::DmaCommand command, const Ready& ready) {
    if (leaving_.empty()) ProgramBuilder::wait(command.header, gate_, 1);
    if (ready.arrival) ProgramBuilder::wait(command.header, *ready.arrival, 1);
    // additions end in their order, so what waits for one has waited for those before
    if (ready.sum != kNone && (last_sum_ == kNone || ready.sum > last_sum_)) {
      ProgramBuilder::wait(command.header, kAdded, 1);
      adds_[ready.sum].announced = true;
      last_sum_ = ready.sum;
    }
    leaving_.push_back({command, ready.load});
  }

  /// Loads end in any order, so they go in groups: a command that needs one waits for its group, once per queue.
  void push() {
    const size_t groups = c_.beside_program ? kGroupsBesideProgram : kGroups;
    uint64_t all = 0, before = 0;
    for (const Load& load : loads_) all += load.bytes;
    std::vector<size_t> group_of;
    std::array<uint64_t, kGroups> commands{};
    for (const Load& load : loads_) {
      group_of.push_back(std::min<size_t>(groups * before / all, groups - 1));
      commands[group_of.back()] += load.commands.size();
      before += load.bytes;
    }
    std::array<bool, kGroups> vpu{}, out{};
    const auto need = [&](spec::CommandHeader& header, size_t load, std::array<bool, kGroups>& known, unsigned first) {
      if (load == kNone || std::exchange(known[group_of[load]], true)) return;
      ProgramBuilder::wait(header, first + static_cast<unsigned>(group_of[load]), commands[group_of[load]]);
    };
    for (Add& add : adds_) {
      need(add.command.header, add.load, vpu, kLoadedForVpu);
      if (add.announced) ProgramBuilder::post(add.command.header, kAdded, 1);
      program_.push(WEFT_QUEUE_VPU, spec::encode(add.command));
    }
    for (Leaving& leaving : leaving_) {
      need(leaving.command.header, leaving.load, out, kLoadedForOut);
      program_.push(WEFT_QUEUE_DMA_OUT, spec::encode(leaving.command));
    }
    for (size_t i = 0; i < loads_.size(); i++)
      for (spec::DmaCommand& command : loads_[i].commands) {
        const auto group = static_cast<unsigned>(group_of[i]);
        if (vpu[group]) ProgramBuilder::post(command.header, kLoadedForVpu + group, 1);
        if (out[group]) ProgramBuilder::post(command.header, kLoadedForOut + group, 1);
        program_.push(WEFT_QUEUE_DMA_IN, spec::encode(command));
      }
  }

  struct Add {
    spec::VpuCommand command;
    size_t load;
    bool announced;  ///< dma_out waits for it
  };
  struct Leaving {
    spec::DmaCommand command;
    size_t load;
  };
  struct Summed {
    unsigned lane;
    CollectiveTile tile;
    size_t sum;
  };

  ProgramBuilder& program_;
  const CollectiveMesh& mesh_;
  const Collective& c_;
  const weft_vpu_dtype dtype_;
  const unsigned gate_;
  const CollectiveLanes lanes_;
  std::vector<Load> loads_;
  std::vector<Add> adds_;
  std::vector<Leaving> leaving_;
  std::vector<Summed> sums_;  ///< over some axes, not all
  size_t last_sum_ = kNone;
};

}  // namespace

void schedule_resident(ProgramBuilder& program, const CollectiveMesh& mesh, const Collective& collective,
                       weft_vpu_dtype dtype, unsigned gate, uint64_t link_bytes_per_second) {
  Resident(program, mesh, collective, dtype, gate).run(link_bytes_per_second);
}

uint64_t resident_vmem_bytes(const spec::Chip& chip, const CollectiveMesh& mesh, const Collective& c) {
  return CollectiveLanes(mesh, c, resident_row_bytes(chip)).vmem_bytes();
}

bool is_resident(const spec::Chip& chip, const CollectiveMesh& mesh, const Collective& c) {
  const bool kind = c.kind == CollectiveKind::kAllGather || c.kind == CollectiveKind::kReduceScatter ||
                    c.kind == CollectiveKind::kAllReduce;
  return kind && mesh.ranks() > 1 && resident_vmem_bytes(chip, mesh, c) <= chip.vmem_bytes;
}

}  // namespace weft::compiler
