/// The control of the fast core: one cycle of the RTL's control at a time, and jumps over cycles in which nothing
/// moves.
#include "model/core/fast/fast_core.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "model/core/core_units.hpp"
#include "model/golden/remote.hpp"

namespace weft::core {
namespace {

constexpr uint64_t kIrqFault = 1, kIrqIdle = 2, kIrqLow = 4, kIrqVersion = 8;

/// The first unit of a queue: whom a fault of its header names.
constexpr std::array<unsigned, WEFT_CORE_QUEUES> kUnitOfQueue{WEFT_UNIT_DMA0, WEFT_UNIT_MXU, WEFT_UNIT_VPU,
                                                              WEFT_UNIT_DMA2, WEFT_UNIT_SYNC};

bool waits(const spec::CommandHeader& h) {
  return h.wait_sem0 != WEFT_NO_SEMAPHORE || h.wait_sem1 != WEFT_NO_SEMAPHORE;
}
bool has_bit(uint32_t mask, unsigned bit) { return (mask >> bit & 1) != 0; }

}  // namespace

FastCore::FastCore(const spec::Chip& chip, MemoryBus& bus, const FastTiming& timing, RemotePort* remote)
    : timing_(timing),
      bus_(bus),
      remote_(remote),
      state_(chip),
      injector_(state_.chip()),
      mxu_(state_, timing_, counters_, vmem_flips_),
      vpu_(state_, timing_, counters_, vmem_flips_, mxu_),
      vmem_(state_.chip().vmem_banks, timing_.vmem_starve_limit),
      dma_in_(state_, bus, vmem_, timing_, counters_, vmem_flips_, WEFT_QUEUE_DMA_IN, nullptr, &fetch_),
      dma_out_(state_, bus, vmem_, timing_, counters_, vmem_flips_, WEFT_QUEUE_DMA_OUT, remote) {
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

// ---------------------------------------------------------------- time

uint64_t FastCore::advance(uint64_t until) {
  while (cycle_ < until) {
    if (!busy()) {
      settle_queue_states();
      count_queues(until - cycle_);
      skip_engines(until);
      cycle_ = until;
      break;
    }
    const bool before = interrupt();
    step();
    if (!before && interrupt()) break;
    if (!moved_ && cycle_ < until) run_engines(std::clamp(next_event(), cycle_, until));
  }
  return cycle_;
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
    for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++) issue(queue);
  } else {
    take_remote_post(false);
    skip_engines(cycle_ + 1);
  }
  watch();
  apply_pending();
  if (!in_reset()) clock_fetch();
  capture_faults();
  if (!clear_counters_) count_queues(1);
  clear_counters_ = false;

  if (worked_ && !now_.any_working) interrupt_set_ |= kIrqIdle;
  if (worked_ != now_.any_working) moved_ = true;
  worked_ = now_.any_working;
  interrupt_ = (interrupt_ & ~interrupt_clear_) | interrupt_set_;
  cycle_++;
  if (reset_now_) core_reset();
}

void FastCore::look() {
  now_ = {};
  for (uint32_t left = units_; left != 0; left &= left - 1) {
    const auto unit = static_cast<unsigned>(std::countr_zero(left));
    const Lane& lane = lanes_[unit];
    const size_t depth = unit < WEFT_CORE_DMA_CHANNELS ? timing_.dma_held : timing_.lane_depth;
    if (unit_working(unit)) now_.working |= 1u << unit, now_.active |= 1u << queue_of_unit(unit);
    now_.finished |= lane.done != 0 && !out_of_turn(unit) ? 1u << unit : 0;
    now_.full |= lane.held.size() >= depth ? 1u << unit : 0;
  }
  now_.any_working = now_.working != 0 || control_works();
  now_.hangs = !stop_ && cycle_ >= watchdog_cycle();
  now_.vpu_ready = vpu_.ready();
  for (unsigned u = 0; u < mxu_.size(); u++) now_.mxu_ready |= mxu_.ready(u) ? 1u << u : 0;
  now_.sync_ready = !sync_.active;
  look_at_fetch();
}

