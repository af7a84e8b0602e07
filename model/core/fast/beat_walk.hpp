/// A DMA command as the beats that its channel moves.
#pragma once
#include <algorithm>
#include <cstdint>

#include "model/golden/check.hpp"
#include "model/golden/dma_runs.hpp"
#include "weft/spec/commands.hpp"

namespace weft::core::fast {

/// A command that has passed its checks, seen as beats: walks its runs, each cut into beats of up to one port's width.
class BeatWalk {
 public:
  struct Beat {
    uint64_t bus;   ///< address in the memory's space
    uint64_t vmem;  ///< byte address
    uint32_t bytes;
    bool last;  ///< of the command
  };
  BeatWalk() = default;
  BeatWalk(const spec::DmaCommand& command, bool out, const golden::Segment& segment, uint32_t beat_bytes);
  /// The rows of a GATHER or SCATTER: beats of the table's row 0, to which an index adds.
  BeatWalk(const spec::IndexedCommand& command, const golden::Segment& segment, uint32_t beat_bytes);

  [[nodiscard]] bool valid() const { return valid_; }
  [[nodiscard]] Beat beat() const {
    const uint32_t bytes = std::min(beat_bytes_, command_.size0 - in_run_);
    return {run_bus_ + in_run_, run_vmem_ + in_run_, bytes, last_run_ && in_run_ + bytes == command_.size0};
  }
  void advance();
  /// To the next run, whatever is left of this one. No beat was done.
  void pass();
  [[nodiscard]] bool run_ends() const { return in_run_ + beat_bytes_ >= command_.size0; }
  [[nodiscard]] bool last_run() const { return last_run_; }
  [[nodiscard]] bool indexed() const { return indexed_; }
  void clear() { valid_ = false; }
  /// Fault injection: the n-th beat is answered with an error; 0: none is.
  void fail(uint32_t beat) { fail_beat_ = beat; }
  [[nodiscard]] bool failing() const { return fail_beat_ != 0 && beats_done_ + 1 == fail_beat_; }
  [[nodiscard]] bool fill() const { return command_.header.opcode == WEFT_OPCODE_FILL; }
  [[nodiscard]] weft_address_space space() const { return space_; }
  [[nodiscard]] const spec::DmaCommand& command() const { return command_; }
  /// Number of a remote command at the port.
  void set_number(uint64_t number) { number_ = number; }
  [[nodiscard]] uint64_t number() const { return number_; }

 private:
  void enter_run();
  void next_run();

  spec::DmaCommand command_;
  golden::DmaSide bus_{}, vmem_{};
  uint64_t base_ = 0;
  weft_address_space space_ = WEFT_ADDRESS_SPACE_NONE;
  uint32_t beat_bytes_ = 0, in_run_ = 0;
  uint32_t fail_beat_ = 0, beats_done_ = 0;
  int64_t i1_ = 0, i2_ = 0, i3_ = 0;
  uint64_t run_bus_ = 0, run_vmem_ = 0;  // where the run under way begins
  uint64_t number_ = 0;
  bool valid_ = false, last_run_ = false, indexed_ = false;
};

}  // namespace weft::core::fast
