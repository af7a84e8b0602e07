/// Collects the commands of the five queues, with their semaphores and the text of each tag.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft::compiler {

/// The semaphores of a compiled program. Each is posted and waited for by in-order queues, so counts never mix up:
/// MXU and VPU retire in order; loads and stores, which two channels may finish out of order, have one semaphore a
/// slot.
enum Semaphore : uint8_t {
  kOperandsReady = 0,  ///< .. + 23, ring: the loads that MATMUL i was the first to need
  kOperandRing = 24,   ///< length of that ring
  kConsumed = 24,      ///< posted by MATMUL when it has retired, taken by loads
  kAccFull = 25,       ///< a block's sums are complete, taken by EPILOGUE
  kAccFree = 26,       ///< EPILOGUE has read a bank, taken by the block after the next
  kOutputReady = 27,   ///< a VMEM output slot holds a result, taken by the store
  kOutputFree = 28,    ///< .. + 3: the store has read its slot, taken by the next writer of the slot
  kOutputSlots = 4,
  kStepDone = 32,  ///< posted by every store of a step, taken by the first load of the next
  /// .. + 3: the loads of a chunk that the VPU waits for, by VMEM slot. Not the MXU's: a MATMUL of a later step already
  /// stands at the head of its queue and would take them.
  kChunkReady = 33,
};

/// The commands of one kernel, queue by queue.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(const spec::Chip& chip) : chip_(chip) {}

  [[nodiscard]] const spec::Chip& chip() const { return chip_; }

  /// Adds a wait or a post to a header; both slots taken is a defect (asserted). A count of 0 adds nothing.
  static void wait(spec::CommandHeader& header, unsigned semaphore, uint64_t count);
  static void post(spec::CommandHeader& header, unsigned semaphore, uint64_t count);

  /// Appends a command to a queue.
  void push(weft_queue_index queue, const spec::Command& command);

  /// A tag whose text is `text`; the same text gives the same tag. Tags wrap after 65535, the first text is kept.
  uint16_t tag(const std::string& text);

  void note_vmem_words(uint64_t words) { vmem_words_ = std::max(vmem_words_, words); }
  void note_macs(uint64_t macs) { macs_ += macs; }
  void note_hbm_bytes(uint64_t bytes) { hbm_bytes_ += bytes; }

  struct Work {
    uint64_t macs = 0, hbm_bytes = 0;
  };
  /// What has been noted.
  [[nodiscard]] Work work() const { return {macs_, hbm_bytes_}; }
  /// All that has been noted since `since` is done so many times more.
  void note_again(const Work& since, uint64_t times) {
    macs_ += (macs_ - since.macs) * times;
    hbm_bytes_ += (hbm_bytes_ - since.hbm_bytes) * times;
  }

  /// The last command of a queue posts to a semaphore, too.
  void post_behind_last(weft_queue_index queue, unsigned semaphore);

  /// The commands pushed since the last call, as a block of a control list; the builder goes on without them.
  [[nodiscard]] Block take_block() { return std::exchange(queues_, {}); }

  /// A kernel of all that was pushed and noted. Arguments, constants and scratch are the caller's to add.
  [[nodiscard]] Kernel kernel(std::string name) const;

 private:
  /// The larger of MXU cycles and HBM cycles: no schedule is faster.
  [[nodiscard]] uint64_t cycle_estimate() const;

  const spec::Chip& chip_;
  std::array<std::vector<spec::Command>, 5> queues_;
  std::map<uint16_t, std::string> tags_;
  std::map<std::string, uint16_t> tag_of_;
  uint64_t vmem_words_ = 0, macs_ = 0, hbm_bytes_ = 0, semaphores_ = 0;
};

}  // namespace weft::compiler