void FastCore::look_at_fetch() {
  fast::CommandFetch::Surroundings now;
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++) {
    if (queues_[queue].commands.empty()) now.empty |= 1u << queue;
    if (queues_[queue].commands.size() == WEFT_CORE_QUEUE_DEPTH) now.full |= 1u << queue;
  }
  now.stop = stop_;
  // A register write goes beside the push that follows it.
  const size_t push = !pending_.empty() && !pending_.front().is_push ? 1 : 0;
  now.manager_pushes = pending_.size() > push && pending_[push].is_push;
  fetch_.look(now);
  if (const auto fault = fetch_.fault()) {
    raised_.push_back({{WEFT_FAULT_COMMAND_FETCH, fault->second},
                       kUnitOfQueue[fault->first],
                       fault->first,
                       0,
                       cycle_,
                       FaultSource::kFetch});
  }
}

void FastCore::clock_fetch() {
  if (fetch_.version_freed()) interrupt_set_ |= kIrqVersion;
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

// ---------------------------------------------------------------- semaphores and retirement

/// Both counts of one queue's command are taken, if they are there; one queue a cycle.
void FastCore::grant_waits() {
  uint32_t ready = 0;
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES && !stop_; queue++) {
    const Queue& q = queues_[queue];
    if (q.issue == IssueState::kWait && semaphores_.can_take(spec::decode_header(q.commands.front())))
      ready |= 1u << queue;
  }
  waits_granted_ = wait_turn_.grant(ready);
  if (waits_granted_ != 0)
    semaphores_.take(
        spec::decode_header(queues_[static_cast<size_t>(std::countr_zero(waits_granted_))].commands.front()));
}

/// One finished command posts and is counted; one a cycle in the whole core. True: one does.
bool FastCore::retire() {
  const uint32_t granted = retire_turn_.grant(now_.finished);
  if (granted == 0) return false;
  const auto unit = static_cast<unsigned>(std::countr_zero(granted));
  Lane& lane = lanes_[unit];
  const spec::Command command = lane.held.front();
  auto header = spec::decode_header(command);
  if (golden::is_remote(header)) header.post_sem1 = WEFT_NO_SEMAPHORE;  // the receiver's
  const bool posts = !lane.marks.front().lost_post;
  lane.held.pop_front();
  lane.marks.pop_front();
  lane.done--;
  if (is_mxu(unit)) mxu_order_.pop_front();
  moved_ = true;
  if (const auto semaphore = posts ? semaphores_.post(header) : std::nullopt) {
    raise(unit, header.tag, {WEFT_FAULT_SEMAPHORE_OVERFLOW, *semaphore}, FaultSource::kRetirement);
    return true;
  }
  const unsigned queue = queue_of_unit(unit);
  queues_[queue].retired++;
  counters_[queue * kQueueCounters + kQueueStates]++;
  last_retire_ = cycle_;
  last_progress_ = cycle_;
  if (observer_ != nullptr) observer_->command_retired(static_cast<weft_unit_index>(unit), command, cycle_);
  return true;
}

// ---------------------------------------------------------------- units

/// A unit reports its oldest command done; fault injection may lose that.
void FastCore::Lane::finish() {
  fast::Marks& ending = marks[done];
  stuck = stuck || ending.not_done;
  if (stuck) return;
  if (!ending.lost_done) done++;
  ending.lost_done = false;
}

/// One cycle of VMEM, MXUs and VPU; DMA asks for these banks.
void FastCore::clock_engines(fast::BankSet dma_read, fast::BankSet dma_write) {
  vmem_.begin(dma_read, dma_write);
  mxu_.request(vmem_);
  vpu_.request(vmem_);
  vmem_.end();
  mxu_.clock(cycle_);
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
  count_queues(cycle_ - from);
  if (fetch_.waits()) counters_[WEFT_COUNTER_PREFETCH_WAITS] += cycle_ - from;
}

void FastCore::skip_engines(uint64_t to) {
  mxu_.skip(cycle_, to);
  vpu_.skip(cycle_, to);
}

