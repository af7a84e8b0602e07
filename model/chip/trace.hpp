/// Chrome trace of a run: what each unit executed and when the manager was awake. Opens in Perfetto.
#pragma once
#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "model/core/tensor_core.hpp"

namespace weft::chip {

/// Writes JSON events as they happen, in the array form, which viewers also read when its end is missing. Timestamps
/// are microseconds of device time; exact cycles are in args. One owner, one thread.
class TraceWriter final : public core::CoreObserver {
 public:
  /// `enabled` is asked at each event. nullptr and a message in `error` if the file does not open.
  static std::unique_ptr<TraceWriter> make(const std::string& path, uint64_t clock_hz, std::function<bool()> enabled,
                                           std::string& error);
  ~TraceWriter() override;

  void command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override;
  void command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) override;
  /// The firmware ran from one cycle to the other.
  void manager_awake(uint64_t from_cycle, uint64_t to_cycle);

 private:
  struct Started {
    spec::Command command;
    uint64_t cycle;
  };

  TraceWriter(std::FILE* file, uint64_t clock_hz, std::function<bool()> enabled);
  void event(const std::string& json);
  void name_track(unsigned track, std::string_view name);
  [[nodiscard]] double microseconds(uint64_t cycle) const { return static_cast<double>(cycle) * 1e6 / clock_hz_; }

  std::FILE* file_;
  double clock_hz_;
  std::function<bool()> enabled_;
  bool first_ = true;
  std::array<std::deque<Started>, WEFT_CORE_UNITS> started_;
};

}  // namespace weft::chip
