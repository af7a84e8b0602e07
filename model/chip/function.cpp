// Bounds and sizes of host accesses, doorbells, reset.
#include "model/chip/function.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace weft::chip {
namespace {

constexpr unsigned kWordBytes = 4;
constexpr unsigned kWideBytes = 8;

constexpr unsigned kBitsPerByte = 8;

/// 1, 2, 4 or 8 bytes at a multiple of their size.
bool is_plain_access(uint64_t offset, size_t bytes) {
  return std::has_single_bit(bytes) && bytes <= kWideBytes && offset % bytes == 0;
}

uint64_t load(std::span<const std::byte> data) {
  uint64_t value = 0;
  std::memcpy(&value, data.data(), data.size());
  return value;
}

/// What an access of `data` at `offset` writes into the register at `place`; nothing: 0, which asks for nothing.
uint32_t written_at(uint64_t place, uint64_t offset, std::span<const std::byte> data) {
  uint32_t value = 0;
  for (size_t i = 0; i < data.size(); i++) {
    if (offset + i >= place && offset + i < place + kWordBytes)
      value |= std::to_integer<uint32_t>(data[i]) << kBitsPerByte * (offset + i - place);
  }
  return value;
}

}  // namespace

uint64_t region_bytes(Region region) {
  switch (region) {
    case Region::kRegisters:
      return WEFT_PCI_BAR0_BYTES;
    case Region::kDoorbells:
      return WEFT_PCI_BAR2_BYTES;
    case Region::kMsix:
      return WEFT_PCI_BAR4_BYTES;
    case Region::kConfig:
      return PciConfig::kBytes;
  }
  return 0;
}

Function::Function(const spec::Chip& chip, core::CoreKind kind, unsigned index, FunctionEvents& events,
                   const SliceRegisters& slice)
    : index_(index),
      events_(events),
      config_(*this),
      registers_(chip, kind, *this, slice),
      faults_(registers_.link_ports()) {}

int Function::read(Region region, uint64_t offset, std::span<std::byte> out) {
  if (out.empty() || offset > region_bytes(region) || out.size() > region_bytes(region) - offset) return EINVAL;
  if (region == Region::kConfig) {
    config_.read(offset, out);
    return 0;
  }
  const bool words = offset % kWordBytes == 0 && out.size() % kWordBytes == 0;
  if (!words && !is_plain_access(offset, out.size())) return EINVAL;
  for (size_t i = 0; i < out.size(); i += kWordBytes) {
    const uint32_t word = read_word(region, (offset + i) / kWordBytes * kWordBytes);
    std::memcpy(&out[i], reinterpret_cast<const std::byte*>(&word) + (offset + i) % kWordBytes,
                std::min<size_t>(kWordBytes, out.size() - i));
  }
  return 0;
}

uint32_t Function::read_word(Region region, uint64_t offset) {
  switch (region) {
    case Region::kRegisters:
      return registers_.read(offset);
    case Region::kMsix:
      return msix_.read(offset);
    case Region::kDoorbells: {
      const uint64_t queue = offset / kWideBytes;
      if (queue >= kQueues) return 0;
      return offset % kWideBytes == 0 ? submission_tail_[queue] : completion_head_[queue];
    }
    case Region::kConfig:
      break;
  }
  return 0;
}

int Function::write(Region region, uint64_t offset, std::span<const std::byte> data) {
  if (data.empty() || offset > region_bytes(region) || data.size() > region_bytes(region) - offset) return EINVAL;
  if (region == Region::kConfig) {
    config_.write(offset, data);
    return 0;
  }
  if (!is_plain_access(offset, data.size())) return EINVAL;
  if (region == Region::kRegisters && !permits(offset, data)) return EPERM;
  const uint64_t value = load(data);
  if (data.size() == kWideBytes && region == Region::kRegisters) {
    registers_.write_wide(offset, value);
  } else if (data.size() == kWideBytes) {
    write_word(region, offset, static_cast<uint32_t>(value));
    write_word(region, offset + kWordBytes, static_cast<uint32_t>(value >> 32));
  } else {
    const unsigned shift = kBitsPerByte * static_cast<unsigned>(offset % kWordBytes);
    const auto bits = static_cast<uint32_t>((uint64_t{1} << (kBitsPerByte * data.size())) - 1);
    write_word(region, offset - offset % kWordBytes, static_cast<uint32_t>(value) << shift, bits << shift);
  }
  return 0;
}

bool Function::asks_to_hold(Region region, uint64_t offset, std::span<const std::byte> data) const {
  return region == Region::kRegisters && rights_.hold && !registers_.holds_time() &&
         (written_at(WEFT_REG_SIM_HOLD, offset, data) & WEFT_REG_SIM_HOLD_HOLD) != 0;
}

