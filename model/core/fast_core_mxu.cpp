/// The MXUs of the fast core.
#include "model/core/fast_core_mxu.hpp"

#include <algorithm>

namespace weft::core::fast {
namespace {

/// How far walks are simulated at once, and how much of a product is computed at once: a command may last 2^40 cycles,
/// and whoever asks for the next one must get an answer soon.
constexpr uint64_t kMostAheadCycles = 1u << 14;

/// One cycle of all walks: x of each, then weights of each, as VMEM grants them. `told` gets each walk and what its
/// cycle was.
template <typename Walks, typename Told>
void step_walks(Walks& walks, const Told& told) {
  uint32_t taken = 0;
  for (auto& w : walks) w.walk.request_x(taken);
  for (auto& w : walks) w.walk.request_w(taken);
  for (auto& w : walks) told(w, w.walk.step());
}

}  // namespace

MxuGroup::MxuGroup(golden::CoreState& state, const FastTiming& timing, Counters& counters, const VmemFlips& vmem_flips)
    : state_(state), timing_(timing), counters_(counters), vmem_flips_(vmem_flips) {
  for (unsigned u = 0; u < state.chip().num_mxu; u++) units_.emplace_back(MxuWalk(state.chip(), timing, vmem_flips));
}

bool MxuGroup::ready(unsigned unit) const {
  const Unit& u = units_[unit];
  return !u.refusing && !u.dead && u.running.size() < timing_.mxu_held;
}

void MxuGroup::take(unsigned unit, const spec::Command& command, uint64_t cycle) {
  Unit& u = units_[unit];
  if (u.dead) return;  // taken in the cycle of the fault: dropped with the others
  const auto c = spec::decode_mxu(command);
  if (auto fault = golden::check_unit(command, WEFT_QUEUE_MXU, state_.chip(), state_.segments())) {
    u.refusing = true;
    u.refusal = {true, *fault, c.header.tag};
    u.last_taken = cycle;
    if (u.running.empty()) u.refuse_cycle = cycle + timing_.mxu_refuse;
    return;
  }
  run_walks(cycle);
  u.walk.add(c, cycle);
  u.running.push_back(command);
  if (units_.size() > 1 || (next_row_ == kNever && looked_until_ == kNever)) look_ahead();
}

/// Copies run on to the next cycle in which a command's last row enters, or ECC stops one, but not further than
/// kMostAheadCycles; rows enter until there.
void MxuGroup::look_ahead() {
  struct Ahead {
    MxuWalk walk;
    Unit* unit;
  };
  next_row_ = looked_until_ = kNever;
  std::vector<Ahead> ahead;
  bool more = false;
  const auto goes_on = [](const MxuWalk& walk, const Unit& unit) {
    return !walk.exhausted() || (walk.stopped() && unit.ecc_fault == kNever);
  };
  for (Unit& u : units_) {
    if (u.latest && u.latest->command_done) next_row_ = latest_cycle_;
    if (u.ecc_fault >= u.walk.cycle()) u.ecc_fault = kNever;  // found anew below
    more = more || goes_on(u.walk, u);
    ahead.push_back({u.walk, &u});
  }
  if (next_row_ != kNever) return;
  const uint64_t end = ahead.front().walk.cycle() + kMostAheadCycles;
  while (more && next_row_ == kNever) {
    const uint64_t cycle = ahead.front().walk.cycle();
    if (cycle == end) {
      looked_until_ = last_row_ = end;
      return;
    }
    more = false;
    step_walks(ahead, [&](Ahead& w, const MxuWalk::Cycle& what) {
      if (what.fault) w.unit->ecc_fault = cycle;
      if (what.command_done || what.fault) next_row_ = cycle;
      more = more || goes_on(w.walk, *w.unit);
    });
  }
  if (next_row_ != kNever) last_row_ = next_row_;
}

/// The walks go past the last row that was looked for, or as far as copies have looked for it; then the next one is.
void MxuGroup::pass_event(uint64_t cycle) {
  while (next_row_ < cycle || looked_until_ <= cycle) {
    if (looked_until_ <= cycle) {
      run_walks(looked_until_);
      for (Unit& u : units_) compute_entered(u);
    } else {
      run_walks(next_row_ + 1);
    }
    look_ahead();
  }
}

/// Of an oldest command whose rows are still entering: the tiles that have.
void MxuGroup::compute_entered(Unit& u) {
  if (!u.running.empty() && u.ended.empty() && !u.walk.stopped()) compute_tiles(u, u.walk.tile());
}

/// Tiles of the oldest command up to `end`, those that are not computed yet: all their rows.
void MxuGroup::compute_tiles(Unit& u, uint64_t end) {
  if (u.computed >= end) return;
  spec::MxuCommand c = tiles_from(u, u.computed);
  const uint64_t depth = (end - u.computed) * golden::matmul_tiles(c, state_.chip()).k_per_tile;
  c.k = static_cast<uint32_t>(std::min<uint64_t>(depth, c.k));
  NoMemory none;
  (void)state_.execute_checked(spec::encode(c), WEFT_QUEUE_MXU, none);
  u.computed = end;
}

/// The oldest command without its first tiles.
spec::MxuCommand MxuGroup::tiles_from(const Unit& u, uint64_t tile) const {
  spec::MxuCommand c = spec::decode_mxu(u.running.front());
  if (tile == 0) return c;
  c.k -= static_cast<uint32_t>(tile * golden::matmul_tiles(c, state_.chip()).k_per_tile);
  c.x_addr += static_cast<uint32_t>(tile * c.x_tile_stride);
  c.w_addr += static_cast<uint32_t>(tile * c.w_tile_stride);
  c.seed = WEFT_MXU_SEED_KEEP;
  return c;
}

UnitOutcome MxuGroup::step(unsigned unit, uint64_t cycle) {
  UnitOutcome out;
  pass_event(cycle);
  Unit& u = units_[unit];
  if (u.front_done == cycle) {
    run_walks(cycle);
    compute_tiles(u, golden::matmul_tiles(spec::decode_mxu(u.running.front()), state_.chip()).count);
    u.computed = 0;
    u.running.pop_front();
    u.ended.pop_front();
    out.done = true;
    u.front_done = u.ended.empty()
                       ? kNever
                       : std::max(u.ended.front() + 2 * uint64_t{state_.chip().n} + timing_.mxu_drain, cycle + 1);
    if (u.refusing && u.running.empty() && u.refuse_cycle == kNever)
      u.refuse_cycle = std::max(cycle + 1, u.last_taken + timing_.mxu_refuse);
  }
  if (u.ecc_fault == cycle) {
    out.fault = stop_by_ecc(u, cycle);
    return out;
  }
  if (u.refuse_cycle == cycle) {
    out.fault = u.refusal;
    u.refuse_cycle = kNever;
  }
  return out;
}

uint64_t MxuGroup::next_event() const {
  uint64_t next = next_row_ == kNever ? looked_until_ : next_row_ + 1;
  for (const Unit& u : units_) next = std::min({next, u.refuse_cycle, u.front_done, u.ecc_fault});
  return next;
}

/// What comes before the poison is computed tile by tile; then the unit is empty and takes nothing more.
UnitFault MxuGroup::stop_by_ecc(Unit& u, uint64_t cycle) {
  run_walks(cycle + 1);
  const MxuWalk::EccStop stop = u.walk.ecc_stop();
  compute_tiles(u, stop.tile);
  spec::MxuCommand c = tiles_from(u, stop.tile);
  const UnitFault fault{true, {WEFT_FAULT_ECC_UNCORRECTABLE, stop.address}, c.header.tag};
  c.k = static_cast<uint32_t>(std::min<uint64_t>(golden::matmul_tiles(c, state_.chip()).k_per_tile, c.k));
  c.m = static_cast<uint16_t>(stop.row);
  NoMemory none;
  if (c.m != 0) (void)state_.execute_checked(spec::encode(c), WEFT_QUEUE_MXU, none);
  clear(u, cycle + 1);
  u.dead = true;
  look_ahead();
  return fault;
}

/// Simulates and counts the walks' cycles before `end`; the last one is kept back, see read_banks().
void MxuGroup::run_walks(uint64_t end) {
  if (latest_cycle_ < end)
    for (Unit& u : units_)
      if (u.latest) {
        count(u, *u.latest, latest_cycle_);
        u.latest.reset();
      }
  const auto exhausted = [](const Unit& u) { return u.walk.exhausted(); };
  while (units_.front().walk.cycle() < end && !std::ranges::all_of(units_, exhausted)) {
    const uint64_t cycle = units_.front().walk.cycle();
    step_walks(units_, [&](Unit& u, const MxuWalk::Cycle& what) { count(u, what, cycle); });
  }
  const uint64_t first = units_.front().walk.cycle();
  if (first >= end) return;
  for (Unit& u : units_) {
    const uint64_t drain = std::clamp(u.drained, first, end) - first;
    counters_[WEFT_COUNTER_MXU_DRAIN] += drain;
    counters_[WEFT_COUNTER_MXU_IDLE] += end - first - drain;
    u.walk.skip_to(end);
  }
}

void MxuGroup::count(Unit& u, const MxuWalk::Cycle& what, uint64_t cycle) {
  MxuState state = what.state;
  if (state == MxuState::kIdle && cycle < u.drained) state = MxuState::kDrain;
  counters_[WEFT_COUNTER_MXU_BUSY + static_cast<size_t>(state)]++;
  counters_[WEFT_COUNTER_VMEM_GRANTS_X] += what.x_read;
  counters_[WEFT_COUNTER_VMEM_GRANTS_W] += what.w_read;
  counters_[WEFT_COUNTER_VMEM_CONFLICTS_X] += what.x_refused;
  counters_[WEFT_COUNTER_VMEM_CONFLICTS_W] += what.w_refused;
  counters_[WEFT_COUNTER_ECC_VMEM_CORRECTED] += what.vmem.corrected;
  counters_[WEFT_COUNTER_ECC_VMEM_UNCORRECTABLE] += what.vmem.poisoned;
  counters_[WEFT_COUNTER_ECC_ACC_CORRECTED] += what.acc.corrected;
  counters_[WEFT_COUNTER_ECC_ACC_UNCORRECTABLE] += what.acc.poisoned;
  state_.status().macs += what.dropped_macs;
  if (what.dropped_end) u.drained = kNever;  // until the fault
  if (!what.command_done) return;
  const uint64_t done = cycle + 2 * uint64_t{state_.chip().n} + timing_.mxu_drain;
  u.ended.push_back(cycle);
  if (u.ended.size() == 1) u.front_done = done;
  u.drained = done + 1;
}

uint32_t MxuGroup::read_banks(uint64_t cycle) {
  if (!units_.front().latest || latest_cycle_ != cycle) {
    run_walks(cycle);
    const auto exhausted = [](const Unit& u) { return u.walk.exhausted(); };
    if (std::ranges::all_of(units_, exhausted) || units_.front().walk.cycle() != cycle) return 0;
    latest_cycle_ = cycle;
    step_walks(units_, [](Unit& u, const MxuWalk::Cycle& what) { u.latest = what; });
  }
  uint32_t banks = 0;
  for (const Unit& u : units_) banks |= u.latest->banks;
  return banks;
}

void MxuGroup::account(uint64_t cycle) { run_walks(cycle); }

void MxuGroup::reset(uint64_t cycle) {
  run_walks(cycle);
  for (Unit& u : units_) {
    clear(u, cycle);
    u.dead = false;
  }
  next_row_ = looked_until_ = kNever;
  last_row_ = 0;
}

/// As new from `cycle` on, but for ACC, which keeps what it holds.
void MxuGroup::clear(Unit& u, uint64_t cycle) {
  AccFlips flips = u.walk.acc();
  u = Unit(MxuWalk(state_.chip(), timing_, vmem_flips_));
  u.walk.acc() = std::move(flips);
  u.walk.skip_to(cycle);
}

// ---------------------------------------------------------------- flips of ACC

size_t MxuGroup::unit_of(uint64_t place) const {
  const uint64_t unit = place / (2 * uint64_t{state_.chip().acc_bank_rows} * state_.chip().n);
  return std::min<uint64_t>(unit, units_.size() - 1);
}

AccFlips& MxuGroup::acc_flips(uint64_t place, uint64_t cycle) {
  run_walks(cycle);
  return units_[unit_of(place)].walk.acc();
}

bool MxuGroup::acc_idle(uint64_t cycle) {
  run_walks(cycle);
  return std::ranges::all_of(units_, [](const Unit& u) { return u.walk.acc().idle(); });
}

bool MxuGroup::acc_armed(uint64_t cycle) {
  run_walks(cycle);
  return std::ranges::any_of(units_, [](const Unit& u) { return u.walk.acc().armed(); });
}

void MxuGroup::disarm_acc(uint64_t cycle) {
  run_walks(cycle);
  for (Unit& u : units_) u.walk.acc().disarm();
}

}  // namespace weft::core::fast
