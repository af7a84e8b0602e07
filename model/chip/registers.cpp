// The register file: plain words, and what some of them do.
#include "model/chip/registers.hpp"

#include <bit>
#include <cstring>

#include "model/ici/topology.hpp"

namespace weft::chip {

static_assert(kLinkPorts == ici::kPorts);

Registers::Registers(const spec::Chip& chip, core::CoreKind kind, RegisterEvents& events, const SliceRegisters& slice)
    : chip_(chip), kind_(kind), events_(events), slice_(slice) {
  power_up();
}

void Registers::set_wide(uint32_t offset, uint64_t value) {
  dword(offset) = static_cast<uint32_t>(value);
  dword(offset + 4) = static_cast<uint32_t>(value >> 32);
}

void Registers::set_constants() {
  constexpr uint32_t kLargestRing = std::bit_width(WEFT_LIMIT_RING_ENTRIES_MAX) - 1;
  dword(WEFT_REG_MAGIC) = WEFT_MAGIC;
  dword(WEFT_REG_ABI_VERSION) = WEFT_TO_FIELD(WEFT_REG_ABI_VERSION_MAJOR, WEFT_ABI_MAJOR) | WEFT_ABI_MINOR;
  set_wide(WEFT_REG_CHIP_FINGERPRINT, chip_.fingerprint);
  dword(WEFT_REG_CAPABILITIES) = WEFT_LIMIT_IO_QUEUES | WEFT_TO_FIELD(WEFT_REG_CAPABILITIES_RING_LOG2, kLargestRing) |
                                 WEFT_TO_FIELD(WEFT_REG_CAPABILITIES_CORE, static_cast<uint32_t>(kind_));
  set_wide(WEFT_REG_HBM_BYTES, chip_.hbm_bytes);
  set_wide(WEFT_REG_HBM_RESERVED_BYTES, WEFT_MANAGER_HBM_RESERVED_BYTES);
  set_wide(WEFT_REG_CLOCK_HZ, chip_.clock_hz);
  dword(WEFT_REG_ICI_CHIP) = slice_.chip;
  set_wide(WEFT_REG_ICI_SHAPE, slice_.shape);
  set_wide(WEFT_REG_ICI_NEIGHBORS, slice_.neighbors);
  dword(WEFT_REG_ICI_NEIGHBORS_Z) = slice_.neighbors_z;
  set_wide(WEFT_REG_ICI_LINK_BYTES_PER_SECOND, slice_.link_bytes_per_second);
}

void Registers::power_up() {
  plain_.fill(0);
  counters_.fill(0);
  held_vectors_ = 0;
  set_constants();
  dword(WEFT_REG_DEVICE_STATE) = WEFT_DEVICE_STATE_PRESENT;
  claims_changed();
}

void Registers::device_reset() {
  const uint32_t generation = dword(WEFT_REG_RESET_GENERATION);
  const uint32_t trace = dword(WEFT_REG_TRACE_CONTROL);
  power_up();
  dword(WEFT_REG_RESET_GENERATION) = generation + 1;
  dword(WEFT_REG_TRACE_CONTROL) = trace;
  dword(WEFT_REG_DEVICE_STATE) = WEFT_DEVICE_STATE_RESETTING;
}

uint32_t Registers::read(uint64_t offset) {
  if (gone_) return UINT32_MAX;
  if (offset == WEFT_REG_INJECT_STATUS) return static_cast<uint32_t>(events_.inject_status());
  if (offset == WEFT_REG_INJECT_STATUS + 4) return static_cast<uint32_t>(events_.inject_status() >> 32);
  if (offset == WEFT_REG_CYCLES || offset == WEFT_REG_CYCLES + 4) {
    const uint64_t cycle = events_.device_cycle();
    return static_cast<uint32_t>(offset == WEFT_REG_CYCLES ? cycle : cycle >> 32);
  }
  if (offset >= WEFT_REG_COUNTERS && offset < WEFT_REG_COUNTERS + 8 * WEFT_COUNTERS) {
    const uint64_t counter = counters_[(offset - WEFT_REG_COUNTERS) / 8];
    return static_cast<uint32_t>(offset % 8 == 0 ? counter : counter >> 32);
  }
  if (offset >= WEFT_REG_ICI_LINKS && offset < WEFT_REG_ICI_LINKS + ici::kPorts * sizeof(weft_ici_link))
    return link_word(offset - WEFT_REG_ICI_LINKS);
  if (offset == WEFT_REG_FIRMWARE_STATUS) return events_.firmware_status();
  return offset < kPlainBytes ? dword(static_cast<uint32_t>(offset)) : 0;
}

uint32_t Registers::link_word(uint64_t offset) const {
  if (!slice_.link) return 0;
  const weft_ici_link link = slice_.link(static_cast<unsigned>(offset / sizeof(weft_ici_link)));
  uint32_t word = 0;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(&link) + offset % sizeof link, sizeof word);
  return word;
}

