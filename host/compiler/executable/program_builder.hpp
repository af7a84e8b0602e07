/// Collects the commands of the five queues, with the text of each tag.
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
