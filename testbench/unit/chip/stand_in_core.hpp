/// A tensor core of a few lines: each command takes as many cycles as its tag says, in order, whatever its queue.
#pragma once
#include <algorithm>
#include <deque>
#include <vector>

#include "model/core/tensor_core.hpp"

namespace weft::test {

/// INTERRUPT bit 1 is set when the last command retires; STATUS bit 0 is busy. A command whose opcode is COPY books a
/// read of 64 bytes of HBM when it starts. Keeps the cycles in which it was called, to see when the manager's actions
/// came.
class StandInCore final : public core::TensorCore {
 public:
  explicit StandInCore(core::MemoryBus& bus) : bus_(bus) {}

  uint64_t read_csr(uint32_t offset) override {
    accesses.push_back(cycle_);
    switch (offset) {
      case WEFT_CSR_STATUS:
        return busy() ? 1 : 0;
      case WEFT_CSR_CYCLE:
        return cycle_;
      case WEFT_CSR_INTERRUPT:
        return interrupt_;
      case WEFT_CSR_LAST_RETIRE_CYCLE:
        return last_retire_;
      case WEFT_CSR_COUNTER:
        return counter_snapshot_;
      default:
        return 0;
    }
  }
  void write_csr(uint32_t offset, uint64_t value) override {
    accesses.push_back(cycle_);
    writes_.push_back({offset, value});
  }
  bool push(unsigned, const spec::Command& command) override {
    pushes.push_back(cycle_);
    if (queue_.size() >= WEFT_CORE_QUEUE_DEPTH) return false;
    queue_.push_back(command);
    if (queue_.size() == 1) start();
    return true;
  }
  bool busy() const override { return !queue_.empty() || !writes_.empty(); }
  bool interrupt() const override { return interrupt_ != 0; }
  uint64_t cycle() const override { return cycle_; }

  uint64_t advance(uint64_t until) override {
    if (!run_to_interrupt(until)) cycle_ = std::max(cycle_, until);
    return cycle_;
  }
  uint64_t advance_while_busy(uint64_t until) override {
    (void)run_to_interrupt(until);
    return cycle_;
  }
  uint64_t quiet_until() const override {
    if (!busy()) return UINT64_MAX;
    return writes_.empty() ? std::max(cycle_, done_) : cycle_;
  }
  bool peek_vmem(uint64_t, std::span<std::byte>) const override { return false; }
  bool peek_acc(uint32_t, std::span<std::byte>) const override { return false; }
  void set_observer(core::CoreObserver* observer) override { observer_ = observer; }

  std::vector<uint64_t> accesses;
  std::vector<uint64_t> pushes;
  std::vector<uint64_t> advances;
  bool differs = false;

 private:
  struct Write {
    uint32_t offset;
    uint64_t value;
  };
  void start() {
    const auto header = spec::decode_header(queue_.front());
    done_ = cycle_ + std::max<uint64_t>(header.tag, 1);
    if (header.opcode == WEFT_OPCODE_COPY)
      done_ = std::max(done_, bus_.schedule_read(WEFT_ADDRESS_SPACE_HBM, 64, cycle_));
    if (observer_ != nullptr) observer_->command_started(WEFT_UNIT_SYNC, queue_.front(), cycle_);
  }
  /// True: to one, before `until`.
  bool run_to_interrupt(uint64_t until) {
    advances.push_back(until);
    while (cycle_ < until && busy()) {
      const bool was = interrupt();
      step(until);
      if (interrupt() && !was) return true;
    }
    return false;
  }
  void step(uint64_t until) {
    if (!writes_.empty()) {
      cycle_++;
      apply(writes_.front());
      writes_.pop_front();
    } else {
      cycle_ = std::min(done_, until);
    }
    if (queue_.empty() || cycle_ < done_) return;
    last_retire_ = cycle_;
    if (observer_ != nullptr) observer_->command_retired(WEFT_UNIT_SYNC, queue_.front(), cycle_);
    queue_.pop_front();
    retired_++;
    if (queue_.empty())
      interrupt_ |= 2;
    else
      start();
  }
  void apply(const Write& write) {
    if (write.offset == WEFT_CSR_INTERRUPT) interrupt_ &= ~write.value;
    if (write.offset == WEFT_CSR_COUNTER_SNAPSHOT) counter_snapshot_ = retired_;
    if (write.offset == WEFT_CSR_CONTROL && (write.value & 1) != 0) {
      queue_.clear();
      interrupt_ = 0;
    }
  }

  core::MemoryBus& bus_;
  uint64_t cycle_ = 0;
  uint64_t done_ = 0;
  uint64_t interrupt_ = 0;
  uint64_t last_retire_ = 0;
  uint64_t retired_ = 0;
  uint64_t counter_snapshot_ = 0;
  std::deque<spec::Command> queue_;
  std::deque<Write> writes_;
  core::CoreObserver* observer_ = nullptr;
};

}  // namespace weft::test
