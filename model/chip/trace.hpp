/// Chrome trace of a run: what each unit executed, what hosts asked for and when the manager was awake. Opens in
/// Perfetto.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "model/core/tensor_core.hpp"
#include "model/trace/trace_file.hpp"

namespace weft::fw {
struct Queue;
}

namespace weft::chip {

/// One process of the trace: a track an engine, one for the firmware, one for each queue of a host that is used.
/// Timestamps are microseconds of device time; exact cycles are in args. One owner, one thread.
class TraceWriter final : public core::CoreObserver {
 public:
  /// `enabled` is asked at each event.
  TraceWriter(std::shared_ptr<TraceFile> file, uint32_t process, uint64_t clock_hz, std::function<bool()> enabled);

  void command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override;
  void command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override;
  /// The firmware ran from one cycle to the other.
  void manager_awake(uint64_t from_cycle, uint64_t to_cycle);
  /// A completion of a command of the host's `queue` is written, as the firmware knows that queue and the
  /// entries that it has fetched of it: a span on the
  /// queue's track, from the doorbell or from the end of the command before it, and an arrow from there to the
  /// firmware, by way of the engine's command that ended last if it was a launch.
  void command_completed(const fw::Queue& queue, std::span<const weft_submission_entry> batch,
                         const weft_completion_entry& completion, uint64_t cycle);
  /// The firmware has told a host of something.
  void interrupt(uint32_t function, uint32_t vector, uint64_t cycle);

 private:
  struct Started {
    spec::Command command;
    uint64_t cycle;
  };

  struct Ended {
    uint32_t track;
    uint64_t cycle;  // in which it began: arrows are bound to the beginning of a span
  };

  [[nodiscard]] double microseconds(uint64_t cycle) const { return static_cast<double>(cycle) * 1e6 / clock_hz_; }
  [[nodiscard]] TracePlace span(uint32_t track, uint64_t from, uint64_t to) const {
    return {microseconds(from), microseconds(to - from), process_, track};
  }
  [[nodiscard]] TracePlace mark(uint32_t track, uint64_t cycle) const {
    return {microseconds(cycle), TracePlace::kMark, process_, track};
  }
  [[nodiscard]] uint32_t queue_track(uint32_t function, uint32_t queue);
  void arrow(const char* phase, uint64_t id, uint32_t track, uint64_t cycle);

  std::shared_ptr<TraceFile> file_;
  uint32_t process_;
  double clock_hz_;
  std::function<bool()> enabled_;
  uint64_t arrows_ = 0;
  std::optional<Ended> ended_;                  // the engine's command that ended last
  std::map<uint32_t, uint64_t> command_ended_;  // by queue's track: when its last command was completed
  std::array<std::deque<Started>, WEFT_CORE_UNITS> started_;
};

}  // namespace weft::chip