void FastCore::step_units() {
  const auto note = [&](unsigned unit, const fast::UnitOutcome& out) {
    if (out.done) lanes_[unit].finish();
    if (out.fault.valid) {
      raise(unit, out.fault.tag, out.fault.fault);
      lanes_[unit].faulted = true;
    }
    if (out.done || out.fault.valid) moved_ = true;
  };
  dma_in_.look(cycle_);
  dma_out_.look(cycle_);
  clock_engines(dma_out_.vmem_banks(), dma_in_.vmem_banks());
  const auto in = dma_in_.step(cycle_);
  const auto out = dma_out_.step(cycle_);
  note(WEFT_UNIT_DMA0, in[0]);
  note(WEFT_UNIT_DMA1, in[1]);
  note(WEFT_UNIT_DMA2, out[0]);
  note(WEFT_UNIT_DMA3, out[1]);
  for (unsigned u = 0; u < mxu_.size(); u++) note(unit_of_mxu(u), mxu_.outcome(u, cycle_));
  note(WEFT_UNIT_VPU, vpu_.outcome(cycle_));
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

bool FastCore::units_work() const {
  for (uint32_t left = units_; left != 0; left &= left - 1)
    if (unit_working(static_cast<unsigned>(std::countr_zero(left)))) return true;
  return false;
}

bool FastCore::queues_hold() const {
  return std::ranges::any_of(queues_, [](const Queue& q) { return !q.commands.empty(); });
}

bool FastCore::control_works() const { return unacknowledged_ != 0 || fetch_.active() || queues_hold(); }
bool FastCore::working() const { return control_works() || units_work(); }

/// Asked in each cycle: what is told by a look at a register comes first.
bool FastCore::busy() const {
  if (in_reset() || !pending_.empty() || !remote_posts_.empty() || unacknowledged_ != 0 || fetch_.moving()) return true;
  if (!stop_ && (fetch_.active() || queues_hold())) return true;
  return units_work() || worked_ != control_works();
}

// ---------------------------------------------------------------- issue

/// One step of one queue: check, wait, or hand over to a unit.
void FastCore::issue(unsigned queue) {
  Queue& q = queues_[queue];
  switch (q.issue) {
    case IssueState::kCheck: {
      const bool head = !q.commands.empty();
      q.state = head ? (stop_ ? QueueState::kBlocked : QueueState::kBusy)
                     : (has_bit(now_.active, queue) ? QueueState::kBusy : QueueState::kEmpty);
      if (!head || stop_) return;
      const auto header = spec::decode_header(q.commands.front());
      const bool raised = injector_.raises(queue);
      injector_.checked(queue);
      if (raised) {
        raise(kUnitOfQueue[queue], header.tag,
              {static_cast<weft_fault>(injector_.raise_place().code), injector_.raise_address()}, FaultSource::kHeader);
        q.issue = IssueState::kRefused;
      } else if (const auto fault = golden::check_header(q.commands.front(), queue, place())) {
        raise(kUnitOfQueue[queue], header.tag, *fault, FaultSource::kHeader);
        q.issue = IssueState::kRefused;
      } else {
        q.issue = waits(header) ? IssueState::kWait : IssueState::kIssue;
      }
      moved_ = true;
      return;
    }
    case IssueState::kWait:
      q.state = has_bit(waits_granted_, queue) ? QueueState::kBusy : QueueState::kWaiting;
      if (!has_bit(waits_granted_, queue)) return;
      q.issue = IssueState::kIssue;
      moved_ = true;
      return;
    case IssueState::kIssue:
      if (!stop_) take(queue);
      q.state = has_bit(queues_taken_, queue) ? QueueState::kBusy : QueueState::kBlocked;
      return;
    case IssueState::kRefused:
      q.state = QueueState::kBlocked;
      return;
  }
}

/// Hands the head of `queue` to a unit that has room for it and for its posts.
void FastCore::take(unsigned queue) {
  if (injector_.holds(queue)) return;
  const auto start_if = [&](bool ready, unsigned unit) {
    if (ready && !has_bit(now_.full, unit)) start(unit);
  };
  switch (static_cast<weft_queue_index>(queue)) {
    case WEFT_QUEUE_DMA_IN:
      return start_if(dma_in_.ready() >= 0, WEFT_UNIT_DMA0 + static_cast<unsigned>(std::max(dma_in_.ready(), 0)));
    case WEFT_QUEUE_DMA_OUT:
      return start_if(dma_out_.ready() >= 0, WEFT_UNIT_DMA2 + static_cast<unsigned>(std::max(dma_out_.ready(), 0)));
    case WEFT_QUEUE_MXU: {
      // the first one refuses a name that does not exist
      const unsigned named = spec::decode_mxu(queues_[queue].commands.front()).mxu;
      const unsigned mxu = named < mxu_.size() ? named : 0;
      return start_if(has_bit(now_.mxu_ready, mxu), unit_of_mxu(mxu));
    }
    case WEFT_QUEUE_VPU:
      return start_if(now_.vpu_ready, WEFT_UNIT_VPU);
    case WEFT_QUEUE_SYNC:
      return start_if(now_.sync_ready, WEFT_UNIT_SYNC);
  }
}

void FastCore::start(unsigned unit) {
  Queue& q = queues_[queue_of_unit(unit)];
  const auto [command, by] = q.pop();
  fetch_.taken(queue_of_unit(unit), by);
  q.issue = IssueState::kCheck;
  queues_taken_ |= 1u << queue_of_unit(unit);
  const fast::Marks marks = injector_.start(queue_of_unit(unit));
  lanes_[unit].held.push_back(command);
  lanes_[unit].marks.push_back(marks);
  moved_ = true;
  last_progress_ = cycle_;
  switch (static_cast<weft_unit_index>(unit)) {
    case WEFT_UNIT_DMA0:
    case WEFT_UNIT_DMA1:
      dma_in_.take(unit - WEFT_UNIT_DMA0, command, cycle_, marks.fail_beat);
      break;
    case WEFT_UNIT_DMA2:
    case WEFT_UNIT_DMA3:
      if (const uint64_t number = dma_out_.take(unit - WEFT_UNIT_DMA2, command, cycle_, marks.fail_beat); number != 0)
        send_remote(number, unit, spec::decode_header(command).tag);
      break;
    case WEFT_UNIT_MXU:
    case WEFT_UNIT_MXU1:
    case WEFT_UNIT_MXU2:
    case WEFT_UNIT_MXU3:
      mxu_order_.push_back(unit);
      mxu_.take(mxu_of_unit(unit), command, cycle_);
      break;
    case WEFT_UNIT_VPU:
      vpu_.take(command, cycle_);
      break;
    case WEFT_UNIT_SYNC:
      start_sync(command);
      break;
  }
  if (observer_ != nullptr) observer_->command_started(static_cast<weft_unit_index>(unit), command, cycle_);
}

/// The manager's next register write and the push behind it: they take effect in the next cycle.
void FastCore::apply_pending() {
  if (!pending_.empty() && !pending_.front().is_push) {
    apply_write(pending_.front().offset, pending_.front().value);
    pending_.pop_front();
    moved_ = true;
  }
  const auto fetched = in_reset() ? std::nullopt : fetch_.delivered();
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++) {
    const bool next = (!pending_.empty() && pending_.front().is_push && pending_.front().queue == queue) ||
                      (fetched && fetched->queue == queue);
    if (has_bit(queues_taken_, queue) && !next && !fetch_.queue(queue).fed &&
        queues_[queue].commands.size() <= queue_low_)
      interrupt_set_ |= kIrqLow;
  }
  if (!pending_.empty() && pending_.front().is_push) {
    const Pending& push = pending_.front();
    queues_[push.queue].push(push.command, fast::Fetched::kPushed);
    pending_pushes_[push.queue]--;
    fetch_.manager_pushed(push.queue);
    pending_.pop_front();
  } else if (fetched) {
    queues_[fetched->queue].push(fetched->command, fetched->by);
  } else {
    return;
  }
  if (!first_accept_) first_accept_ = cycle_;
  last_progress_ = cycle_;
  moved_ = true;
}

