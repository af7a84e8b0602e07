/// The fast core in a slice: what other chips write and post here, what comes back of its own, barriers.
#include "model/golden/remote.hpp"

#include <algorithm>
#include <vector>

#include "model/core/fast/fast_core.hpp"
#include "model/core/remote/remote_receiver.hpp"

namespace weft::core {
std::optional<golden::Fault> FastCore::receive(const RemotePiece& piece, uint64_t& visible) {
  const uint32_t here = place().chip;
  if (in_reset() || reset_pending_) return golden::ici_fault(WEFT_ICI_CAUSE_RECEIVER_RESET, here, 0);
  const auto combine_vmem = [&](uint64_t first, std::span<const std::byte> data) {
    const uint8_t flags = piece.command.header.flags;
    if ((flags & (WEFT_COMMAND_FLAG_REDUCE_F32 | WEFT_COMMAND_FLAG_REDUCE_BF16)) == 0)
      return state_.write_vmem(first, data);
    std::vector<std::byte> there(data.size());
    state_.read_vmem(first, there);
    golden::combine(flags, there, data);
    state_.write_vmem(first, there);
  };
  return receive_piece(piece, {state_.chip(), state_.segments(), here, bus_, cycle_, combine_vmem}, visible);
}

/// What the core is shown stays first until it is taken.
void FastCore::receive_post(uint8_t semaphore, uint16_t count, uint64_t cycle) {
  const bool shown = !remote_posts_.empty() && remote_posts_.front().cycle <= cycle_ + 1;
  const auto later = std::find_if(remote_posts_.begin() + (shown ? 1 : 0), remote_posts_.end(),
                                  [&](const RemotePost& p) { return p.cycle > cycle; });
  remote_posts_.insert(later, {cycle, semaphore, count});
}

/// Posts to the semaphores in a cycle in which nothing retires; a wait sees it in the next one.
void FastCore::take_remote_post(bool retires) {
  if (retires || remote_posts_.empty() || remote_posts_.front().cycle > cycle_ + 1) return;
  spec::CommandHeader header;
  header.post_sem0 = remote_posts_.front().semaphore;
  header.post_count0 = remote_posts_.front().count;
  header.post_sem1 = WEFT_NO_SEMAPHORE;
  remote_posts_.pop_front();
  last_progress_ = cycle_;
  moved_ = true;
  if (in_reset()) return;
  if (const auto semaphore = semaphores_.post(header))
    raise(WEFT_UNIT_SYNC, 0, {WEFT_FAULT_SEMAPHORE_OVERFLOW, *semaphore}, FaultSource::kRemotePost);
}

void FastCore::send_remote(uint64_t number, unsigned unit, uint16_t tag) {
  on_their_way_.emplace_back(number, OnItsWay{unit, tag});  // numbers rise
  unacknowledged_++;
}

void FastCore::acknowledge(uint64_t number, const std::optional<golden::Fault>& fault) {
  const auto sent = std::ranges::lower_bound(on_their_way_, number, {}, &std::pair<uint64_t, OnItsWay>::first);
  if (sent == on_their_way_.end() || sent->first != number) return;
  acknowledgements_.push_back({sent->second, fault});
  on_their_way_.erase(sent);
}

void FastCore::take_acknowledgement() {
  const Acknowledgement& first = acknowledgements_.front();
  if (first.fault) raise(first.command.unit, first.command.tag, *first.fault, FaultSource::kAcknowledgement);
  acknowledgements_.pop_front();
  unacknowledged_--;
  last_progress_ = cycle_;
  moved_ = true;
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
    lanes_[WEFT_UNIT_SYNC].faulted = lanes_changed_ = true;
  } else {
    sync_.barrier = false;
  }
}

void FastCore::forget_remote() {
  on_their_way_.clear();
  acknowledgements_.clear();
  unacknowledged_ = 0;
  remote_posts_.clear();
  if (remote_ != nullptr) remote_->core_reset();
}

}  // namespace weft::core
