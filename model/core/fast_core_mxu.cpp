/// The MXU of the fast core.
#include "model/core/fast_core_mxu.hpp"

#include <algorithm>

namespace weft::core::fast {

void MxuUnit::take(const spec::Command& command, uint64_t cycle) {
  const auto c = spec::decode_mxu(command);
  if (auto fault = golden::check_unit(command, WEFT_QUEUE_MXU, state_.chip(), state_.segments())) {
    refusing_ = true;
    refusal_ = {true, *fault, c.header.tag};
    last_taken_ = cycle;
    if (running_.empty()) refuse_cycle_ = cycle + timing_.mxu_refuse;
    return;
  }
  run_walk(cycle);
  walk_.add(c, cycle);
  running_.push_back(command);
  if (running_.size() == 1) find_front_done(cycle);
}

/// The cycle in which the oldest command is done: known already if the walk is past it, else found by a copy that runs
/// ahead.
void MxuUnit::find_front_done(uint64_t not_before) {
  front_done_ = kNever;
  if (running_.empty()) return;
  if (!ended_.empty()) {
    last_row_ = ended_.front();
  } else if (latest_ && latest_->what.command_done) {
    last_row_ = latest_->cycle;
  } else {
    MxuWalk ahead = walk_;
    while (!ahead.step().command_done) {
    }
    last_row_ = ahead.cycle() - 1;
  }
  front_done_ = std::max(last_row_ + 2 * uint64_t{state_.chip().n} + timing_.mxu_drain, not_before);
}

UnitOutcome MxuUnit::step(uint64_t cycle) {
  UnitOutcome out;
  if (front_done_ == cycle) {
    run_walk(cycle);
    NoMemory none;
    (void)state_.execute_checked(running_.front(), WEFT_QUEUE_MXU, none);
    running_.pop_front();
    ended_.pop_front();
    out.done = true;
    find_front_done(cycle + 1);
    if (refusing_ && running_.empty() && refuse_cycle_ == kNever)
      refuse_cycle_ = std::max(cycle + 1, last_taken_ + timing_.mxu_refuse);
  }
  if (refuse_cycle_ == cycle) {
    out.fault = refusal_;
    refuse_cycle_ = kNever;
  }
  return out;
}

/// Simulates and counts the walk's cycles before `end`; the last one is kept back, see read_banks().
void MxuUnit::run_walk(uint64_t end) {
  if (latest_ && latest_->cycle < end) {
    count(latest_->what, latest_->cycle);
    latest_.reset();
  }
  while (walk_.cycle() < end && !walk_.exhausted()) {
    const uint64_t cycle = walk_.cycle();
    count(walk_.step(), cycle);
  }
  if (walk_.cycle() >= end) return;
  const uint64_t first = walk_.cycle();
  const uint64_t drain = std::clamp(drained_, first, end) - first;
  counters_[WEFT_COUNTER_MXU_DRAIN] += drain;
  counters_[WEFT_COUNTER_MXU_IDLE] += end - first - drain;
  walk_.skip_to(end);
}

void MxuUnit::count(const MxuWalk::Cycle& what, uint64_t cycle) {
  MxuState state = what.state;
  if (state == MxuState::kIdle && cycle < drained_) state = MxuState::kDrain;
  counters_[WEFT_COUNTER_MXU_BUSY + static_cast<size_t>(state)]++;
  counters_[WEFT_COUNTER_VMEM_GRANTS_X] += what.x_read;
  counters_[WEFT_COUNTER_VMEM_GRANTS_W] += what.w_read;
  counters_[WEFT_COUNTER_VMEM_CONFLICTS_W] += what.w_refused;
  if (what.command_done) {
    ended_.push_back(cycle);
    drained_ = cycle + 2 * uint64_t{state_.chip().n} + timing_.mxu_drain + 1;
  }
}

uint32_t MxuUnit::read_banks(uint64_t cycle) {
  if (latest_ && latest_->cycle == cycle) return latest_->what.banks;
  run_walk(cycle);
  if (walk_.exhausted() || walk_.cycle() != cycle) return 0;
  latest_ = Latest{walk_.step(), cycle};
  return latest_->what.banks;
}

void MxuUnit::account(uint64_t cycle) { run_walk(cycle); }

void MxuUnit::reset(uint64_t cycle) {
  run_walk(cycle);
  walk_ = MxuWalk(state_.chip(), timing_);
  walk_.skip_to(cycle);
  running_.clear();
  ended_.clear();
  front_done_ = refuse_cycle_ = kNever;
  last_row_ = drained_ = 0;
  refusing_ = false;
}

}  // namespace weft::core::fast
