/// The time of the fast core: one cycle of the RTL's control at a time, and jumps over cycles in which nothing moves.
#include "model/core/fast/fast_core.hpp"

#include <algorithm>
#include <cassert>

#include "model/core/core_units.hpp"

namespace weft::core {
namespace {

/// Where there are so many chips, memory counts for more than the copy of what the MXU reads.
constexpr uint32_t kManyChips = 128;

golden::VmemForm vmem_form(const RemotePort* remote) {
  return remote != nullptr && remote->place().chips >= kManyChips ? golden::VmemForm::kSparse : golden::VmemForm::kFlat;
}

}  // namespace

FastCore::FastCore(const spec::Chip& chip, MemoryBus& bus, const FastTiming& timing, RemotePort* remote)
    : timing_(timing),
      bus_(bus),
      remote_(remote),
      state_(chip, golden::Path::kAutomatic, vmem_form(remote)),
      injector_(state_.chip()),
      mxu_(state_, timing_, counters_, vmem_flips_),
      vpu_(state_, timing_, counters_, vmem_flips_, mxu_),
      vmem_(state_.chip().vmem_banks, timing_.vmem_starve_limit),
      dma_in_(state_, bus, vmem_, timing_, counters_, vmem_flips_, WEFT_QUEUE_DMA_IN, nullptr, &fetch_),
      dma_out_(state_, bus, vmem_, timing_, counters_, vmem_flips_, WEFT_QUEUE_DMA_OUT, remote),
      indices_(dma_in_, dma_out_, vmem_, state_, vmem_flips_, counters_) {
  assert(timing_.dma_held <= Lane::kRoom && timing_.lane_depth <= Lane::kRoom);
  for (unsigned unit = 0; unit < WEFT_CORE_UNITS; unit++)
    if (!is_mxu(unit) || mxu_of_unit(unit) < mxu_.size()) units_ |= 1u << unit;
  if (remote_ != nullptr) remote_->attach(this);
}

FastCore::~FastCore() {
  if (remote_ != nullptr) remote_->attach(nullptr);
}

bool FastCore::push(unsigned queue, const spec::Command& command) {
  if (queue >= WEFT_CORE_QUEUES || reset_pending_ || in_reset()) return false;
  if (fetch_.active(queue) || pending_fetches_[queue] != 0) return false;
  if (queues_[queue].commands.size() + pending_pushes_[queue] >= WEFT_CORE_QUEUE_DEPTH) return false;
  pending_.push_back({true, queue, 0, 0, command});
  pending_pushes_[queue]++;
  return true;
}

uint64_t FastCore::advance(uint64_t until) {
  if (!run_to_interrupt(until) && cycle_ < until) {  // it is idle
    settle_queue_states();
    uncounted_ += until - cycle_;
    skip_engines(until);
    cycle_ = until;
  }
  return cycle_;
}

uint64_t FastCore::advance_while_busy(uint64_t until) {
  (void)run_to_interrupt(until);
  return cycle_;
}

bool FastCore::run_to_interrupt(uint64_t until) {
  while (cycle_ < until && busy()) {
    const bool before = interrupt();
    step();
    if (!before && interrupt()) return true;
    if (!moved_ && cycle_ < until) run_engines(std::clamp(next_event(), cycle_, until));
  }
  return false;
}

void FastCore::step() {
  moved_ = false;
  waits_granted_ = queues_taken_ = 0;
  interrupt_set_ = interrupt_clear_ = 0;
  if (snapshot_due()) {
    settle_counters();
    snapshot_ = counters_;
  }
  look();
  if (!acknowledgements_.empty()) take_acknowledgement();
  if (!in_reset()) {
    grant_waits();
    take_remote_post(retire());
    step_units();
    issue();
  } else {
    take_remote_post(false);
    skip_engines(cycle_ + 1);
  }
  watch();
  apply_pending();
  if (!in_reset()) clock_fetch();
  capture_faults();
  if (!clear_counters_) uncounted_++;
  clear_counters_ = false;

  if (worked_ && !now_.any_working) interrupt_set_ |= WEFT_CSR_INTERRUPT_IDLE;
  if (worked_ != now_.any_working) moved_ = true;
  worked_ = now_.any_working;
  interrupt_ = (interrupt_ & ~interrupt_clear_) | interrupt_set_;
  cycle_++;
  if (reset_now_) core_reset();
}

void FastCore::look() {
  static_cast<LaneView&>(now_) = lanes();
  now_.any_working = now_.working != 0 || control_works();
  now_.hangs = !stop_ && cycle_ >= watchdog_cycle();
  now_.vpu_ready = vpu_.ready();
  now_.mxu_ready = 0;
  if (queues_[WEFT_QUEUE_MXU].issue == IssueState::kIssue)
    for (unsigned u = 0; u < mxu_.size(); u++) now_.mxu_ready |= mxu_.ready(u) ? 1u << u : 0;
  now_.sync_ready = !sync_.active;
  look_at_fetch();
}

void FastCore::look_at_fetch() {
  fast::CommandFetch::Surroundings now{.full = full_, .empty = kAllQueues & ~holding_, .stop = stop_};
  // A register write goes beside the push that follows it.
  const size_t push = !pending_.empty() && !pending_.front().is_push ? 1 : 0;
  now.manager_pushes = pending_.size() > push && pending_[push].is_push;
  fetch_.look(now);
  if (const auto fault = fetch_.fault()) {
    raised_.push_back({{WEFT_FAULT_COMMAND_FETCH, fault->second},
                       first_unit(fault->first),
                       fault->first,
                       0,
                       cycle_,
                       FaultSource::kFetch});
  }
}

void FastCore::clock_fetch() {
  if (fetch_.version_freed()) interrupt_set_ |= WEFT_CSR_INTERRUPT_VERSION;
  fetch_.clock(counters_);
  moved_ |= fetch_.moved();
  if (fetch_.progressed()) last_progress_ = cycle_;
}

/// What advance() jumps over, if no engine works.
uint64_t FastCore::quiet_until() const {
  if (!busy()) return UINT64_MAX;
  if (moved_ || !pending_.empty() || worked_ != working() || !mxu_.resting() || !vpu_.resting()) return cycle_;
  return std::max(cycle_, std::min({next_event(), mxu_.next_event(), vpu_.next_event()}));
}

/// Nothing but MXUs and VPU moves before the cycle returned.
uint64_t FastCore::next_event() const {
  uint64_t next = std::min(dma_in_.next_event(cycle_ - 1), dma_out_.next_event(cycle_ - 1));
  if (in_reset()) next = std::min(next, reset_until_);
  if (working() && !stop_) next = std::min(next, watchdog_cycle());
  // A post is taken a cycle before a wait may see it.
  if (!remote_posts_.empty()) next = std::min(next, std::max(remote_posts_.front().cycle, cycle_ + 1) - 1);
  if (!acknowledgements_.empty()) next = cycle_;
  return next;
}

// ---------------------------------------------------------------- MXUs and VPU

/// One cycle of VMEM, MXUs and VPU; DMA asks for these banks.
void FastCore::clock_engines(fast::BankSet dma_read, fast::BankSet dma_write) {
  const bool mxu_rests = mxu_.rests_in(cycle_), vpu_rests = vpu_.empty();
  vmem_.begin(dma_read, dma_write);
  if (!mxu_rests) mxu_.request(vmem_);
  if (!vpu_rests) vpu_.request(vmem_);
  vmem_.end();
  if (mxu_rests)
    mxu_.skip(cycle_, cycle_ + 1);
  else
    mxu_.clock(cycle_);
  if (vpu_rests)
    vpu_.skip(cycle_, cycle_ + 1);
  else
    vpu_.clock(cycle_);
  if (mxu_.progressed() || vpu_.progressed()) last_progress_ = cycle_;
}

/// From here to `end` control and DMA are at rest. Stops where an engine has something to say.
void FastCore::run_engines(uint64_t end) {
  // An error that ECC cannot correct is raised in the cycle that finds it.
  if (!vmem_flips_.idle() || !mxu_.acc_idle()) {
    if (!mxu_.resting() || !vpu_.resting()) return;
  }
  const uint64_t from = cycle_;
  while (cycle_ < end) {
    const uint64_t next = std::min({end, mxu_.next_event(), vpu_.next_event()});
    if (next <= cycle_) break;
    if (mxu_.resting() && vpu_.resting()) {
      skip_engines(next);
      cycle_ = next;
    } else {
      clock_engines(0, 0);
      cycle_++;
    }
  }
  uncounted_ += cycle_ - from;
  if (fetch_.waits()) counters_[WEFT_COUNTER_PREFETCH_WAITS] += cycle_ - from;
}

void FastCore::skip_engines(uint64_t to) {
  mxu_.skip(cycle_, to);
  vpu_.skip(cycle_, to);
}

}  // namespace weft::core
