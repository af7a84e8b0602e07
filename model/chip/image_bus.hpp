/// The data port of the manager's processor beside ROM and SRAM: the registers of firmware/bare/registers.hpp.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "model/rv32/processor.hpp"
#include "weft/spec/spec.h"

namespace weft::chip {

class BusLog;
class Manager;

/// Each access first lets the time pass that the processor has computed since the last one, then asks the manager,
/// which charges what the access itself costs. An address without a register, a sub-word access, and a store to a
/// read-only register fail (access fault). Owner: ImageProcessor. Runs on the manager's thread.
class ImageBus final : public rv32::Bus {
 public:
  explicit ImageBus(Manager& manager) : manager_(manager) {}
  /// The processor whose port this is; before its first instruction.
  void connect(rv32::Processor& processor) { processor_ = &processor; }

  [[nodiscard]] bool load(uint32_t address, unsigned bytes, uint32_t& value) override;
  [[nodiscard]] bool store(uint32_t address, unsigned bytes, uint32_t value) override;

  /// Writes down what passes; nullptr: nothing. It outlives the bus.
  void set_log(BusLog* log) { log_ = log; }

  /// Told before the processor takes an exception; nothing by default.
  std::function<void(rv32::Cause cause, uint32_t value)> on_exception;
  void exception(rv32::Cause cause, uint32_t value) override {
    if (on_exception) on_exception(cause, value);
  }

  /// Lets the cycles pass that the processor has counted since the last call.
  void pay();
  [[nodiscard]] uint64_t alarm() const { return alarm_; }
  /// The processor wakes up now.
  void wake();
  /// Instructions from a wake-up to the waypoint that its handler has shown: the last one that had a handler.
  [[nodiscard]] uint64_t handler_instructions() const { return handler_instructions_; }
  /// As after a device reset.
  void reset();

 private:
  /// A 64-bit register as two words: reading its low word takes all of it and holds the high one; writing the high word
  /// takes effect.
  struct Wide {
    uint32_t address = 1;  // of the half that is to come; 1: none
    uint64_t value = 0;
  };
  template <typename Read>
  uint32_t read_half(uint32_t address, Read read);
  [[nodiscard]] bool load_register(uint32_t address, uint32_t& value);
  [[nodiscard]] bool store_register(uint32_t address, uint32_t value);
  [[nodiscard]] bool load_doorbell(uint32_t offset, uint32_t& value);
  [[nodiscard]] bool load_manager(uint32_t offset, uint32_t& value);
  [[nodiscard]] bool store_manager(uint32_t offset, uint32_t value);
  [[nodiscard]] bool push(uint32_t queue);
  [[nodiscard]] uint32_t dma();
  /// Memory that a DMA may fill, or read from (constants lie in the ROM). Empty: it is not all memory.
  [[nodiscard]] std::span<std::byte> sram(uint32_t address, uint32_t bytes);
  [[nodiscard]] std::span<const std::byte> source(uint32_t address, uint32_t bytes);

  Manager& manager_;
  rv32::Processor* processor_ = nullptr;
  BusLog* log_ = nullptr;
  uint64_t paid_ = 0;
  Wide read_, written_;
  uint64_t alarm_ = UINT64_MAX;
  uint64_t woken_ = 0, handler_instructions_ = 0;
  bool awaits_handler_ = false;
  uint64_t dma_address_ = 0, copy_source_ = 0, copy_destination_ = 0, copy_bytes_ = 0, parameter_page_ = 0;
  uint32_t dma_sram_ = 0, dma_control_ = 0, completion_ring_ = 0, departures_ = 0;
  std::array<std::array<uint8_t, WEFT_COMMAND_BYTES>, 8> windows_{};
  uint32_t crc_sram_ = 0, crc_ = 0;
};

}  // namespace weft::chip