uint32_t Registers::link_ports() const {
  constexpr uint32_t kBits = 16;
  constexpr uint64_t kNone = 0xffff;
  if (slice_.chip == 0) return 0;
  uint32_t ports = 0;
  for (unsigned port = 0; port < ici::kPorts; port++) {
    const uint64_t neighbors = port < 4 ? slice_.neighbors >> kBits * port : slice_.neighbors_z >> kBits * (port - 4);
    if ((neighbors & kNone) != kNone) ports |= 1u << port;
  }
  return ports;
}

InjectedFault Registers::injected_fault() const {
  return {.kind = dword(WEFT_REG_INJECT_KIND),
          .target = dword(WEFT_REG_INJECT_TARGET),
          .nth = dword(WEFT_REG_INJECT_NTH),
          .count = dword(WEFT_REG_INJECT_COUNT),
          .value = {wide(WEFT_REG_INJECT_VALUE0), wide(WEFT_REG_INJECT_VALUE1), wide(WEFT_REG_INJECT_VALUE2),
                    wide(WEFT_REG_INJECT_VALUE3)}};
}

void Registers::write(uint64_t offset, uint32_t value, uint32_t enabled) {
  if (gone_) return;
  value &= enabled;
  const auto merged = [&] { return (dword(static_cast<uint32_t>(offset)) & ~enabled) | value; };
  if (offset >= WEFT_REG_INJECT_KIND && offset < WEFT_REG_INJECT_CONTROL) {
    dword(static_cast<uint32_t>(offset)) = merged();
    return;
  }
  switch (offset) {
    case WEFT_REG_INJECT_CONTROL:
      return events_.inject(value, injected_fault());
    case WEFT_REG_RESET_CONTROL:
      if (value == WEFT_RESET_KEY) events_.reset_requested();
      return;
    case WEFT_REG_FIRST_ERROR:
      dword(WEFT_REG_FIRST_ERROR) &= ~value;
      if (dword(WEFT_REG_FIRST_ERROR) == 0) dword(WEFT_REG_PENDING_ERRORS) = 0;
      return;
    case WEFT_REG_INTERRUPT_STATUS:
      dword(WEFT_REG_INTERRUPT_STATUS) &= ~value;
      return;
    case WEFT_REG_INTERRUPT_MASK:
      return set_interrupt_mask(merged());
    case WEFT_REG_BOOT_CONTROL:
      if (value == 1) events_.boot_requested(wide(WEFT_REG_PARAMETER_PAGE));
      return;
    case WEFT_REG_COUNTER_SNAPSHOT:
      if (value == 1) events_.snapshot(counters_);
      return;
    case WEFT_REG_WAIT_ALARM + 4:
      return arm_wait(uint64_t{merged()} << 32 | dword(WEFT_REG_WAIT_ALARM));
    case WEFT_REG_WAIT_ALARM:
      claims_changed();
      [[fallthrough]];
    case WEFT_REG_PARAMETER_PAGE:
    case WEFT_REG_PARAMETER_PAGE + 4:
    case WEFT_REG_FIRMWARE_WATCHDOG:
      dword(static_cast<uint32_t>(offset)) = merged();
      return;
    case WEFT_REG_SIM_HOLD:
      claims_changed();
      [[fallthrough]];
    case WEFT_REG_TRACE_CONTROL:
      dword(static_cast<uint32_t>(offset)) = merged() & 1;
      return;
    default:
      return;
  }
}

