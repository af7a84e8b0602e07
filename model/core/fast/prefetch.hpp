/// The command prefetchers of the fast core, with the registers of rtl/core/command_prefetch.sv and read_arbiter.sv.
#pragma once
#include <array>
#include <deque>
#include <optional>
#include <utility>

#include "model/core/fast/unit.hpp"
#include "weft/spec/commands.hpp"

namespace weft::core::fast {

/// How a command came into its queue: pushed by the manager, or from the fetch of this version of the segments.
enum class Fetched : uint8_t { kVersion0, kVersion1, kPushed };

/// One queue's prefetcher: two fetches, a version of the segments each, that are served in the order of their starts.
struct QueueFetch {
  struct Fetch {
    uint64_t base = 0;    ///< the next command to ask for
    uint64_t answer = 0;  ///< the next that memory answers
    uint32_t to_ask = 0, to_answer = 0;
    uint32_t left = 0;    ///< not yet in the queue
    uint32_t inside = 0;  ///< in the queue
  };
  std::array<Fetch, 2> fetches;
  unsigned ask_of = 0, answer_of = 0, push_of = 0;  ///< the fetch that each stage serves
  uint32_t taken = 0;                               ///< places of the buffer that are not free
  std::deque<spec::Command> buffered;
  bool dead = false;     ///< memory has answered with an error
  bool refused = false;  ///< a write of a register was
  bool fed = false;      ///< the queue's last commands come from here

  /// Chooses what each stage serves from the next cycle on.
  void settle();
  [[nodiscard]] uint64_t base() const;
  [[nodiscard]] bool wants() const {
    return fetches[ask_of].to_ask != 0 && taken != WEFT_CORE_PREFETCH_COMMANDS && !dead;
  }
  /// Its commands of a version of the segments: on their way, or in the queue.
  [[nodiscard]] bool uses(unsigned version) const { return (fetches[version].left | fetches[version].inside) != 0; }
  [[nodiscard]] uint32_t left() const { return fetches[0].left + fetches[1].left; }
};

/// All five, and who reads next from memory: DMA or they. look() chooses by the registers at the start of a cycle,
/// clock() makes its edge; between them memory takes a request or gives an answer, and the manager writes registers.
class CommandFetch {
 public:
  /// What the rest of the core shows in a cycle.
  struct Surroundings {
    uint32_t full = 0, empty = 0;  ///< a bit per queue
    bool stop = false;
    bool manager_pushes = false;
  };
  void look(const Surroundings& now);
  struct Delivery {
    unsigned queue;
    Fetched by;
    spec::Command command;
  };
  /// The command that enters a queue with this cycle's edge; of a DMA queue it names the version of its segments.
  [[nodiscard]] std::optional<Delivery> delivered() const;
  /// A command has left its queue in this cycle.
  void taken(unsigned queue, Fetched by);
  /// One version of the segments is not used any more from this cycle on, and the other one is.
  [[nodiscard]] bool version_freed() const { return (used_before_ & ~used_) != 0 && used_ != 0; }
  void clock(Counters& counters);

  // Memory. The request is of HBM, of one command.
  [[nodiscard]] bool requesting() const { return request_.valid; }
  [[nodiscard]] uint64_t address() const { return request_.address; }
  /// The command's read goes first, if DMA's waits too.
  [[nodiscard]] bool chosen(bool dma_waits) const;
  /// The port in this cycle: a read of DMA waits; memory takes what was chosen.
  void port(bool dma_waits, bool taken);
  void answer(const spec::Command& command, bool error);

  // Registers
  void write_base(unsigned queue, uint64_t value);
  void write_count(unsigned queue, uint64_t value);
  void manager_pushed(unsigned queue) { pushed_queue_ = static_cast<int>(queue); }
  [[nodiscard]] const QueueFetch& queue(unsigned queue) const { return queues_[queue]; }
  [[nodiscard]] uint64_t status() const;

  [[nodiscard]] bool active(unsigned queue) const { return queues_[queue].left() != 0; }
  [[nodiscard]] bool active() const { return now_.active != 0; }
  /// Something is on its way, whether the core is stopped or not.
  [[nodiscard]] bool moving() const {
    return !order_.empty() || stage_ || fault_.has_value() || used_before_ != wanted();
  }
  /// A queue that fetches holds nothing and has nothing buffered: as of the last look().
  [[nodiscard]] bool waits() const { return waits_; }
  /// The next cycle may differ from this one though memory answers nothing.
  [[nodiscard]] bool moved() const { return moved_; }
  [[nodiscard]] bool progressed() const { return progressed_; }
  /// An answer of the cycle before was an error: its queue and address.
  [[nodiscard]] std::optional<std::pair<unsigned, uint64_t>> fault() const { return fault_; }
  void reset() { *this = {}; }

 private:
  struct Request {
    bool valid = false;
    uint64_t address = 0;
  };
  std::array<QueueFetch, WEFT_CORE_QUEUES> queues_;
  Request request_;                                          // the register towards memory
  std::deque<unsigned> order_;                               // whose answers come
  std::optional<std::pair<unsigned, spec::Command>> stage_;  // the register towards the queues
  uint32_t ask_after_ = 0, read_after_ = 0;
  uint32_t passed_ = 0;  // reads of DMA that went before the command's that waits
  bool held_ = false, held_fetch_ = false;
  // Versions of the segments, a bit each: those of commands that had not left their queues in the last cycles, and what
  // was said to be in use.
  std::array<uint32_t, 3> recent_{};
  uint32_t used_before_ = 0;
  [[nodiscard]] uint32_t wanted() const { return (now_.uses[0] != 0 ? 1u : 0u) | (now_.uses[1] != 0 ? 2u : 0u); }
  std::optional<std::pair<unsigned, uint64_t>> fault_;
  /// What the registers of the queues say, a bit per queue: looked at where they change, not in each cycle.
  struct Queues {
    uint32_t wants = 0, buffered = 0, active = 0;
    std::array<uint32_t, 2> uses{};  // by version
  };
  Queues now_;
  void settle(unsigned queue);
  void write(bool wrong, size_t version);

  // Of this cycle.
  uint32_t wants_ = 0, ask_ = 0, read_ = 0, buffered_ = 0, wanted_ = 0, used_ = 0;
  bool push_ready_ = false, waits_ = false, moved_ = false, progressed_ = false;
  bool request_taken_ = false, dma_waits_ = false, port_ready_ = false;
  std::optional<std::pair<unsigned, std::optional<spec::Command>>> answer_;  // no command: an error
  struct Write {
    bool count;
    unsigned queue;
    uint64_t value;
  };
  std::optional<Write> write_;
  int pushed_queue_ = -1;
};

}  // namespace weft::core::fast
