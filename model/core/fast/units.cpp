/// The units of the fast core as its control sees them: a cycle of each, and what their lanes say.
#include <bit>
#include <utility>

#include "model/core/core_units.hpp"
#include "model/core/fast/fast_core.hpp"

namespace weft::core {

/// A unit reports its oldest command done; fault injection may lose that.
void FastCore::Lane::finish() {
  fast::Marks& ending = held[done].marks;
  stuck = stuck || ending.not_done;
  if (stuck) return;
  if (!ending.lost_done) done++;
  ending.lost_done = false;
}

void FastCore::note(unsigned unit, const fast::UnitOutcome& out) {
  if (out.done) lanes_[unit].finish();
  if (out.fault.valid) {
    raise(unit, out.fault.tag, out.fault.fault);
    lanes_[unit].faulted = true;
  }
  if (out.done || out.fault.valid) moved_ = lanes_changed_ = true;
}

void FastCore::step_units() {
  dma_in_.look(cycle_);
  dma_out_.look(cycle_);
  clock_engines(indices_.choose(), dma_in_.vmem_banks());
  if (indices_.end()) last_progress_ = cycle_;
  if (indices_.asked()) moved_ = true;
  const bool in_reports = dma_in_.step(cycle_), out_reports = dma_out_.step(cycle_);
  if (in_reports)
    for (unsigned i = 0; i < 2; i++) note(WEFT_UNIT_DMA0 + i, dma_in_.outcome(i));
  if (out_reports)
    for (unsigned i = 0; i < 2; i++) note(WEFT_UNIT_DMA2 + i, dma_out_.outcome(i));
  if (mxu_.reports(cycle_))
    for (unsigned i = 0; i < mxu_.size(); i++) note(unit_of_mxu(i), mxu_.outcome(i, cycle_));
  if (vpu_.reports(cycle_)) note(WEFT_UNIT_VPU, vpu_.outcome(cycle_));
  if (dma_in_.moved() || dma_out_.moved()) moved_ = true;
  if (dma_in_.progressed() || dma_out_.progressed()) last_progress_ = cycle_;

  const bool others = (now_.working & ~(1u << WEFT_UNIT_SYNC)) != 0;
  if (const auto refusal = std::exchange(sync_.refusal, std::nullopt)) {
    note(WEFT_UNIT_SYNC, {.done = false, .fault = {true, *refusal, sync_.tag}});
  } else if (sync_.active && !sync_.barrier && !(sync_.fence && others)) {
    sync_.active = false;
    note(WEFT_UNIT_SYNC, {.done = true, .fault = {}});
  }
}

/// A look at the lanes, whose registers change far less often than once a cycle.
const FastCore::LaneView& FastCore::lanes() const {
  if (!lanes_changed_) return seen_;
  lanes_changed_ = false;
  seen_ = {};
  for (uint32_t left = units_; left != 0; left &= left - 1) {
    const auto unit = static_cast<unsigned>(std::countr_zero(left));
    const Lane& lane = lanes_[unit];
    const size_t depth = unit < WEFT_CORE_DMA_CHANNELS ? timing_.dma_held : timing_.lane_depth;
    if (unit_working(unit)) seen_.working |= 1u << unit, seen_.active |= 1u << queue_of_unit(unit);
    if (lane.done != 0 && !out_of_turn(unit)) seen_.finished |= 1u << unit;
    if (lane.held.size() >= depth) seen_.full |= 1u << unit;
  }
  return seen_;
}

bool FastCore::unit_active(unsigned unit) const {
  switch (static_cast<weft_unit_index>(unit)) {
    case WEFT_UNIT_DMA0:
    case WEFT_UNIT_DMA1:
      return dma_in_.active(unit - WEFT_UNIT_DMA0);
    case WEFT_UNIT_DMA2:
    case WEFT_UNIT_DMA3:
      return dma_out_.active(unit - WEFT_UNIT_DMA2);
    case WEFT_UNIT_MXU:
    case WEFT_UNIT_MXU1:
    case WEFT_UNIT_MXU2:
    case WEFT_UNIT_MXU3:
      return mxu_of_unit(unit) < mxu_.size() && mxu_.active(mxu_of_unit(unit));
    case WEFT_UNIT_VPU:
      return vpu_.active();
    case WEFT_UNIT_SYNC:
      return sync_.active;
  }
  return false;
}

/// MXUs retire in the order of their queue.
bool FastCore::out_of_turn(unsigned unit) const {
  return is_mxu(unit) && !mxu_order_.empty() && mxu_order_.front() != unit;
}

/// It stands behind a command of another MXU that will never retire.
bool FastCore::given_up(unsigned unit) const {
  if (!out_of_turn(unit)) return false;
  const Lane& first = lanes_[mxu_order_.front()];
  return first.faulted && first.done == 0;
}

bool FastCore::unit_working(unsigned unit) const {
  const Lane& lane = lanes_[unit];
  const bool held = !lane.held.empty() && !given_up(unit);
  return ((held || unit_active(unit)) && !lane.faulted) || (lane.done != 0 && !out_of_turn(unit));
}

bool FastCore::control_works() const { return unacknowledged_ != 0 || fetch_.active() || holding_ != 0; }
bool FastCore::working() const { return control_works() || lanes().working != 0; }

/// Asked in each cycle: what is told by a look at a register comes first.
bool FastCore::busy() const {
  if (in_reset() || !pending_.empty() || !remote_posts_.empty() || unacknowledged_ != 0 || fetch_.moving()) return true;
  if (!stop_ && (fetch_.active() || holding_ != 0)) return true;
  return lanes().working != 0 || worked_ != control_works();
}

}  // namespace weft::core