void Registers::write_wide(uint64_t offset, uint64_t value) {
  write(offset, static_cast<uint32_t>(value));
  write(offset + 4, static_cast<uint32_t>(value >> 32));
}

void Registers::firmware_write(uint32_t offset, uint64_t value) {
  switch (offset) {
    case WEFT_REG_HEARTBEAT:
    case WEFT_REG_PROGRESS:
    case WEFT_REG_BOOT_ANSWER_NONCE:
    case WEFT_REG_HBM_BYTES:
      return set_wide(offset, value);
    case WEFT_REG_DEVICE_STATE:
    case WEFT_REG_BOOT_STAGE:
    case WEFT_REG_BOOT_ERROR:
    case WEFT_REG_FIRST_ERROR:
    case WEFT_REG_PENDING_ERRORS:
      dword(offset) = static_cast<uint32_t>(value);
      if (offset == WEFT_REG_DEVICE_STATE && value == WEFT_DEVICE_STATE_PRESENT) events_.made_present();
      return;
    default:
      return;
  }
}

uint64_t Registers::firmware_read(uint32_t offset) {
  if (offset % 4 != 0 || offset + 8 > kPlainBytes) return 0;
  switch (offset) {
    case WEFT_REG_CHIP_FINGERPRINT:
    case WEFT_REG_HEARTBEAT:
    case WEFT_REG_PROGRESS:
    case WEFT_REG_CYCLES:
    case WEFT_REG_PARAMETER_PAGE:
    case WEFT_REG_BOOT_ANSWER_NONCE:
    case WEFT_REG_HBM_BYTES:
    case WEFT_REG_HBM_RESERVED_BYTES:
    case WEFT_REG_WAIT_ALARM:
    case WEFT_REG_CLOCK_HZ:
      return read(offset) | uint64_t{read(offset + 4)} << 32;
    default:
      return read(offset);
  }
}

void Registers::note_error(weft_error error) {
  if (dword(WEFT_REG_FIRST_ERROR) == 0) dword(WEFT_REG_FIRST_ERROR) = error;
  dword(WEFT_REG_PENDING_ERRORS)++;
}

void Registers::raise(unsigned vector) {
  if (vector >= WEFT_PCI_MSIX_VECTORS) return;
  const uint32_t bit = 1u << vector;
  dword(WEFT_REG_INTERRUPT_STATUS) |= bit;
  if ((dword(WEFT_REG_INTERRUPT_MASK) & bit) != 0) {
    held_vectors_ |= bit;
  } else {
    events_.interrupt(vector);
  }
}

void Registers::set_interrupt_mask(uint32_t mask) {
  dword(WEFT_REG_INTERRUPT_MASK) = mask & ((1u << WEFT_PCI_MSIX_VECTORS) - 1);
  for (uint64_t left = held_vectors_ & ~uint64_t{mask}; left != 0; left &= left - 1) {
    const unsigned vector = static_cast<unsigned>(std::countr_zero(left));
    held_vectors_ &= ~(uint64_t{1} << vector);
    events_.interrupt(vector);
  }
}

void Registers::arm_wait(uint64_t alarm_cycle) {
  claims_changed();
  set_wide(WEFT_REG_WAIT_ALARM, alarm_cycle);
  if (alarm_cycle != 0) {
    dword(WEFT_REG_WAIT_STATUS) = WEFT_WAIT_STATUS_ARMED;
  } else if (dword(WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_ARMED) {
    dword(WEFT_REG_WAIT_STATUS) = WEFT_WAIT_STATUS_NONE;
  }
}

void Registers::end_wait(weft_wait_status status) {
  if (alarm_cycle() == 0) return;
  claims_changed();
  set_wide(WEFT_REG_WAIT_ALARM, 0);
  dword(WEFT_REG_WAIT_STATUS) = status;
  raise(0);
}

}  // namespace weft::chip