// ---------------------------------------------------------------- faults

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
  for (unsigned unit = 0; unit < WEFT_CORE_UNITS; unit++)
    if (!lanes_[unit].held.empty())
      return raise(unit, spec::decode_header(lanes_[unit].held.front()).tag, {WEFT_FAULT_WATCHDOG, 0},
                   FaultSource::kWatchdog);
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
    if (!queues_[queue].commands.empty())
      return raise(kUnitOfQueue[queue], spec::decode_header(queues_[queue].commands.front()).tag,
                   {WEFT_FAULT_WATCHDOG, 0}, FaultSource::kWatchdog);
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
    if (fetch_.active(queue)) return raise(kUnitOfQueue[queue], 0, {WEFT_FAULT_WATCHDOG, 0}, FaultSource::kWatchdog);
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
  interrupt_set_ |= kIrqFault;
  moved_ = true;
}

// ---------------------------------------------------------------- counters of the queues

void FastCore::count_queues(uint64_t cycles) {
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
    counters_[queue * kQueueCounters + static_cast<size_t>(queues_[queue].state)] += cycles;
}

/// The states of cycles that are not stepped because nothing is to be done.
void FastCore::settle_queue_states() {
  for (Queue& q : queues_) {
    if (q.issue == IssueState::kWait) {
      q.state = QueueState::kWaiting;
    } else {
      q.state = q.issue == IssueState::kCheck && q.commands.empty() ? QueueState::kEmpty : QueueState::kBlocked;
    }
  }
}

}  // namespace weft::core
