/// The MXU of the fast core.
#include "model/core/fast_core_mxu.hpp"

#include <algorithm>

namespace weft::core::fast {

void MxuUnit::take(const spec::Command& command, uint64_t cycle) {
  if (dead_) return;  // taken in the cycle of the fault: dropped with the others
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
    for (;;) {
      const auto what = ahead.step();
      last_row_ = ahead.cycle() - 1;
      if (what.command_done) break;
      if (!what.fault) continue;
      ecc_fault_ = last_row_;
      return;
    }
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
  if (ecc_fault_ == cycle) {
    out.fault = stop_by_ecc(cycle);
    return out;
  }
  if (refuse_cycle_ == cycle) {
    out.fault = refusal_;
    refuse_cycle_ = kNever;
  }
  return out;
}

/// What comes before the poison is computed tile by tile; then the unit is empty and takes nothing more.
UnitFault MxuUnit::stop_by_ecc(uint64_t cycle) {
  run_walk(cycle + 1);
  const MxuWalk::EccStop stop = walk_.ecc_stop();
  spec::MxuCommand c = spec::decode_mxu(running_.front());
  const UnitFault fault{true, {WEFT_FAULT_ECC_UNCORRECTABLE, stop.address}, c.header.tag};
  const auto tiles = golden::matmul_tiles(c, state_.chip());
  const uint32_t k = c.k, x_addr = c.x_addr, w_addr = c.w_addr;
  const uint16_t m = c.m;
  for (uint64_t t = 0; t <= stop.tile; t++) {
    c.x_addr = static_cast<uint32_t>(x_addr + t * c.x_tile_stride);
    c.w_addr = static_cast<uint32_t>(w_addr + t * c.w_tile_stride);
    c.k = static_cast<uint32_t>(std::min<uint64_t>(tiles.k_per_tile, k - t * tiles.k_per_tile));
    c.m = t == stop.tile ? static_cast<uint16_t>(stop.row) : m;
    if (t != 0) c.seed = WEFT_MXU_SEED_KEEP;
    NoMemory none;
    if (c.m != 0) (void)state_.execute_checked(spec::encode(c), WEFT_QUEUE_MXU, none);
  }
  clear(cycle + 1);
  dead_ = true;
  return fault;
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
  counters_[WEFT_COUNTER_ECC_VMEM_CORRECTED] += what.vmem.corrected;
  counters_[WEFT_COUNTER_ECC_VMEM_UNCORRECTABLE] += what.vmem.poisoned;
  counters_[WEFT_COUNTER_ECC_ACC_CORRECTED] += what.acc.corrected;
  counters_[WEFT_COUNTER_ECC_ACC_UNCORRECTABLE] += what.acc.poisoned;
  state_.status().macs += what.dropped_macs;
  if (what.dropped_end) drained_ = kNever;  // until the fault
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
  clear(cycle);
  dead_ = false;
}

/// As new from `cycle` on, but for ACC, which keeps what it holds.
void MxuUnit::clear(uint64_t cycle) {
  AccFlips flips = walk_.acc();
  walk_ = MxuWalk(state_.chip(), timing_, vmem_flips_);
  walk_.acc() = std::move(flips);
  walk_.skip_to(cycle);
  latest_.reset();
  running_.clear();
  ended_.clear();
  front_done_ = refuse_cycle_ = ecc_fault_ = kNever;
  last_row_ = drained_ = 0;
  refusing_ = false;
}

}  // namespace weft::core::fast
