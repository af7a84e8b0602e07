/// Faults of the fast core: the watchdog, and which fault of a cycle counts.
#include <algorithm>
#include <utility>

#include "model/core/core_units.hpp"
#include "model/core/fast/fast_core.hpp"

namespace weft::core {

void FastCore::raise(unsigned unit, uint16_t tag, const golden::Fault& fault, FaultSource source) {
  raised_.push_back({fault, unit, queue_of_unit(unit), tag, cycle_, source});
}

/// The first cycle in which the watchdog has counted its limit, if nothing progresses until then.
uint64_t FastCore::watchdog_cycle() const {
  if (watchdog_limit_ == 0) return fast::kNever;
  return last_progress_ + 1 > fast::kNever - watchdog_limit_ ? fast::kNever : last_progress_ + 1 + watchdog_limit_;
}

void FastCore::watch() {
  if (now_.hangs) raise_hang();
  if (!now_.any_working || stop_) last_progress_ = cycle_;
}

/// Names the first unit at work with its oldest command, else the first queue that is not empty with its head, else the
/// first queue that fetches.
void FastCore::raise_hang() {
  for (Lane& lane : lanes_) lane.faulted = lane.faulted || !lane.held.empty();  // given up
  lanes_changed_ = true;
  for (unsigned unit = 0; unit < WEFT_CORE_UNITS; unit++)
    if (!lanes_[unit].held.empty())
      return raise(unit, spec::decode_header(lanes_[unit].held.front().command).tag, {WEFT_FAULT_WATCHDOG, 0},
                   FaultSource::kWatchdog);
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
    if (!queues_[queue].commands.empty())
      return raise(first_unit(queue), spec::decode_header(queues_[queue].commands.front().command).tag,
                   {WEFT_FAULT_WATCHDOG, 0}, FaultSource::kWatchdog);
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
    if (fetch_.active(queue)) return raise(first_unit(queue), 0, {WEFT_FAULT_WATCHDOG, 0}, FaultSource::kWatchdog);
}

/// Of the faults of one cycle the first source counts, of one source the first unit or queue; they are raised out of
/// order.
void FastCore::capture_faults() {
  if (clear_fault_count_) fault_count_ = 0;
  clear_fault_count_ = false;
  if (raised_.empty()) return;
  std::ranges::stable_sort(raised_, {}, [](const CapturedFault& f) {
    return std::pair(f.source, f.source == FaultSource::kHeader ? f.queue : f.unit);
  });
  if (!fault_) fault_ = raised_.front();
  fault_count_ += raised_.size();
  raised_.clear();
  stop_ = true;
  interrupt_set_ |= WEFT_CSR_INTERRUPT_FAULT;
  moved_ = true;
}

}  // namespace weft::core
