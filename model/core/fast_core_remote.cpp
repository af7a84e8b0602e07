/// The fast core in a slice: what other chips write and post here, what comes back of its own, barriers.
#include <algorithm>

#include "model/core/fast_core.hpp"
#include "model/core/remote_receiver.hpp"
#include "model/golden/remote.hpp"

namespace weft::core {
std::optional<golden::Fault> FastCore::receive(const RemotePiece& piece, uint64_t& visible) {
  const uint32_t here = place().chip;
  if (in_reset() || reset_pending_) return golden::ici_fault(WEFT_ICI_CAUSE_RECEIVER_RESET, here, 0);
  const auto combine_vmem = [&](uint64_t first, std::span<const std::byte> data) {
    golden::combine(piece.command.header.flags, state_.vmem().subspan(first, data.size()), data);
  };
  const auto fault =
      receive_piece(piece, {state_.chip(), state_.segments(), here, bus_, cycle_, combine_vmem}, visible);
  if (!fault) last_progress_ = cycle_;
  return fault;
}

void FastCore::receive_post(uint8_t semaphore, uint16_t count, uint64_t cycle) {
  const auto later = std::ranges::find_if(remote_posts_, [&](const RemotePost& p) { return p.cycle > cycle; });
  remote_posts_.insert(later, {std::max(cycle, cycle_), semaphore, count});
}

/// At the start of a cycle: a wait sees the post in this very cycle.
void FastCore::apply_remote_posts() {
  while (!remote_posts_.empty() && remote_posts_.front().cycle <= cycle_) {
    spec::CommandHeader header;
    header.post_sem0 = remote_posts_.front().semaphore;
    header.post_count0 = remote_posts_.front().count;
    header.post_sem1 = WEFT_NO_SEMAPHORE;
    remote_posts_.pop_front();
    if (const auto semaphore = semaphores_.post(header))
      raise(WEFT_UNIT_SYNC, 0, {WEFT_FAULT_SEMAPHORE_OVERFLOW, *semaphore});
    last_progress_ = cycle_;
    moved_ = true;
  }
}

void FastCore::acknowledge(uint64_t number, const std::optional<golden::Fault>& fault) {
  const auto sent = on_their_way_.find(number);
  if (sent == on_their_way_.end()) return;
  if (fault) raise(sent->second.unit, sent->second.tag, *fault);
  on_their_way_.erase(sent);
  last_progress_ = cycle_;
}

void FastCore::start_sync(const spec::Command& command) {
  const auto header = spec::decode_header(command);
  sync_ = {.active = true,
           .fence = header.opcode == WEFT_OPCODE_FENCE,
           .barrier = header.opcode == WEFT_OPCODE_BARRIER,
           .tag = header.tag};
  if (!sync_.barrier) return;
  if (const auto fault = golden::check_unit(command, WEFT_QUEUE_SYNC, state_.chip(), state_.segments(), place())) {
    sync_.refusal = fault;
    return;
  }
  remote_->enter_barrier(spec::decode_barrier(command), cycle_);
}

void FastCore::end_barrier(const std::optional<golden::Fault>& fault) {
  if (!sync_.barrier) return;
  last_progress_ = cycle_;
  if (fault) {
    raise(WEFT_UNIT_SYNC, sync_.tag, *fault);
    lanes_[WEFT_UNIT_SYNC].faulted = true;
  } else {
    sync_.barrier = false;
  }
}

void FastCore::forget_remote() {
  on_their_way_.clear();
  remote_posts_.clear();
  if (remote_ != nullptr) remote_->core_reset();
}

}  // namespace weft::core
