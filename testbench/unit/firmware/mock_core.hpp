/// A scripted tensor core for firmware tests: five queues whose commands take given times, faults and hangs on order.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "weft/spec/spec.h"

namespace mock {

using Command = std::array<uint8_t, WEFT_COMMAND_BYTES>;

/// Queues run independently, and are pushed to or fetch their commands. A command leaves its queue when its unit starts
/// it, and retires `service_cycles` later.
class Core {
 public:
  std::array<uint64_t, WEFT_CORE_QUEUES> service_cycles{100, 100, 100, 100, 100};
  /// Fault `code` when command number `fault_command` of `fault_queue` starts; 0: none.
  uint32_t fault_code = 0;
  uint32_t fault_queue = 0;
  uint64_t fault_command = 0;
  uint64_t fault_address = 0;
  /// Command number `hang_command` of `hang_queue` never retires; -1: none.
  int hang_queue = -1;
  uint64_t hang_command = 0;
  /// What the fetches read: a command in HBM, or nullptr where there is none. The first arrives so many cycles after
  /// its fetch was started, the others as soon as the queue has room.
  std::function<const uint8_t*(uint64_t address)> read_command;
  uint64_t fetch_cycles = 0;
  /// Called when a command starts: version of the segments' bases that it names, its tag.
  std::function<void(int version, uint16_t tag)> on_start = [](int, uint16_t) {};
  bool deaf = false;                                 ///< interrupts are lost
  bool reset_stuck = false;                          ///< busy for ever after a reset
  bool watchdog_dead = false;                        ///< the watchdog never fires
  std::array<uint64_t, WEFT_SEMAPHORES> leftover{};  ///< what the semaphores hold when the core is idle

  // What was seen.
  std::array<std::vector<Command>, WEFT_CORE_QUEUES> accepted;
  std::array<std::vector<uint64_t>, WEFT_CORE_QUEUES> accepted_cycle;
  uint64_t resets = 0;
  uint64_t refused_fetches = 0;  ///< started while the queue's last one had not ended

  bool push(uint32_t queue, const uint8_t* command, uint64_t now);
  uint64_t read(uint32_t offset, uint64_t now);
  void write(uint32_t offset, uint64_t value, uint64_t now);
  /// Lets time pass.
  void advance(uint64_t now);
  /// Cycle of the next thing that will happen; UINT64_MAX: nothing.
  uint64_t next_event() const;
  bool interrupt() const { return interrupt_ != 0 && !deaf; }
  bool busy() const;
  uint64_t attributes(uint32_t segment) {
    return registers_[WEFT_CSR_SEGMENT_ATTRIBUTES + segment * WEFT_CSR_SEGMENT_ATTRIBUTES_STRIDE];
  }
  uint64_t base(uint32_t segment, unsigned version = 0) { return bases_[version][segment]; }
  uint64_t limit(uint32_t segment) {
    return registers_[WEFT_CSR_SEGMENT_LIMIT + segment * WEFT_CSR_SEGMENT_LIMIT_STRIDE];
  }
  uint64_t raw(uint32_t offset) { return registers_[offset]; }
  size_t level(uint32_t queue) const { return units_[queue].queue.size(); }
  uint32_t versions_used() const;

 private:
  struct Fetch {
    uint64_t address = 0;
    uint64_t left = 0;
    uint64_t cycle = 0;   ///< of its first answer
    uint64_t inside = 0;  ///< its commands in the queue
  };
  static constexpr int kPushed = -1;
  struct Unit {
    std::deque<Command> queue;
    std::deque<int> version;  ///< of the fetch that brought each of them, or kPushed
    bool active = false;
    uint64_t done_cycle = 0;
    uint64_t started = 0;
    uint64_t retired = 0;
    uint16_t tag = 0;
    std::array<Fetch, 2> fetch;  ///< one for each version of the segments' bases
    unsigned serving = 0;        ///< the one that was started first

    bool fetches() const { return fetch[0].left != 0 || fetch[1].left != 0; }
    const Fetch& next_fetch() const { return fetch[fetch[serving].left != 0 ? serving : serving ^ 1]; }
  };
  static bool has_room(const Unit& u) { return u.queue.size() < WEFT_CORE_QUEUE_DEPTH; }
  void accept(uint32_t queue, const uint8_t* command, int version, uint64_t cycle);
  /// Commands that have arrived go into their queues.
  void feed(uint64_t cycle);
  void start(uint32_t queue, uint64_t cycle);
  void start_fetch(uint32_t queue, uint64_t value, uint64_t now);
  void tell_freed(uint32_t used_before);
  void fault(uint32_t code, uint32_t queue, uint16_t tag, uint64_t address, uint64_t cycle);
  void reset();

  std::array<Unit, WEFT_CORE_QUEUES> units_;
  std::unordered_map<uint32_t, uint64_t> registers_;
  uint64_t watchdog_limit_ = 0;  ///< as in registers_: each step asks for it
  std::array<std::array<uint64_t, WEFT_SEGMENTS>, 2> bases_{};
  uint64_t interrupt_ = 0;
  uint64_t first_accept_ = 0;
  uint64_t last_retire_ = 0;
  uint64_t progress_cycle_ = 0;
  uint64_t fault_word_ = 0;
  uint64_t fault_address_ = 0;
  uint64_t fault_cycle_ = 0;
  bool stopped_ = false;
};

}  // namespace mock
