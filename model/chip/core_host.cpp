// Running ahead, catching up, and the stop after a lockstep mismatch.
#include "model/chip/core_host.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weft::chip {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kFirstStrideCycles = 64;
constexpr uint64_t kMinStrideCycles = 8;
constexpr uint64_t kMaxStrideCycles = uint64_t{1} << 20;
constexpr std::chrono::microseconds kStrideTarget{100};
constexpr uint64_t kStatusFaultedStopped = WEFT_CSR_STATUS_FAULTED | WEFT_CSR_STATUS_STOPPED;
constexpr uint64_t kResetCycles = WEFT_CORE_CORE_RESET_CYCLES + 4;

}  // namespace

CoreHost::CoreHost(const TimeBase& time, std::unique_ptr<core::TensorCore> core, FindMismatch find_mismatch,
                   CoreHostEvents& events, CoreClock& clock)
    : time_(time),
      core_(std::move(core)),
      find_mismatch_(std::move(find_mismatch)),
      events_(events),
      clock_(clock),
      number_(clock.add(*this)),
      stride_cycles_(kFirstStrideCycles) {}

bool CoreHost::look(uint64_t now_cycle) {
  advance_to(now_cycle, now_cycle);
  if (core_->cycle() > now_cycle) {
    clock_.set_due(number_, core_->cycle());
    return false;
  }
  const bool busy = core_->busy();
  clock_.set_due(number_, busy ? now_cycle : kNever);
  return busy;
}

void CoreHost::run_ahead(uint64_t limit) {
  const uint64_t from = core_->cycle();
  if (limit <= from + kMinStrideCycles) {  // no time worth measuring
    core_->advance_while_busy(limit);
  } else {
    const auto begin = Clock::now();
    core_->advance_while_busy(std::min(limit, from + stride_cycles_));
    const auto taken = Clock::now() - begin;
    if (taken > 2 * kStrideTarget) stride_cycles_ = std::max(stride_cycles_ / 2, kMinStrideCycles);
    if (taken < kStrideTarget / 2 && core_->cycle() - from == stride_cycles_)
      stride_cycles_ = std::min(stride_cycles_ * 2, kMaxStrideCycles);
  }
  clock_.reached(core_->cycle());
  // What it has to say is told at its own cycle; so long it is quiet that it is brought to the end of it at once.
  const uint64_t quiet = core_->quiet_until();
  const bool tells =
      find_mismatch_ || quiet == kNever || (stopped_by_mismatch_ || core_->interrupt()) != interrupt_seen_;
  clock_.set_due(number_, tells ? core_->cycle() : std::max(core_->cycle(), quiet));
}

void CoreHost::advance_to(uint64_t cycle, uint64_t now_cycle) {
  while (core_->cycle() < cycle) {
    const uint64_t before = core_->cycle();
    core_->advance(cycle);
    if (core_->cycle() == before) break;
  }
  if (core_->cycle() <= now_cycle)
    look_at_core();
  else
    clock_.reached(core_->cycle());
}

void CoreHost::look_at_core() {
  if (find_mismatch_ && !mismatch_reported_) {
    const core::Mismatch mismatch = find_mismatch_(*core_);
    if (mismatch.differs) {
      mismatch_reported_ = stopped_by_mismatch_ = true;
      events_.core_mismatch(mismatch);
    }
  }
  const bool level = stopped_by_mismatch_ || core_->interrupt();
  if (level && !interrupt_seen_) events_.core_interrupt();
  interrupt_seen_ = level;
}

uint64_t CoreHost::read_csr(uint32_t offset) {
  catch_up();
  return peek_csr(offset);
}

uint64_t CoreHost::peek_csr(uint32_t offset) const {
  const uint64_t value = core_->read_csr(offset);
  if (!stopped_by_mismatch_) return value;
  if (offset == WEFT_CSR_STATUS) return value | kStatusFaultedStopped;
  if (offset == WEFT_CSR_INTERRUPT) return value | WEFT_CSR_INTERRUPT_FAULT;
  if (offset == WEFT_CSR_FAULT_CODE && (value & WEFT_CSR_FAULT_CODE_CODE) == 0) return kMismatchFault;
  return value;
}

void CoreHost::write_csr(uint32_t offset, uint64_t value) {
  catch_up();
  if (offset == WEFT_CSR_CONTROL && (value & WEFT_CSR_CONTROL_CORE_RESET) != 0) stopped_by_mismatch_ = false;
  core_->write_csr(offset, value);
  clock_.kick();
}

bool CoreHost::push(unsigned queue, const spec::Command& command) {
  catch_up();
  const bool taken = core_->push(queue, command);
  if (taken) clock_.kick();
  return taken;
}

bool CoreHost::interrupt() {
  catch_up();
  return core_->cycle() > now() ? interrupt_seen_ : stopped_by_mismatch_ || core_->interrupt();
}

void CoreHost::snapshot(std::array<uint64_t, WEFT_COUNTERS>& counters) {
  take_snapshot();
  advance_to(core_->cycle() + kSnapshotCycles);
  read_snapshot(counters);
  // The core is ahead by the snapshot's cycles. The host's next message must not find it so: what it starts would then
  // cost those cycles more or less, as the wall clock has it.
  if (sc_core::sc_get_status() == sc_core::SC_PAUSED) sc_core::sc_start(clock_.until_fs(time_.edge_fs(core_->cycle())));
}

void CoreHost::take_snapshot() {
  catch_up();
  core_->write_csr(WEFT_CSR_COUNTER_SNAPSHOT, 1);
  clock_.kick();
}

void CoreHost::read_snapshot(std::array<uint64_t, WEFT_COUNTERS>& counters) {
  catch_up();
  for (uint32_t i = 0; i < WEFT_COUNTERS; i++)
    counters[i] = core_->read_csr(WEFT_CSR_COUNTER + i * WEFT_CSR_COUNTER_STRIDE);
}

void CoreHost::reset() {
  catch_up();
  stopped_by_mismatch_ = false;
  core_->write_csr(WEFT_CSR_CONTROL, WEFT_CSR_CONTROL_CORE_RESET);
  advance_to(core_->cycle() + kResetCycles);
  clock_.kick();
}

}  // namespace weft::chip
