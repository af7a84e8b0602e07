/// The MXUs of the fast core.
#include "model/core/fast/mxu.hpp"

#include <algorithm>

namespace weft::core::fast {
namespace {

/// How many cycles of a product are computed at once: a command may last 2^40 cycles, and whoever asks for the next one
/// must get an answer soon.
constexpr uint64_t kPieceCycles = 1u << 14;

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
  u.checked = cycle + 1;
  if (auto fault = golden::check_unit(command, WEFT_QUEUE_MXU, state_.chip(), state_.segments())) {
    u.refusing = true;
    u.refusal = {true, *fault, c.header.tag};
    if (u.running.empty()) refuse_in(u, cycle + timing_.mxu_refuse);
    return;
  }
  u.walk.add(c, cycle);
  if (u.running.empty()) u.compute_at = cycle + kPieceCycles;
  u.running.push_back(command);
}

/// A refused command keeps the unit active until its fault.
void MxuGroup::refuse_in(Unit& u, uint64_t cycle) {
  u.refuse_cycle = cycle;
  u.drained = cycle + 1;
  find_next_event();
}

void MxuGroup::find_next_event() {
  next_event_ = kNever;
  for (const Unit& u : units_) next_event_ = std::min({next_event_, u.refuse_cycle, u.front_done});
}

// ---------------------------------------------------------------- a cycle

void MxuGroup::request(VmemArbiter& vmem) {
  for (Unit& u : units_) u.walk.request_x(vmem);
  for (Unit& u : units_) u.walk.request_w(vmem);
}

void MxuGroup::clock(uint64_t cycle) {
  progressed_ = false;
  for (Unit& u : units_) {
    const MxuWalk::Cycle what = u.walk.step();
    count(u, what, cycle);
    if (what.fault) {
      u.ecc_fault = cycle;
      stopped_ = true;
    }
    if (cycle >= u.compute_at) {
      compute_entered(u);
      u.compute_at = cycle + kPieceCycles;
    }
  }
}

bool MxuGroup::resting() const {
  return std::ranges::all_of(units_, [](const Unit& u) { return u.walk.exhausted(); });
}

void MxuGroup::skip(uint64_t from, uint64_t to) {
  progressed_ = false;
  for (Unit& u : units_) {
    const uint64_t drain = std::clamp(u.drained, from, to) - from;
    counters_[WEFT_COUNTER_MXU_DRAIN] += drain;
    counters_[WEFT_COUNTER_MXU_IDLE] += to - from - drain;
    u.walk.skip_to(to);
  }
}

void MxuGroup::count(Unit& u, const MxuWalk::Cycle& what, uint64_t cycle) {
  MxuState state = what.state;
  if (state == MxuState::kIdle && cycle == u.checked)
    state = MxuState::kWeightWait;
  else if (state == MxuState::kIdle && cycle < u.drained)
    state = MxuState::kDrain;
  counters_[WEFT_COUNTER_MXU_BUSY + static_cast<size_t>(state)]++;
  if (what.state == MxuState::kBusy || what.x_read || what.w_read) progressed_ = true;
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
  const uint64_t done = cycle + mxu_flight(state_.chip()) + timing_.mxu_drain;
  u.ended.push_back(cycle);
  if (u.ended.size() == 1) {
    u.front_done = done;
    find_next_event();
  }
  u.drained = done + 1;
}

bool MxuGroup::acc_free(uint32_t row, uint64_t cycle) const {
  const uint32_t rows = 2 * state_.chip().acc_bank_rows, unit = row / rows;
  if (unit >= units_.size()) return true;
  return !units_[unit].walk.seeds_read(row % rows / state_.chip().acc_bank_rows, cycle);
}

// ---------------------------------------------------------------- data

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
  if (timing_.carries_data) (void)state_.execute_checked(spec::encode(c), WEFT_QUEUE_MXU, none);
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

UnitOutcome MxuGroup::outcome(unsigned unit, uint64_t cycle) {
  UnitOutcome out;
  Unit& u = units_[unit];
  if (u.front_done == cycle) {
    compute_tiles(u, golden::matmul_tiles(spec::decode_mxu(u.running.front()), state_.chip()).count);
    u.computed = 0;
    u.compute_at = cycle + kPieceCycles;
    u.running.pop_front();
    u.ended.pop_front();
    out.done = true;
    u.front_done =
        u.ended.empty() ? kNever : std::max(u.ended.front() + mxu_flight(state_.chip()) + timing_.mxu_drain, cycle + 1);
    find_next_event();
    if (u.refusing && u.running.empty() && u.refuse_cycle == kNever)
      refuse_in(u, std::max(cycle + 1, u.checked - 1 + timing_.mxu_refuse));
  }
  if (u.ecc_fault == cycle) {
    out.fault = stop_by_ecc(u, cycle);
    stopped_ = std::ranges::any_of(units_, [&](const Unit& other) { return other.ecc_fault == cycle; });
    find_next_event();
    return out;
  }
  if (u.refuse_cycle == cycle) {
    out.fault = u.refusal;
    u.refuse_cycle = kNever;
    find_next_event();
  }
  return out;
}

/// What comes before the poison is computed tile by tile; then the unit is empty and takes nothing more.
UnitFault MxuGroup::stop_by_ecc(Unit& u, uint64_t cycle) {
  const MxuWalk::EccStop stop = u.walk.ecc_stop();
  compute_tiles(u, stop.tile);
  spec::MxuCommand c = tiles_from(u, stop.tile);
  const UnitFault fault{true, {WEFT_FAULT_ECC_UNCORRECTABLE, stop.address}, c.header.tag};
  c.k = static_cast<uint32_t>(std::min<uint64_t>(golden::matmul_tiles(c, state_.chip()).k_per_tile, c.k));
  c.m = static_cast<uint16_t>(stop.row);
  NoMemory none;
  if (c.m != 0 && timing_.carries_data) (void)state_.execute_checked(spec::encode(c), WEFT_QUEUE_MXU, none);
  clear(u, cycle + 1);
  u.dead = true;
  return fault;
}

void MxuGroup::reset(uint64_t cycle) {
  for (Unit& u : units_) {
    clear(u, cycle);
    u.dead = false;
  }
  stopped_ = false;
  find_next_event();
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

bool MxuGroup::acc_idle() const {
  return std::ranges::all_of(units_, [](const Unit& u) { return u.walk.acc().idle(); });
}

bool MxuGroup::acc_armed() const {
  return std::ranges::any_of(units_, [](const Unit& u) { return u.walk.acc().armed(); });
}

void MxuGroup::disarm_acc() {
  for (Unit& u : units_) u.walk.acc().disarm();
}

}  // namespace weft::core::fast
