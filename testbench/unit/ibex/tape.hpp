/// What passes between Ibex and its bus, kept and fed to the instruction-set simulator.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "firmware/bare/registers.hpp"
#include "model/rv32/hart.hpp"

namespace weft::ibex::test {

/// A load with its value, or a store; what a DMA has brought into SRAM before the load of its status was answered.
struct Access {
  bool store = false;
  uint32_t address = 0, value = 0;
  unsigned bytes = 0;
  bool answered = false;
  uint32_t filled_offset = 0;
  std::vector<std::byte> filled;
};

/// Passes accesses on to a bus, and keeps them.
class Recorder final : public rv32::Bus {
 public:
  explicit Recorder(rv32::Bus& bus) : bus_(bus) {}
  void watch(rv32::Processor& processor) { processor_ = &processor; }

  bool load(uint32_t address, unsigned bytes, uint32_t& value) override {
    const bool answered = bus_.load(address, bytes, value);
    Access access{.store = false, .address = address, .value = value, .bytes = bytes, .answered = answered};
    constexpr uint32_t kDone = 1;
    const bool writes_memory = (dma_control_ >> 18 & 1) == 0;
    if (answered && address == fw::bare::kManager + fw::bare::kDmaStatus && value == kDone && writes_memory) {
      access.filled_offset = dma_sram_ - static_cast<uint32_t>(fw::bare::kSramBase);
      const auto filled = processor_->sram().subspan(access.filled_offset, dma_control_ & 0xffff);
      access.filled.assign(filled.begin(), filled.end());
    }
    tape.push_back(std::move(access));
    return answered;
  }
  bool store(uint32_t address, unsigned bytes, uint32_t value) override {
    const bool answered = bus_.store(address, bytes, value);
    if (address == fw::bare::kManager + fw::bare::kDmaSram) dma_sram_ = value;
    if (address == fw::bare::kManager + fw::bare::kDmaControl) dma_control_ = value;
    tape.push_back({.store = true, .address = address, .value = value, .bytes = bytes, .answered = answered});
    return answered;
  }
  void exception(rv32::Cause cause, uint32_t value) override { bus_.exception(cause, value); }

  std::vector<Access> tape;

 private:
  rv32::Bus& bus_;
  rv32::Processor* processor_ = nullptr;
  uint32_t dma_sram_ = 0, dma_control_ = 0;
};

/// Answers a simulator with what a tape holds, and compares what it does.
class Player final : public rv32::Bus {
 public:
  explicit Player(std::vector<Access> tape) : tape_(std::move(tape)) {}

  /// Runs the hart over the whole tape, and then until it sleeps. The first difference; empty: none.
  std::string play(rv32::Hart& hart) {
    hart_ = &hart;
    constexpr uint64_t kStride = 10'000, kSilence = 1000 * kStride;  // cycles without an access
    for (uint64_t last = hart.cycles(), at = 0; difference_.empty() && hart.cycles() - last < kSilence;) {
      const rv32::Stop stop = hart.run(hart.cycles() + kStride);
      if (at != next_) last = hart.cycles();
      at = next_;
      if (stop == rv32::Stop::kLockedUp) return "the simulator has locked up";
      if (stop != rv32::Stop::kWaiting) continue;
      if (next_ == tape_.size()) return difference_;
      hart.set_external_interrupt(true);
      wakes++;
    }
    if (difference_.empty()) difference_ = fmt::format("no access {}: the simulator runs without one", next_);
    return difference_;
  }

  bool load(uint32_t address, unsigned bytes, uint32_t& value) override {
    const Access* access = next(false, address, bytes);
    if (access == nullptr) return false;
    value = access->value;
    std::ranges::copy(access->filled, hart_->sram().begin() + access->filled_offset);
    if (address == fw::bare::kManager + fw::bare::kEvent) hart_->set_external_interrupt(false);
    return access->answered;
  }
  bool store(uint32_t address, unsigned bytes, uint32_t value) override {
    const Access* access = next(true, address, bytes);
    if (access == nullptr) return false;
    if (access->value != value)
      difference_ =
          fmt::format("access {} stores {:#x} to {:#x}, the simulator {:#x}", next_ - 1, access->value, address, value);
    return access->answered;
  }
  void exception(rv32::Cause cause, uint32_t value) override {
    if (difference_.empty())
      difference_ = fmt::format("{} ({:#x}) at {:#x}", rv32::cause_name(cause), value, hart_->pc());
  }

  uint64_t wakes = 0;

 private:
  const Access* next(bool store, uint32_t address, unsigned bytes) {
    if (!difference_.empty()) return nullptr;
    if (next_ == tape_.size()) {
      difference_ = fmt::format("the simulator goes on to {:#x}", address);
      return nullptr;
    }
    const Access& access = tape_[next_++];
    if (access.store == store && access.address == address && access.bytes == bytes) return &access;
    difference_ = fmt::format("access {} is a {} of {:#x}, the simulator's a {} of {:#x}", next_ - 1,
                              access.store ? "store" : "load", access.address, store ? "store" : "load", address);
    return nullptr;
  }

  std::vector<Access> tape_;
  size_t next_ = 0;
  std::string difference_;
  rv32::Hart* hart_ = nullptr;
};

}  // namespace weft::ibex::test
