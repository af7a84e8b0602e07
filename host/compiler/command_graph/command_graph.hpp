/// L3: commands whose addresses are still symbolic. What a command waits for, where its operands lie and in which order
/// its queue runs is derived from what it reads and writes.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft::compiler::command_graph {

/// A piece of VMEM or ACC that commands share.
enum class BufferId : uint32_t {};
inline constexpr BufferId kNoBuffer{UINT32_MAX};
[[nodiscard]] constexpr size_t index_of(BufferId buffer) { return static_cast<size_t>(buffer); }

enum class BufferSpace : uint8_t { kVmem, kAcc };

struct Buffer {
  BufferSpace space = BufferSpace::kVmem;
  uint32_t size = 0;  ///< words of VMEM; rows of ACC, all of one MXU and one bank
  std::optional<uint64_t> word =
      {};  ///< of VMEM, where it has a place for the whole graph, as other graphs have it too
};

/// Of a chip that others send to: rows of words in a buffer with a fixed place, or of 16-byte granules in a segment.
struct Landing {
  BufferId buffer = kNoBuffer;    ///< none: the segment
  uint64_t first = 0, words = 0;  ///< of a row
  uint64_t rows = 0, stride = 0;  ///< words from one row to the next
  uint8_t segment = 0;
};

/// A command of the sync queue that waits for what others have sent: its semaphores are those that they post.
struct Arrival {
  spec::CommandHeader header;
  std::vector<Landing> landings;
};

/// A link to another chip, for estimates.
struct LinkTimes {
  double bytes_per_cycle = 0;  ///< 0: not known
  uint64_t hop_cycles = 0;
};

/// A command of one of the five queues. Address fields count from the beginning of their buffer: x_addr and a_addr
/// of `a`, w_addr and b_addr of `b`, acc_row and d_addr of `d`, scalar2 of `kept` if it is the word of a row; of a DMA, src_off of `a` and dst_off of `d` where the
/// segment is VMEM, in bytes; index_off of `b`, in bytes. The fields `mxu`, waits and posts are empty, except of what other chips post and what is posted
/// at them.
struct GraphCommand {
  weft_queue_index queue = WEFT_QUEUE_SYNC;
  std::variant<spec::DmaCommand, spec::IndexedCommand, spec::MxuCommand, spec::VpuCommand, spec::BarrierCommand,
               Arrival>
      body;
  BufferId a = kNoBuffer, b = kNoBuffer, d = kNoBuffer, kept = kNoBuffer;
};

/// Commands in an order in which each could run alone behind the one before. Segments do not overlap.
class CommandGraph {
 public:
  explicit CommandGraph(const spec::Chip& chip) : chip_(&chip) {}

  BufferId add_buffer(BufferSpace space, uint64_t size) {
    buffers_.push_back({space, static_cast<uint32_t>(size)});
    return BufferId{static_cast<uint32_t>(buffers_.size() - 1)};
  }
  /// COPY from memory into `d`.
  void load(const spec::DmaCommand& command, BufferId d) {
    commands_.push_back({WEFT_QUEUE_DMA_IN, command, kNoBuffer, kNoBuffer, d, kNoBuffer});
  }
  /// COPY from `a` to memory.
  void store(const spec::DmaCommand& command, BufferId a) {
    commands_.push_back({WEFT_QUEUE_DMA_OUT, command, a, kNoBuffer, kNoBuffer, kNoBuffer});
  }
  /// GATHER by `indices` into `d`.
  void gather(const spec::IndexedCommand& command, BufferId indices, BufferId d) {
    commands_.push_back({WEFT_QUEUE_DMA_IN, command, kNoBuffer, indices, d, kNoBuffer});
  }
  /// SCATTER of `a` by `indices`.
  void scatter(const spec::IndexedCommand& command, BufferId a, BufferId indices) {
    commands_.push_back({WEFT_QUEUE_DMA_OUT, command, a, indices, kNoBuffer, kNoBuffer});
  }
  /// COPY from `a` to another chip, into a buffer that has its place there too; it posts a semaphore of that chip.
  /// `link_cycles`: what it takes of the busiest link, estimated.
  uint32_t send(const spec::DmaCommand& command, BufferId a, uint64_t link_cycles) {
    commands_.push_back({WEFT_QUEUE_DMA_OUT, command, a, kNoBuffer, kNoBuffer, kNoBuffer});
    link_cycles_[last()] = link_cycles;
    return last();
  }
  uint32_t barrier(const spec::BarrierCommand& command) {
    commands_.push_back({WEFT_QUEUE_SYNC, command, kNoBuffer, kNoBuffer, kNoBuffer, kNoBuffer});
    return last();
  }
  uint32_t arrive(Arrival arrival) {
    commands_.push_back({WEFT_QUEUE_SYNC, std::move(arrival), kNoBuffer, kNoBuffer, kNoBuffer, kNoBuffer});
    return last();
  }
  /// `command` starts when `before` has finished.
  void need(uint32_t before, uint32_t command) { needs_[command].push_back(before); }
  /// `command` comes behind `before` in the order of all queues, and does not wait for it.
  void follow(uint32_t before, uint32_t command) { follows_[command].push_back(before); }
  void set_links(const LinkTimes& links) { links_ = links; }
  void product(const spec::MxuCommand& command, BufferId x, BufferId w, BufferId acc) {
    commands_.push_back({WEFT_QUEUE_MXU, command, x, w, acc, kNoBuffer});
  }
  void vector(const spec::VpuCommand& command, BufferId a, BufferId b, BufferId d, BufferId kept = kNoBuffer) {
    commands_.push_back({WEFT_QUEUE_VPU, command, a, b, d, kept});
  }

