// One process for all cores: who is due, how far they may run, when to look again.
#include "model/chip/core_clock.hpp"

#include <algorithm>

#include "model/chip/core_host.hpp"

namespace weft::chip {

CoreClock::CoreClock(sc_core::sc_module_name name, const TimeBase& time, Interconnect* interconnect)
    : sc_module(name), time_(time), interconnect_(interconnect) {
  SC_HAS_PROCESS(CoreClock);
  SC_METHOD(run);
  sensitive << kick_;
  dont_initialize();
}

sc_core::sc_time CoreClock::until_fs(uint64_t fs) const {
  return sc_core::sc_time::from_value(fs) - sc_core::sc_time_stamp();
}

void CoreClock::begin_slice(uint64_t horizon_cycle, std::chrono::steady_clock::time_point deadline,
                            uint64_t hold_cycle) {
  horizon_ = horizon_cycle;
  deadline_ = deadline;
  hold_cycle_ = hold_cycle;
  paused_ = false;
}

/// True if a core has something to do in this cycle. Those that are ahead, idle, or quiet for longer are passed over.
bool CoreClock::look_at_cores(uint64_t cycle) {
  bool due = false;
  for (size_t i = 0; i < cores_.size() && earliest_ <= cycle; i++)
    if (due_[i] <= cycle) due |= cores_[i]->look(cycle);
  return due;
}

size_t CoreClock::add(CoreHost& core) {
  cores_.push_back(&core);
  due_.push_back(0);
  earliest_ = 0;
  return cores_.size() - 1;
}

uint64_t CoreClock::earliest_due() {
  if (stale_) earliest_ = due_.empty() ? kNever : *std::ranges::min_element(due_);
  stale_ = false;
  return earliest_;
}

/// No core runs beyond it.
uint64_t CoreClock::limit() const {
  const uint64_t now_fs = sc_core::sc_time_stamp().value();
  const sc_core::sc_time next = sc_core::sc_time_stamp() + sc_core::sc_time_to_pending_activity();
  uint64_t limit = std::min(time_.cycle_at(next.value()), horizon_);
  if (interconnect_ != nullptr) limit = std::min(limit, time_.cycle_at(now_fs + interconnect_->lookahead_fs()));
  return limit;
}

/// At least a cycle, and not beyond what is on its way to the core.
void CoreClock::run_ahead(size_t core, uint64_t cycle, uint64_t limit) {
  if (interconnect_ != nullptr) {
    const uint64_t arrival = interconnect_->next_arrival_fs(core, sc_core::sc_time_stamp().value());
    if (arrival != UINT64_MAX) limit = std::min(limit, time_.cycle_at(arrival));
  }
  cores_[core]->run_ahead(std::max(limit, cycle + 1));
}

/// When something is to be done again, if nobody kicks before: of cores in `next_cycle` at the earliest. UINT64_MAX:
/// never.
uint64_t CoreClock::wake_fs(uint64_t next_cycle) {
  const uint64_t event = interconnect_ != nullptr ? interconnect_->next_event_fs() : UINT64_MAX;
  const uint64_t due = earliest_due();
  return due == kNever ? event : std::min(event, time_.edge_fs(std::max(due, next_cycle)));
}

void CoreClock::run() {
  const uint64_t now_fs = sc_core::sc_time_stamp().value();
  const uint64_t cycle = time_.cycle_at(now_fs);
  const bool at_edge = now_fs == time_.edge_fs(cycle);  // between edges only the interconnect acts
  const bool network_due = interconnect_ != nullptr && interconnect_->next_event_fs() <= now_fs;
  bool due = at_edge && look_at_cores(cycle);
  if ((due || network_due) && sc_core::sc_pending_activity_at_current_time()) {  // somebody may still act on a core
    next_trigger(sc_core::SC_ZERO_TIME);
    return;
  }
  if (network_due) {
    interconnect_->run(now_fs);
    due = at_edge && look_at_cores(cycle);
    if (sc_core::sc_pending_activity_at_current_time()) {  // it woke a manager
      next_trigger(sc_core::SC_ZERO_TIME);
      return;
    }
  }
  if (due && (cycle >= hold_cycle_ || std::chrono::steady_clock::now() >= deadline_)) {
    paused_ = true;
    sc_core::sc_pause();
    next_trigger(sc_core::SC_ZERO_TIME);
    return;
  }
  if (due) {
    const uint64_t end = limit();
    for (size_t i = 0; i < cores_.size(); i++)
      if (due_[i] <= cycle) run_ahead(i, cycle, end);
  }
  const uint64_t wake = wake_fs(at_edge ? cycle + 1 : cycle);
  if (wake != UINT64_MAX) next_trigger(until_fs(wake), kick_);
}

}  // namespace weft::chip