bool Function::permits(uint64_t offset, std::span<const std::byte> data) const {
  if (!rights_.hold && (written_at(WEFT_REG_SIM_HOLD, offset, data) & WEFT_REG_SIM_HOLD_HOLD) != 0) return false;
  return rights_.inject || written_at(WEFT_REG_INJECT_CONTROL, offset, data) != WEFT_INJECT_CONTROL_ARM;
}

void Function::write_word(Region region, uint64_t offset, uint32_t value, uint32_t enabled) {
  switch (region) {
    case Region::kRegisters:
      return registers_.write(offset, value, enabled);
    case Region::kMsix:
      return msix_.write(offset, value, enabled);
    case Region::kDoorbells:
      return write_doorbell(offset, value, enabled);
    case Region::kConfig:
      return;
  }
}

void Function::write_doorbell(uint64_t offset, uint32_t value, uint32_t enabled) {
  const uint64_t queue = offset / kWideBytes;
  if (queue >= kQueues) return;  // nothing decodes it, as on a bus
  uint32_t& doorbell = offset % kWideBytes == 0 ? submission_tail_[queue] : completion_head_[queue];
  uint32_t merged = (doorbell & ~enabled) | (value & enabled);
  if (offset % kWideBytes == 0) {
    if (doorbell_swallowed(static_cast<uint32_t>(queue), merged)) return;
    doorbell_cycle_[queue] = events_.device_cycle();
    pending_doorbells_ |= 1u << queue;
  }
  doorbell = merged;
  events_.wake_manager();
}

bool Function::doorbell_swallowed(uint32_t queue, uint32_t& value) {
  if (faults_.occasion(WEFT_INJECTED_FAULT_SIMULATOR_EXIT, queue) != nullptr) events_.simulator_exits();
  if (faults_.occasion(WEFT_INJECTED_FAULT_DEVICE_GONE, queue) != nullptr) registers_.vanish();
  if (const InjectedFault* fault = faults_.occasion(WEFT_INJECTED_FAULT_DOORBELL_VALUE, queue))
    value = static_cast<uint32_t>(fault->value[0]);
  return faults_.occasion(WEFT_INJECTED_FAULT_DOORBELL_LOST, queue) != nullptr || registers_.gone();
}

void Function::inject(uint32_t control, const InjectedFault& fault) {
  if (control == WEFT_INJECT_CONTROL_ARM) (void)faults_.arm(fault);  // INJECT_STATUS tells
  if (control == WEFT_INJECT_CONTROL_DISARM) faults_.disarm();
}

void Function::interrupt(unsigned vector) {
  if (faults_.occasion(WEFT_INJECTED_FAULT_INTERRUPT_LOST, vector) == nullptr) msix_.raise(vector);
}

uint32_t Function::take_pending_doorbells() {
  const uint32_t pending = pending_doorbells_;
  pending_doorbells_ = 0;
  return pending;
}

void Function::boot_requested(uint64_t parameter_page) {
  boot_requested_ = true;
  parameter_page_ = parameter_page;
  events_.wake_manager();
}

bool Function::take_boot_request(uint64_t& parameter_page) {
  if (!boot_requested_) return false;
  boot_requested_ = false;
  parameter_page = parameter_page_;
  return true;
}

void Function::clear_requests() {
  submission_tail_.fill(0);
  completion_head_.fill(0);
  doorbell_cycle_.fill(0);
  pending_doorbells_ = 0;
  boot_requested_ = false;
  msix_.clear_pending();
}

void Function::device_was_reset() {
  clear_requests();
  registers_.device_reset();
}

void Function::reset() {
  device_was_reset();
  if (faults_.occasion(WEFT_INJECTED_FAULT_RESET_STUCK) != nullptr) return;  // the state stays resetting
  events_.function_reset(index_);
}

void Function::reset_by_observer() {
  reset();
  registers_.raise(0);
}

void Function::function_level_reset() {
  reset();
  config_.reset();
  msix_.reset();
}

void Function::disconnect() {
  host_memory_.abandon();
  msix_.set_sink(nullptr);
  faults_.disarm();
  registers_.reappear();
  device_was_reset();
  set_leaving(true);
  events_.function_left(index_);
}

void Function::set_leaving(bool leaving) {
  leaving_ = leaving;
  if (attention_ != nullptr) attention_->claim(number_);
}

void Function::made_present() {  // in device time: what the chip does next must not hang on when anybody looks
  if (!leaving_) return;
  set_leaving(false);
  host_memory_.clear();
  config_.reset();
  clear_requests();
  msix_.reset();
}

}  // namespace weft::chip
