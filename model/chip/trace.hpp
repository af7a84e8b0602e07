/// Chrome trace of a run: what each unit executed and when the manager was awake. Opens in Perfetto.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "model/core/tensor_core.hpp"
#include "model/trace/trace_file.hpp"

namespace weft::chip {

/// One process of the trace: a track an engine, one for the firmware. Timestamps are microseconds of device time; exact
/// cycles are in args. One owner, one thread.
class TraceWriter final : public core::CoreObserver {
 public:
  /// `enabled` is asked at each event.
  TraceWriter(std::shared_ptr<TraceFile> file, uint32_t process, uint64_t clock_hz, std::function<bool()> enabled);

  void command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override;
  void command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override;
  /// The firmware ran from one cycle to the other.
  void manager_awake(uint64_t from_cycle, uint64_t to_cycle);
  /// The firmware has told the host of something: an arrow leads here from the command that ended last.
  void interrupt(uint64_t cycle);

 private:
  struct Started {
    spec::Command command;
    uint64_t cycle;
  };

  [[nodiscard]] double microseconds(uint64_t cycle) const { return static_cast<double>(cycle) * 1e6 / clock_hz_; }

  struct Ended {
    uint32_t track;
    uint64_t cycle;  // in which it began: arrows are bound to the beginning of a span
  };

  std::shared_ptr<TraceFile> file_;
  uint32_t process_;
  double clock_hz_;
  std::function<bool()> enabled_;
  std::optional<Ended> ended_;  // the command that ended last, if the host has not been told yet
  std::array<std::deque<Started>, WEFT_CORE_UNITS> started_;
};

}  // namespace weft::chip
