/// BAR0: the registers of one function.
#pragma once
#include <array>
#include <cstdint>

#include "model/chip/attention.hpp"
#include "model/chip/chip_options.hpp"
#include "model/chip/fault_injector.hpp"
#include "model/core/tensor_core.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/spec.h"

namespace weft::chip {

inline constexpr uint64_t kNoDeadline = UINT64_MAX;

/// What a register access needs from the device, or sets off in it; called at once, from within the access.
class RegisterEvents {
 public:
  virtual ~RegisterEvents() = default;
  [[nodiscard]] virtual uint64_t device_cycle() const = 0;
  /// BOOT_CONTROL was written with 1.
  virtual void boot_requested(uint64_t parameter_page) = 0;
  /// The key was written to RESET_CONTROL.
  virtual void reset_requested() = 0;
  /// Fills `counters` with the core's counters of this moment.
  virtual void snapshot(std::array<uint64_t, WEFT_COUNTERS>& counters) = 0;
  /// FIRMWARE_STATUS of this moment.
  [[nodiscard]] virtual uint32_t firmware_status() { return 0; }
  /// INJECT_CONTROL was written with an inject_control; `fault` is what the INJECT registers say.
  virtual void inject(uint32_t control, const InjectedFault& fault) = 0;
  [[nodiscard]] virtual uint64_t inject_status() const = 0;
  /// The firmware has written that the function is present: nothing of what was before is left.
  virtual void made_present() {}
  /// Vector `vector` passed INTERRUPT_MASK.
  virtual void interrupt(unsigned vector) = 0;
};

/// Semantics of spec/host_interface.toml. Registers of 8 bytes may be accessed in halves: reads of a moving one may
/// tear, a write acts with its upper half. Owner: Function; not thread-safe.
class Registers {
 public:
  Registers(const spec::Chip& chip, core::CoreKind kind, RegisterEvents& events, const SliceRegisters& slice = {});

  /// Changes of what the host has of time are told there from now on, as those of `function`; it outlives this object.
  void tell(Attention& attention, size_t function) {
    attention_ = &attention;
    function_ = function;
  }

  /// Aligned 4-byte accesses. Unknown offsets read 0 and ignore writes. `enabled`: the bits of the bytes that are
  /// written; the others keep their value, clear nothing and set nothing off.
  [[nodiscard]] uint32_t read(uint64_t offset);
  void write(uint64_t offset, uint32_t value, uint32_t enabled = UINT32_MAX);
  /// Aligned 8-byte write of an 8-byte register: acts once.
  void write_wide(uint64_t offset, uint64_t value);

  /// The firmware's side. Only the registers that it owns can be written; others are ignored.
  void firmware_write(uint32_t offset, uint64_t value);
  [[nodiscard]] uint64_t firmware_read(uint32_t offset);

  /// An error of the device itself: sticks in FIRST_ERROR if nothing does yet, and counts in PENDING_ERRORS.
  void note_error(weft_error error);

  /// Sets INTERRUPT_STATUS and passes the vector on, or holds it while it is masked.
  void raise(unsigned vector);

  /// The state after a device reset: everything the host or the firmware wrote is gone; the generation counts up.
  void device_reset();
  /// Power-up state.
  void power_up();

  /// The armed wait's alarm: 0 disarmed, kNoDeadline without one.
  [[nodiscard]] uint64_t alarm_cycle() const { return wide(WEFT_REG_WAIT_ALARM); }
  /// Ends the armed wait: status, vector 0. Nothing if none is armed.
  void end_wait(weft_wait_status status);

  /// Cycles that awake firmware may go without a heartbeat.
  [[nodiscard]] uint64_t firmware_watchdog_cycles() const {
    const uint32_t limit = dword(WEFT_REG_FIRMWARE_WATCHDOG);
    return limit != 0 ? limit : WEFT_LIMIT_FIRMWARE_WATCHDOG_CYCLES;
  }

  [[nodiscard]] bool trace_enabled() const {
    return (dword(WEFT_REG_TRACE_CONTROL) & WEFT_REG_TRACE_CONTROL_RECORD) != 0;
  }
  /// The host holds simulated time.
  [[nodiscard]] bool holds_time() const { return (dword(WEFT_REG_SIM_HOLD) & WEFT_REG_SIM_HOLD_HOLD) != 0; }
  /// The device is gone: reads give ones, writes do nothing.
  [[nodiscard]] const SliceRegisters& slice() const { return slice_; }
  /// Bit p: port p has a neighbour.
  [[nodiscard]] uint32_t link_ports() const;

  void vanish() { gone_ = true; }
  void reappear() { gone_ = false; }
  [[nodiscard]] bool gone() const { return gone_; }

  void enable_trace() { dword(WEFT_REG_TRACE_CONTROL) = WEFT_REG_TRACE_CONTROL_RECORD; }

 private:
  static constexpr uint32_t kPlainBytes = 0x140;
  static_assert(kPlainBytes > WEFT_REG_ICI_LINK_BYTES_PER_SECOND + 4 && kPlainBytes <= WEFT_REG_ICI_LINKS);

  [[nodiscard]] uint32_t& dword(uint32_t offset) { return plain_[offset / 4]; }
  [[nodiscard]] uint32_t dword(uint32_t offset) const { return plain_[offset / 4]; }
  [[nodiscard]] uint64_t wide(uint32_t offset) const { return dword(offset) | uint64_t{dword(offset + 4)} << 32; }
  void set_wide(uint32_t offset, uint64_t value);
  void set_constants();
  [[nodiscard]] uint32_t link_word(uint64_t offset) const;
  void arm_wait(uint64_t alarm_cycle);
  [[nodiscard]] InjectedFault injected_fault() const;
  void set_interrupt_mask(uint32_t mask);
  void claims_changed() {
    if (attention_ != nullptr) attention_->claim(function_);
  }

  const spec::Chip& chip_;
  core::CoreKind kind_;
  RegisterEvents& events_;
  const SliceRegisters slice_;
  std::array<uint32_t, kPlainBytes / 4> plain_{};
  std::array<uint64_t, WEFT_COUNTERS> counters_{};
  uint64_t held_vectors_ = 0;
  bool gone_ = false;
  Attention* attention_ = nullptr;
  size_t function_ = 0;  // as attention_ counts
};

}  // namespace weft::chip
