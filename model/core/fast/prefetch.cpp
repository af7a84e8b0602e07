/// The command prefetchers of the fast core.
#include "model/core/fast/prefetch.hpp"

#include <algorithm>
#include <bit>

#include "model/golden/check.hpp"
#include "model/golden/remote.hpp"

namespace weft::core::fast {
namespace {

/// One of the requests, in turn: the first of those whose turn comes, else the first.
uint32_t in_turn(uint32_t request, uint32_t after) {
  const uint32_t turn = (request & after) != 0 ? request & after : request;
  return turn & (~turn + 1);
}
/// Those above the one just served.
uint32_t after(uint32_t served) { return ~(served | (served - 1)); }

/// The fetch that a stage serves: the same as before until that has no more to do.
unsigned serve(unsigned before, uint32_t more_of_it, uint32_t more_of_other) {
  return more_of_it == 0 && more_of_other != 0 ? before ^ 1 : before;
}

uint8_t of_version(uint8_t segment, bool version1) {
  return version1 && segment != 0 ? segment | golden::kSegmentVersion1 : segment;  // VMEM has none
}

void put(uint32_t& mask, unsigned bit, bool value) { mask = (mask & ~(1u << bit)) | uint32_t{value} << bit; }

}  // namespace

void QueueFetch::settle() {
  ask_of = serve(ask_of, fetches[ask_of].to_ask, fetches[ask_of ^ 1].to_ask);
  answer_of = serve(answer_of, fetches[answer_of].to_answer, fetches[answer_of ^ 1].to_answer);
  push_of = serve(push_of, fetches[push_of].left, fetches[push_of ^ 1].left);
}

uint64_t QueueFetch::base() const {
  return fetches[serve(ask_of, fetches[ask_of].to_ask, fetches[ask_of ^ 1].to_ask)].base;
}

/// A register of the queue has changed.
void CommandFetch::settle(unsigned queue) {
  QueueFetch& fetch = queues_[queue];
  fetch.settle();
  put(now_.wants, queue, fetch.wants());
  put(now_.buffered, queue, !fetch.buffered.empty() && !fetch.dead);
  put(now_.active, queue, fetch.left() != 0);
  for (unsigned version = 0; version < 2; version++) put(now_.uses[version], queue, fetch.uses(version));
}

void CommandFetch::look(const Surroundings& now) {
  wants_ = now_.wants;
  buffered_ = now_.buffered;
  const uint32_t staged = stage_ ? 1u << stage_->first : 0;
  push_ready_ = !now.manager_pushes;
  ask_ = now.stop ? 0 : in_turn(wants_, ask_after_);
  const bool stage_free = !stage_ || push_ready_;
  read_ = now.stop || !stage_free ? 0 : in_turn(buffered_ & ~now.full & ~staged, read_after_);
  waits_ = !now.stop && (now_.active & now.empty & ~buffered_ & ~staged) != 0;
  moved_ = progressed_ = false;
  request_taken_ = dma_waits_ = port_ready_ = false;
  answer_.reset();
  write_.reset();
  pushed_queue_ = -1;
  wanted_ = wanted();
  used_ = wanted_ | recent_[0] | recent_[1] | recent_[2];
}

std::optional<CommandFetch::Delivery> CommandFetch::delivered() const {
  if (!push_ready_ || !stage_) return std::nullopt;
  const auto& [queue, command] = *stage_;
  const bool version1 = queues_[queue].push_of != 0;
  Delivery delivery{queue, version1 ? Fetched::kVersion1 : Fetched::kVersion0, command};
  if (queue == WEFT_QUEUE_DMA_IN || queue == WEFT_QUEUE_DMA_OUT) {
    auto dma = spec::decode_dma(command);
    dma.src_seg = of_version(dma.src_seg, version1);
    // The destination of a remote COPY is the receiver's segment, which has its own versions.
    dma.dst_seg = of_version(dma.dst_seg, version1 && !golden::is_remote(dma.header));
    delivery.command = encode(dma);
  }
  return delivery;
}

void CommandFetch::taken(unsigned queue, Fetched by) {
  if (by == Fetched::kPushed) return;
  queues_[queue].fetches[static_cast<size_t>(by)].inside--;
  settle(queue);
}

bool CommandFetch::chosen(bool dma_waits) const {
  if (held_) return held_fetch_;
  return request_.valid && (!dma_waits || passed_ == WEFT_CORE_PREFETCH_SHARE - 1);
}

void CommandFetch::port(bool dma_waits, bool taken) {
  dma_waits_ = dma_waits;
  port_ready_ = taken;
  request_taken_ = taken && chosen(dma_waits);
}

void CommandFetch::answer(const spec::Command& command, bool error) {
  const unsigned queue = order_.front();
  answer_.emplace(queue, error ? std::nullopt : std::optional(command));
}

void CommandFetch::write_base(unsigned queue, uint64_t value) { write_ = Write{false, queue, value}; }
void CommandFetch::write_count(unsigned queue, uint64_t value) { write_ = Write{true, queue, value}; }

/// The edge. What is written here was looked at before: order matters only where a register has two sources.
void CommandFetch::clock(Counters& counters) {
  if (waits_) counters[WEFT_COUNTER_PREFETCH_WAITS]++;
  // a write is judged by what the queue does in this cycle
  const size_t version = !write_ ? 0 : write_->count ? write_->value >> 32 & 1 : write_->value & 1;
  const bool wrong =
      write_ && (queues_[write_->queue].fetches[version].left != 0 || (write_->count && write_->value >> 33 != 0));
  // versions of the segments
  if (used_before_ != wanted_ || used_ != wanted_ || recent_ != std::array{wanted_, wanted_, wanted_}) moved_ = true;
  recent_ = {wanted_, recent_[0], recent_[1]};
  used_before_ = used_;
  uint32_t changed = 0;  // queues
  // the port
  const bool fetch_goes = chosen(dma_waits_);
  if (request_.valid && !fetch_goes) counters[WEFT_COUNTER_PREFETCH_CONFLICTS]++;
  held_ = (request_.valid || dma_waits_) && !port_ready_;
  held_fetch_ = fetch_goes;
  if (!request_.valid || request_taken_) {
    passed_ = 0;
  } else if (dma_waits_ && port_ready_) {
    passed_++;
  }
  if (request_.valid) moved_ = true;  // so has DMA, if it waits
  if (request_taken_) progressed_ = true;
  // answers
  fault_.reset();
  if (answer_) {
    QueueFetch& fetch = queues_[answer_->first];
    QueueFetch::Fetch& answered = fetch.fetches[fetch.answer_of];
    if (!fetch.dead && answer_->second) fetch.buffered.push_back(*answer_->second);
    if (!fetch.dead && !answer_->second) {
      fault_.emplace(answer_->first, answered.answer);
      fetch.dead = true;
    }
    answered.answer += WEFT_COMMAND_BYTES;
    answered.to_answer--;
    changed |= 1u << answer_->first;
    order_.pop_front();
    moved_ = progressed_ = true;
  }
  // asking
  if (!request_.valid || request_taken_) {
    request_.valid = ask_ != 0;
    if (ask_ != 0) {
      const auto q = static_cast<unsigned>(std::countr_zero(ask_));
      QueueFetch::Fetch& asked = queues_[q].fetches[queues_[q].ask_of];
      request_.address = asked.base;
      asked.base += WEFT_COMMAND_BYTES;
      asked.to_ask--;
      queues_[q].taken++;
      order_.push_back(q);
      ask_after_ = after(ask_);
      changed |= ask_;
      moved_ = true;
    }
  }
  if (wants_ == 0) ask_after_ = 0;
  // towards the queues
  if (stage_ && push_ready_) {
    QueueFetch& fetch = queues_[stage_->first];
    fetch.fetches[fetch.push_of].left--;
    fetch.fetches[fetch.push_of].inside++;
    counters[WEFT_COUNTER_PREFETCH_COMMANDS]++;
    changed |= 1u << stage_->first;
    stage_.reset();
    moved_ = true;
  }
  if (read_ != 0) {
    const auto q = static_cast<unsigned>(std::countr_zero(read_));
    stage_.emplace(q, queues_[q].buffered.front());
    queues_[q].buffered.pop_front();
    queues_[q].taken--;
    read_after_ = after(read_);
    changed |= read_;
    moved_ = true;
  } else if (buffered_ == 0) {
    read_after_ = 0;
  }
  // the manager
  if (pushed_queue_ >= 0) queues_[static_cast<unsigned>(pushed_queue_)].fed = false;
  if (write_) {
    write(wrong, version);
    changed |= 1u << write_->queue;
  }
  for (; changed != 0; changed &= changed - 1) settle(static_cast<unsigned>(std::countr_zero(changed)));
}

/// A register, at the edge; `wrong`: its queue refuses it.
void CommandFetch::write(bool wrong, size_t version) {
  QueueFetch& fetch = queues_[write_->queue];
  moved_ = true;
  if (wrong) {
    fetch.refused = true;
  } else if (!write_->count) {
    fetch.fetches[version].base = write_->value & ~uint64_t{WEFT_COMMAND_BYTES - 1};
  } else {
    QueueFetch::Fetch& started = fetch.fetches[version];
    started.answer = started.base;
    started.to_ask = started.to_answer = started.left = static_cast<uint32_t>(write_->value);
    if (started.left != 0) fetch.fed = true;
  }
}

uint64_t CommandFetch::status() const {
  uint64_t status =
      WEFT_TO_FIELD(WEFT_CSR_PREFETCH_STATUS_VERSIONS_USED, uint64_t{wanted() | recent_[0] | recent_[1] | recent_[2]});
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
    status |= (queues_[q].left() != 0 ? WEFT_TO_FIELD(WEFT_CSR_PREFETCH_STATUS_FETCHING, uint64_t{1} << q) : 0) |
              (queues_[q].dead ? WEFT_TO_FIELD(WEFT_CSR_PREFETCH_STATUS_FAULTED, uint64_t{1} << q) : 0) |
              (queues_[q].refused ? WEFT_TO_FIELD(WEFT_CSR_PREFETCH_STATUS_REFUSED, uint64_t{1} << q) : 0);
  return status;
}

}  // namespace weft::core::fast
