/// Finds commands that touch the same place at the same time: accesses that no semaphore orders, at least one a write.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/core/command/command_accesses.hpp"
#include "model/core/tensor_core.hpp"

namespace weft::core {

/// Two commands that nothing orders and the first place where they meet.
struct Hazard {
  spec::Command first, second;  ///< in the order in which they started
  weft_unit_index first_unit, second_unit;
  AccessRange range;
  std::string text;  ///< both commands, disassembled, and the range
};

/// Watches a core as its observer. What it reports does not depend on how the run happened to be timed: an order
/// counts only if every run of the same commands has it.
///
/// What orders: a queue starts its commands in order; MXU (whichever units), VPU and sync also retire them in order; a
/// command starts after every post without which its waits could not hold; a FENCE finishes after every command that
/// has started before it in every run. DMA commands of one queue run on two channels and are unordered unless a
/// semaphore orders them.
///
/// Which posts a wait cannot do without is found twice. First from what is proven alone: a post is added when it is
/// proven that all other tokens are too few. That stops where proofs need each other (a step's wait for the stores of
/// the step before is proven only if later stores cannot come first, which the later steps' waits see to). So, if
/// hazards are left, all orders that this run had are supposed together, and those that do not follow from the rest are
/// taken back until all do. What stays holds in every run: in a run that broke it, look at the first wait that went on
/// without a post that is supposed to come before. Until then all that is supposed has held, and so the tokens were too
/// few: it did not go on.
///
/// Use: observer of a core, run programs, finish() once the core is drained. Memory: 5 n^2 / 8 bytes for n commands;
/// time: n^2, and for a semaphore with p posts and w waits p w, p times more for the posts near a wait that it may need,
/// each time that something is added or taken back. One owner, one thread.
class HazardChecker final : public CoreObserver {
 public:
  /// `next` (may be nullptr) is told everything too and outlives this.
  explicit HazardChecker(const spec::Chip& chip, CoreObserver* next = nullptr) : chip_(chip), next_(next) {}

  /// The segment table that commands started from now on see. Without it every segment is taken to be there, and HBM
  /// and host memory are not looked at.
  void set_segments(const golden::SegmentTable& segments) { segments_ = segments; }
  /// Value of a semaphore before the first command (0 unless told): tokens that order nothing.
  void set_semaphore(unsigned semaphore, uint64_t value) { initial_.at(semaphore) = value; }

  void command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override;
  void command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override;

  /// All hazards among the commands seen so far, in order of the second command's start; then starts anew, with all
  /// semaphores 0. The caller has seen the core drained: what comes later is ordered after what came before.
  [[nodiscard]] std::vector<Hazard> finish();
  /// The same in the midst of a run: the caller tells the semaphores' values again. Commands that are running stay
  /// among those of the next window.
  [[nodiscard]] std::vector<Hazard> finish_window();
  [[nodiscard]] size_t commands() const { return nodes_.size(); }

 private:
  struct Node {
    weft_unit_index unit;
    spec::Command command;
    spec::CommandHeader header;
    CommandAccesses accesses;  // empty if the unit refuses the command
    size_t retire_event = SIZE_MAX;
    std::vector<size_t> after;     // commands whose retirement every run has before this start
    std::vector<size_t> supposed;  // the same, not yet proven
  };
  struct Event {
    bool retires;
    size_t node;
  };
  struct Use {  // of a semaphore: a wait or a post
    size_t node;
    uint64_t count;
  };
  /// Rows of bits: which commands' starts or retirements come before an event of this command.
  class Before {
   public:
    explicit Before(size_t nodes) : words_((nodes + 63) / 64), bits_(nodes * words_) {}
    [[nodiscard]] bool test(size_t row, size_t node) const {
      return (bits_[row * words_ + node / 64] >> (node % 64) & 1) != 0;
    }
    void set(size_t row, size_t node) { bits_[row * words_ + node / 64] |= uint64_t{1} << (node % 64); }
    void merge(size_t row, const Before& other, size_t from) {
      for (size_t i = 0; i < words_; i++) bits_[row * words_ + i] |= other.bits_[from * words_ + i];
    }

   private:
    size_t words_;
    std::vector<uint64_t> bits_;
  };
  struct Order {
    explicit Order(size_t nodes)
        : starts_before_start(nodes),
          starts_before_wait(nodes),
          retires_before_start(nodes),
          starts_before_retire(nodes),
          retires_before_retire(nodes) {}
    /// starts_before_wait: starts before this start, even if what is supposed of this command itself is wrong.
    Before starts_before_start, starts_before_wait, retires_before_start, starts_before_retire, retires_before_retire;
  };
  /// Of a semaphore, for one wait.
  struct Tokens {
    uint64_t needed = 0, all = 0;
    std::vector<uint64_t> without;  ///< by post: the tokens of it and of those behind it
  };
  struct Meeting {
    size_t first, second;
    AccessRange range;
  };

  [[nodiscard]] CommandAccesses accesses(unsigned queue, const spec::Command& command) const;
  void start(Node node);
  void forget();
  [[nodiscard]] std::vector<Hazard> find_hazards();
  [[nodiscard]] Order find_order() const;
  [[nodiscard]] Tokens tokens(const Order& order, unsigned semaphore, const Use& wait) const;
  [[nodiscard]] bool needs(const Order& order, unsigned semaphore, const Tokens& tokens, size_t number) const;
  bool find_waits(const Order& order);
  [[nodiscard]] Order suppose_waits(Order order);
  [[nodiscard]] std::vector<Meeting> find_meetings(const Order& order) const;
  [[nodiscard]] bool ordered(const Order& order, size_t a, size_t b) const;

  const spec::Chip chip_;
  CoreObserver* next_;
  std::optional<golden::SegmentTable> segments_;
  std::array<uint64_t, WEFT_SEMAPHORES> initial_{};
  std::vector<Node> nodes_;
  std::vector<Event> events_;
  std::array<std::vector<size_t>, WEFT_CORE_UNITS> running_;  // started and not retired, oldest first
  std::array<std::vector<Use>, WEFT_SEMAPHORES> waits_, posts_;
};

}  // namespace weft::core
