/// The registers of the fast core: spec/core_csr.toml.
#include <algorithm>
#include <cstring>

#include "model/core/command/segment_writes.hpp"
#include "model/core/fast/fast_core.hpp"

namespace weft::core {
namespace {

constexpr uint32_t kQueueBlock = WEFT_CSR_QUEUE_LEVEL_STRIDE * WEFT_CORE_QUEUES;
constexpr uint32_t kSemaphoreBlock = WEFT_CSR_SEMAPHORE_STRIDE * WEFT_SEMAPHORES;
constexpr uint32_t kSegmentBlock = WEFT_CSR_SEGMENT_BASE_STRIDE * WEFT_SEGMENTS;
constexpr uint32_t kCounterBlock = WEFT_CSR_COUNTER_STRIDE * WEFT_COUNTERS;

bool in_block(uint32_t offset, uint32_t base, uint32_t bytes) { return offset >= base && offset - base < bytes; }

}  // namespace

void FastCore::write_csr(uint32_t offset, uint64_t value) {
  if (offset == WEFT_CSR_CONTROL && (value & WEFT_CSR_CONTROL_CORE_RESET) != 0) reset_pending_ = true;
  if (in_block(offset, WEFT_CSR_PREFETCH_COUNT, kQueueBlock) && offset % 8 == 0)
    pending_fetches_[(offset - WEFT_CSR_PREFETCH_COUNT) / 8]++;
  pending_.push_back({false, 0, offset, value, {}});
}

uint64_t FastCore::read_csr(uint32_t offset) {
  if (offset % 8 != 0) return 0;
  const auto index = [&](uint32_t base) { return (offset - base) / 8; };
  if (in_block(offset, WEFT_CSR_QUEUE_LEVEL, kQueueBlock)) return queues_[index(WEFT_CSR_QUEUE_LEVEL)].commands.size();
  if (in_block(offset, WEFT_CSR_QUEUE_RETIRED, kQueueBlock)) return queues_[index(WEFT_CSR_QUEUE_RETIRED)].retired;
  if (in_block(offset, WEFT_CSR_QUEUE_HEAD_TAG, kQueueBlock)) {
    const Queue& q = queues_[index(WEFT_CSR_QUEUE_HEAD_TAG)];
    return q.commands.empty() ? 0 : WEFT_CSR_QUEUE_HEAD_TAG_VALID | spec::decode_header(q.commands.front().command).tag;
  }
  if (in_block(offset, WEFT_CSR_PREFETCH_BASE, kQueueBlock)) return fetch_.queue(index(WEFT_CSR_PREFETCH_BASE)).base();
  if (in_block(offset, WEFT_CSR_PREFETCH_COUNT, kQueueBlock))
    return fetch_.queue(index(WEFT_CSR_PREFETCH_COUNT)).left();
  if (in_block(offset, WEFT_CSR_SEMAPHORE, kSemaphoreBlock)) return semaphores_.value(index(WEFT_CSR_SEMAPHORE));
  if (in_block(offset, WEFT_CSR_SEGMENT_BASE, kSegmentBlock)) return read_segment(offset);
  if (in_block(offset, WEFT_CSR_COUNTER, kCounterBlock)) return snapshot_[index(WEFT_CSR_COUNTER)];
  if (offset == WEFT_CSR_INJECT_STATUS) return read_inject_status();
  if (fast::Injector::owns(offset)) return injector_.read(offset);
  return read_control(offset);
}

/// Flips are armed and made where the memories are; the status follows them.
uint64_t FastCore::read_inject_status() {
  if (injector_.armed(WEFT_INJECT_KIND_VMEM_FLIP) && !vmem_flips_.armed())
    injector_.flipped(WEFT_INJECT_KIND_VMEM_FLIP);
  if (injector_.armed(WEFT_INJECT_KIND_ACC_FLIP) && !mxu_.acc_armed()) injector_.flipped(WEFT_INJECT_KIND_ACC_FLIP);
  injector_.settle();
  return injector_.status();
}

void FastCore::write_inject(uint32_t offset, uint64_t value) {
  (void)read_inject_status();
  if (!injector_.write(offset, value)) return;
  const auto place = injector_.place();
  const fast::EccBits bits{injector_.data(), injector_.check()};
  switch (static_cast<weft_inject_kind>(value)) {
    case WEFT_INJECT_KIND_NONE:
      vmem_flips_.disarm();
      mxu_.disarm_acc();
      return;
    case WEFT_INJECT_KIND_VMEM_FLIP: {
      const uint64_t granule = injector_.address() / fast::kGranuleBytes;
      if (place.n != 0) return vmem_flips_.arm(granule, bits, place.n);
      vmem_flips_.disarm();
      state_.flip_vmem(injector_.address(), vmem_flips_.flip(granule, bits));
      return injector_.flipped(WEFT_INJECT_KIND_VMEM_FLIP);
    }
    case WEFT_INJECT_KIND_ACC_FLIP: {
      const uint32_t row = injector_.address() & 0xffff, column = injector_.address() >> 16 & 0xffff;
      const uint64_t element = uint64_t{row} * state_.chip().n + column;
      mxu_.disarm_acc();
      fast::AccFlips& acc = mxu_.acc_flips(element);
      if (place.n != 0) return acc.arm(element, bits, place.n);
      (void)acc.flip(element, bits);
      return injector_.flipped(WEFT_INJECT_KIND_ACC_FLIP);
    }
    default:
      return;
  }
}

uint64_t FastCore::read_control(uint32_t offset) const {
  switch (offset) {
    case WEFT_CSR_STATUS:
      return (working() ? WEFT_CSR_STATUS_BUSY : 0) | (fault_ ? WEFT_CSR_STATUS_FAULTED : 0) |
             (stop_ ? WEFT_CSR_STATUS_STOPPED : 0);
    case WEFT_CSR_CYCLE:
      return cycle_;
    case WEFT_CSR_INTERRUPT:
      return interrupt_;
    case WEFT_CSR_QUEUE_LOW:
      return queue_low_;
    case WEFT_CSR_WATCHDOG_LIMIT:
      return watchdog_limit_;
    case WEFT_CSR_FIRST_ACCEPT_CYCLE:
      return first_accept_.value_or(0);
    case WEFT_CSR_LAST_RETIRE_CYCLE:
      return last_retire_;
    case WEFT_CSR_FAULT_CODE:
      if (!fault_) return 0;
      return static_cast<uint64_t>(fault_->fault.code) |
             WEFT_TO_FIELD(WEFT_CSR_FAULT_CODE_UNIT, static_cast<uint64_t>(fault_->unit)) |
             WEFT_TO_FIELD(WEFT_CSR_FAULT_CODE_QUEUE, static_cast<uint64_t>(fault_->queue)) |
             WEFT_TO_FIELD(WEFT_CSR_FAULT_CODE_TAG, static_cast<uint64_t>(fault_->tag));
    case WEFT_CSR_FAULT_ADDRESS:
      return fault_ ? fault_->fault.address : 0;
    case WEFT_CSR_FAULT_CYCLE:
      return fault_ ? fault_->cycle : 0;
    case WEFT_CSR_FAULT_COUNT:
      return fault_count_;
    case WEFT_CSR_PREFETCH_STATUS:
      return fetch_.status();
    case WEFT_CSR_SEMAPHORE_NONZERO:
      return semaphores_.nonzero();
    default:
      return 0;
  }
}

void FastCore::apply_write(uint32_t offset, uint64_t value) {
  switch (offset) {
    case WEFT_CSR_CONTROL:
      reset_now_ = (value & WEFT_CSR_CONTROL_CORE_RESET) != 0;
      clear_fault_count_ = (value & WEFT_CSR_CONTROL_CLEAR_FAULT_COUNT) != 0;
      return;
    case WEFT_CSR_INTERRUPT:
      interrupt_clear_ = value;
      return;
    case WEFT_CSR_QUEUE_LOW:
      queue_low_ = value & 0x1f;
      return;
    case WEFT_CSR_WATCHDOG_LIMIT:
      watchdog_limit_ = value;
      return;
    case WEFT_CSR_FIRST_ACCEPT_CYCLE:
      first_accept_.reset();
      return;
    case WEFT_CSR_COUNTER_SNAPSHOT:
      return;  // of what was counted before this cycle: step() has taken it
    case WEFT_CSR_COUNTER_CLEAR:
      counters_.fill(0);
      uncounted_ = 0;
      state_.status() = {};
      clear_counters_ = true;
      return;
    default:
      break;
  }
  if (offset % 8 != 0) return;
  if (in_block(offset, WEFT_CSR_PREFETCH_BASE, kQueueBlock))
    fetch_.write_base((offset - WEFT_CSR_PREFETCH_BASE) / 8, value);
  if (in_block(offset, WEFT_CSR_PREFETCH_COUNT, kQueueBlock)) {
    const unsigned queue = (offset - WEFT_CSR_PREFETCH_COUNT) / 8;
    pending_fetches_[queue]--;
    fetch_.write_count(queue, value);
  }
  if (fast::Injector::owns(offset)) write_inject(offset, value);
  if (in_block(offset, WEFT_CSR_SEMAPHORE, kSemaphoreBlock))
    semaphores_.set((offset - WEFT_CSR_SEMAPHORE) / 8, static_cast<uint16_t>(value));
  write_segment(state_.segments(), offset, value);
}

uint64_t FastCore::read_segment(uint32_t offset) const {
  const uint32_t at = offset - WEFT_CSR_SEGMENT_BASE;
  const golden::Segment& segment = state_.segments()[at / WEFT_CSR_SEGMENT_BASE_STRIDE];
  switch (at % WEFT_CSR_SEGMENT_BASE_STRIDE) {
    case 0:
      return segment.base;
    case WEFT_CSR_SEGMENT_LIMIT - WEFT_CSR_SEGMENT_BASE:
      return segment.limit;
    case WEFT_CSR_SEGMENT_ATTRIBUTES - WEFT_CSR_SEGMENT_BASE:
      return static_cast<uint64_t>(segment.space) | (segment.readable ? WEFT_CSR_SEGMENT_ATTRIBUTES_READABLE : 0) |
             (segment.writable ? WEFT_CSR_SEGMENT_ATTRIBUTES_WRITABLE : 0);
    default:
      return 0;
  }
}

bool FastCore::snapshot_due() const {
  return !pending_.empty() && !pending_.front().is_push && pending_.front().offset == WEFT_CSR_COUNTER_SNAPSHOT;
}

/// Brings up to date what golden counts, and the states of the queues.
void FastCore::settle_counters() {
  settle_queue_counts();
  const golden::Status& status = state_.status();
  counters_[WEFT_COUNTER_MXU_MACS] = status.macs;
  counters_[WEFT_COUNTER_VPU_ROWS] = status.vpu_rows;
  counters_[WEFT_COUNTER_STATUS_NAN_RESULTS] = status.nan_results;
  counters_[WEFT_COUNTER_STATUS_INF_RESULTS] = status.inf_results;
  counters_[WEFT_COUNTER_STATUS_INT_OVERFLOW] = status.int_overflow ? 1 : 0;
}

/// Everything but VMEM, ACC, segments, counters and the registers that the manager sets.
void FastCore::core_reset() {
  forget_remote();
  fetch_.reset();
  dma_in_.reset();
  dma_out_.reset();
  indices_.reset();
  mxu_.reset(cycle_);
  mxu_order_.clear();
  vpu_.reset();
  vmem_.reset();
  sync_ = {};
  settle_queue_counts();
  for (Queue& q : queues_) q = {};
  for (Lane& lane : lanes_) lane = {};
  holding_ = full_ = waiting_ = active_before_ = 0;
  unsettled_ = kAllQueues;
  lanes_changed_ = true;
  semaphores_.reset();
  injector_.reset();
  vmem_flips_.disarm();
  mxu_.disarm_acc();
  wait_turn_.reset();
  retire_turn_.reset();
  reset_until_ = cycle_ + WEFT_CORE_CORE_RESET_CYCLES;
  reset_now_ = reset_pending_ = false;
  stop_ = worked_ = false;
  moved_ = true;
  interrupt_ = 0;
  first_accept_.reset();
  last_retire_ = 0;
  fault_.reset();
  fault_count_ = 0;
}

bool FastCore::peek_vmem(uint64_t byte_address, std::span<std::byte> out) const {
  const uint64_t size = state_.chip().vmem_bytes;
  if (byte_address > size || out.size() > size - byte_address) return false;
  state_.read_vmem(byte_address, out);
  return true;
}

bool FastCore::peek_acc(uint32_t row, std::span<std::byte> out) const {
  const uint64_t row_bytes = uint64_t{state_.chip().n} * sizeof(uint32_t);
  const uint64_t first = row * row_bytes, all = state_.acc_rows() * row_bytes;
  if (first > all || out.size() > all - first) return false;
  std::memcpy(out.data(), reinterpret_cast<const std::byte*>(state_.acc_row(0).data()) + first, out.size());
  // What a decoder shows: ACC's flips stand beside the data.
  for (size_t lane = 0; lane < out.size() / sizeof(uint32_t); lane++) {
    const uint64_t place = first / sizeof(uint32_t) + lane;
    const fast::AccFlips& flips = mxu_.acc_flips(place);
    if (flips.idle()) continue;
    const auto mask = static_cast<uint32_t>(flips.shown(place));
    for (size_t i = 0; i < sizeof mask; i++) out[lane * sizeof mask + i] ^= static_cast<std::byte>(mask >> (8 * i));
  }
  return true;
}

}  // namespace weft::core