  /// The last command starts when all before it have finished, and those behind it when it has.
  void fence() { fences_.push_back(static_cast<uint32_t>(commands_.size() - 1)); }
  /// The buffer lies at `word`, an even one, and keeps its words from the first command to the last. Such buffers lie one
  /// behind the other from word 0 on.
  void fix(BufferId buffer, uint64_t word) { buffers_[index_of(buffer)].word = word; }
  /// Each store right behind what it stores (early_stores.cpp): its buffer is free for others then.
  void store_early();
  /// Commands have `to` in the place of `from`, a buffer of the same size.
  void replace(BufferId from, BufferId to) {
    for (GraphCommand& command : commands_)
      for (BufferId* const buffer : {&command.a, &command.b, &command.d, &command.kept})
        if (*buffer == from) *buffer = to;
  }
  /// The commands so many times, one after the other, on the same buffers.
  [[nodiscard]] CommandGraph repeated(uint32_t times) const {
    CommandGraph graph = *this;
    for (uint32_t i = 1; i < times; i++)
      graph.commands_.insert(graph.commands_.end(), commands_.begin(), commands_.end());
    return graph;
  }
  /// The same, each time on buffers of its own, except those that are fixed. Buffer b of time i is buffer
  /// i x buffers() + b.
  [[nodiscard]] CommandGraph unrolled(uint32_t times) const {
    CommandGraph graph = repeated(times);
    for (uint32_t i = 1; i < times; i++) {
      graph.buffers_.insert(graph.buffers_.end(), buffers_.begin(), buffers_.end());
      for (size_t c = i * commands_.size(); c < (i + 1) * commands_.size(); c++)
        for (BufferId* const buffer :
             {&graph.commands_[c].a, &graph.commands_[c].b, &graph.commands_[c].d, &graph.commands_[c].kept})
          if (*buffer != kNoBuffer && !buffers_[index_of(*buffer)].word)
            *buffer = BufferId{static_cast<uint32_t>(i * buffers_.size() + index_of(*buffer))};
    }
    return graph;
  }

  /// Each queue runs its commands in the graph's order.
  void keep_order() { keeps_order_ = true; }
  /// So many of the semaphores that no other chip posts are for others.
  void leave_semaphores(unsigned count) { semaphores_left_ = count; }

  [[nodiscard]] const spec::Chip& chip() const { return *chip_; }
  [[nodiscard]] bool keeps_order() const { return keeps_order_; }
  [[nodiscard]] unsigned semaphores_left() const { return semaphores_left_; }
  [[nodiscard]] const std::vector<uint32_t>& fences() const { return fences_; }
  /// By command: what need() and follow() have told.
  [[nodiscard]] const std::map<uint32_t, std::vector<uint32_t>>& needs() const { return needs_; }
  [[nodiscard]] const std::map<uint32_t, std::vector<uint32_t>>& follows() const { return follows_; }
  [[nodiscard]] const LinkTimes& links() const { return links_; }
  [[nodiscard]] uint64_t link_cycles(uint32_t send) const { return link_cycles_.at(send); }
  [[nodiscard]] const std::vector<Buffer>& buffers() const { return buffers_; }
  [[nodiscard]] const std::vector<GraphCommand>& commands() const { return commands_; }

 private:
  [[nodiscard]] uint32_t last() const { return static_cast<uint32_t>(commands_.size() - 1); }

  const spec::Chip* chip_;
  std::vector<Buffer> buffers_;
  std::vector<GraphCommand> commands_;
  std::vector<uint32_t> fences_;  ///< ascending
  std::map<uint32_t, std::vector<uint32_t>> needs_, follows_;
  std::map<uint32_t, uint64_t> link_cycles_;  ///< by send
  LinkTimes links_;
  unsigned semaphores_left_ = 0;
  bool keeps_order_ = false;
};

/// A COPY to another chip.
[[nodiscard]] inline bool is_remote(const spec::DmaCommand& command) {
  return (command.header.flags & WEFT_COMMAND_FLAG_REMOTE) != 0;
}

}  // namespace weft::compiler::command_graph
