/// The queues of the fast core: waits, issue, retirement.
#include <algorithm>
#include <bit>

#include "model/core/core_units.hpp"
#include "model/core/fast/fast_core.hpp"
#include "model/golden/remote.hpp"

namespace weft::core {
namespace {

bool waits(const spec::CommandHeader& h) {
  return h.wait_sem0 != WEFT_NO_SEMAPHORE || h.wait_sem1 != WEFT_NO_SEMAPHORE;
}
bool has_bit(uint32_t mask, unsigned bit) { return (mask >> bit & 1) != 0; }
unsigned bit_of(uint32_t mask) { return static_cast<unsigned>(std::countr_zero(mask)); }

}  // namespace

/// Both counts of one queue's command are taken, if they are there; one queue a cycle.
void FastCore::grant_waits() {
  uint32_t ready = 0;
  if (semaphores_.changed() || waits_changed_) {
    for (uint32_t left = stop_ ? 0 : waiting_; left != 0; left &= left - 1)
      if (semaphores_.can_take(queues_[bit_of(left)].header)) ready |= left & (~left + 1);
    waits_changed_ = ready != 0;
  }
  waits_granted_ = wait_turn_.grant(ready);
  if (waits_granted_ == 0) return;
  semaphores_.take(queues_[bit_of(waits_granted_)].header);
  waiting_ &= ~waits_granted_;
}

/// One finished command posts and is counted; one a cycle in the whole core. True: one does.
bool FastCore::retire() {
  const uint32_t granted = retire_turn_.grant(now_.finished);
  if (granted == 0) return false;
  const auto unit = static_cast<unsigned>(std::countr_zero(granted));
  Lane& lane = lanes_[unit];
  const auto [command, marks] = lane.held.front();
  auto header = spec::decode_header(command);
  if (golden::is_remote(header)) header.post_sem1 = WEFT_NO_SEMAPHORE;  // the receiver's
  const bool posts = !marks.lost_post;
  lane.held.pop_front();
  lane.done--;
  lanes_changed_ = true;
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

/// One step of the queues whose state may change in this cycle.
void FastCore::issue() {
  const uint32_t visited = unsettled_ | waits_granted_ | (now_.active ^ active_before_);
  active_before_ = now_.active;
  for (uint32_t left = visited; left != 0; left &= left - 1) {
    const unsigned queue = bit_of(left);
    const IssueState before = queues_[queue].issue;
    const QueueState state = issue(queue);
    if (queues_[queue].state != state) {
      settle_queue_counts();
      queues_[queue].state = state;
    }
    const IssueState after = queues_[queue].issue;
    const bool head = has_bit(holding_, queue) && !stop_;
    const bool moves = after == IssueState::kIssue || (after == IssueState::kCheck && head);
    if (after == before && !moves)
      unsettled_ &= ~(1u << queue);
    else
      unsettled_ |= 1u << queue;
  }
}

/// Checks, waits, or hands over to a unit. Returns what the cycle counts as.
FastCore::QueueState FastCore::issue(unsigned queue) {
  Queue& q = queues_[queue];
  switch (q.issue) {
    case IssueState::kCheck:
      if (q.commands.empty()) return has_bit(now_.active, queue) ? QueueState::kBusy : QueueState::kEmpty;
      if (stop_) return QueueState::kBlocked;
      check(queue);
      moved_ = true;
      return QueueState::kBusy;
    case IssueState::kWait:
      if (!has_bit(waits_granted_, queue)) return QueueState::kWaiting;
      q.issue = IssueState::kIssue;
      moved_ = true;
      return QueueState::kBusy;
    case IssueState::kIssue:
      if (!stop_) take(queue);
      return has_bit(queues_taken_, queue) ? QueueState::kBusy : QueueState::kBlocked;
    case IssueState::kRefused:
      break;
  }
  return QueueState::kBlocked;
}

void FastCore::check(unsigned queue) {
  Queue& q = queues_[queue];
  const spec::Command& command = q.commands.front().command;
  q.header = spec::decode_header(command);
  const bool raised = injector_.raises(queue);
  injector_.checked(queue);
  if (raised) {
    raise(first_unit(queue), q.header.tag,
          {static_cast<weft_fault>(injector_.raise_place().code), injector_.raise_address()}, FaultSource::kHeader);
    q.issue = IssueState::kRefused;
  } else if (const auto fault = golden::check_header(command, queue, place())) {
    raise(first_unit(queue), q.header.tag, *fault, FaultSource::kHeader);
    q.issue = IssueState::kRefused;
  } else if (waits(q.header)) {
    q.issue = IssueState::kWait;
    waiting_ |= 1u << queue;
    waits_changed_ = true;
  } else {
    q.issue = IssueState::kIssue;
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
      const unsigned named = spec::decode_mxu(queues_[queue].commands.front().command).mxu;
      const unsigned mxu = named < mxu_.size() ? named : 0;
      return start_if(has_bit(now_.mxu_ready, mxu), unit_of_mxu(mxu));
    }
    case WEFT_QUEUE_VPU:
      return start_if(now_.vpu_ready, WEFT_UNIT_VPU);
    case WEFT_QUEUE_SYNC:
      return start_if(now_.sync_ready, WEFT_UNIT_SYNC);
  }
}

void FastCore::enqueue(unsigned queue, const spec::Command& command, fast::Fetched by) {
  Queue& q = queues_[queue];
  q.commands.push_back({command, by});
  holding_ |= 1u << queue;
  if (q.commands.full()) full_ |= 1u << queue;
  unsettled_ |= 1u << queue;
}

FastCore::Entry FastCore::dequeue(unsigned queue) {
  Queue& q = queues_[queue];
  const Entry head = q.commands.front();
  q.commands.pop_front();
  full_ &= ~(1u << queue);
  if (q.commands.empty()) holding_ &= ~(1u << queue);
  return head;
}

void FastCore::start(unsigned unit) {
  const unsigned queue = queue_of_unit(unit);
  const auto [command, by] = dequeue(queue);
  fetch_.taken(queue, by);
  queues_[queue].issue = IssueState::kCheck;
  queues_taken_ |= 1u << queue;
  const fast::Marks marks = injector_.start(queue);
  lanes_[unit].held.push_back({command, marks});
  lanes_changed_ = true;
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
  const bool pushes = !pending_.empty() && pending_.front().is_push;
  for (uint32_t left = queues_taken_; left != 0; left &= left - 1) {
    const unsigned queue = bit_of(left);
    const bool next = (pushes && pending_.front().queue == queue) || (fetched && fetched->queue == queue);
    if (!next && !fetch_.queue(queue).fed && queues_[queue].commands.size() <= queue_low_)
      interrupt_set_ |= WEFT_CSR_INTERRUPT_QUEUE_LOW;
  }
  if (pushes) {
    const Pending& push = pending_.front();
    enqueue(push.queue, push.command, fast::Fetched::kPushed);
    pending_pushes_[push.queue]--;
    fetch_.manager_pushed(push.queue);
    pending_.pop_front();
  } else if (fetched) {
    enqueue(fetched->queue, fetched->command, fetched->by);
  } else {
    return;
  }
  if (!first_accept_) first_accept_ = cycle_;
  last_progress_ = cycle_;
  moved_ = true;
}

// ---------------------------------------------------------------- counters of the queues

/// Counts the cycles since a queue changed its state.
void FastCore::settle_queue_counts() {
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
    counters_[queue * kQueueCounters + static_cast<size_t>(queues_[queue].state)] += uncounted_;
  uncounted_ = 0;
}

/// The states of cycles that are not stepped because nothing is to be done.
void FastCore::settle_queue_states() {
  settle_queue_counts();
  for (Queue& q : queues_) {
    if (q.issue == IssueState::kWait) {
      q.state = QueueState::kWaiting;
    } else {
      q.state = q.issue == IssueState::kCheck && q.commands.empty() ? QueueState::kEmpty : QueueState::kBlocked;
    }
  }
  unsettled_ = kAllQueues;
}

}  // namespace weft::core
