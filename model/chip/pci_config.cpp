// Layout of the configuration space; offsets and bits are those of the PCI and PCI Express specifications.
#include "model/chip/pci_config.hpp"

#include <linux/pci_regs.h>

#include <algorithm>

#include "model/chip/msix.hpp"
#include "weft/spec/spec.h"

namespace weft::chip {
namespace {

constexpr unsigned kMsixBar = 4;
constexpr unsigned kDeviceControl = PciConfig::kPcieCapability + PCI_EXP_DEVCTL;

}  // namespace

PciConfig::PciConfig(PciConfigEvents& events) : events_(events) { reset(); }

void PciConfig::put(unsigned offset, unsigned bytes, uint64_t value, uint64_t writable) {
  for (unsigned i = 0; i < bytes; i++) {
    value_[offset + i] = static_cast<uint8_t>(value >> (8 * i));
    writable_[offset + i] = static_cast<uint8_t>(writable >> (8 * i));
  }
}

void PciConfig::put_bar(unsigned index, uint64_t bytes) {
  put(PCI_BASE_ADDRESS_0 + 4 * index, 8, PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64, ~(bytes - 1));
}

void PciConfig::reset() {
  value_.fill(0);
  writable_.fill(0);
  put(PCI_VENDOR_ID, 2, WEFT_PCI_VENDOR_ID, 0);
  put(PCI_DEVICE_ID, 2, WEFT_PCI_DEVICE_ID, 0);
  put(PCI_COMMAND, 2, 0,
      PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
  put(PCI_STATUS, 2, PCI_STATUS_CAP_LIST, 0);
  put(PCI_REVISION_ID, 1, WEFT_PCI_REVISION, 0);
  put(PCI_CLASS_PROG, 3, WEFT_PCI_CLASS_CODE, 0);
  put(PCI_CACHE_LINE_SIZE, 1, 0, 0xff);
  put_bar(0, WEFT_PCI_BAR0_BYTES);
  put_bar(2, WEFT_PCI_BAR2_BYTES);
  put_bar(4, WEFT_PCI_BAR4_BYTES);
  put(PCI_SUBSYSTEM_VENDOR_ID, 2, WEFT_PCI_VENDOR_ID, 0);
  put(PCI_SUBSYSTEM_ID, 2, WEFT_PCI_DEVICE_ID, 0);
  put(PCI_CAPABILITY_LIST, 1, kMsixCapability, 0);
  put(PCI_INTERRUPT_LINE, 1, 0, 0xff);

  put(kMsixCapability, 2, PCI_CAP_ID_MSIX | kPcieCapability << 8, 0);
  put(kMsixControl, 2, Msix::kVectors - 1, kMsixEnable | kMsixFunctionMask);
  put(kMsixCapability + PCI_MSIX_TABLE, 4, kMsixBar, 0);
  put(kMsixCapability + PCI_MSIX_PBA, 4, Msix::kPendingOffset | kMsixBar, 0);

  constexpr uint16_t kVersion2Endpoint = 2;
  put(kPcieCapability, 2, PCI_CAP_ID_EXP, 0);
  put(kPcieCapability + PCI_EXP_FLAGS, 2, kVersion2Endpoint, 0);
  put(kPcieCapability + PCI_EXP_DEVCAP, 4, PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR, 0);
  put(kDeviceControl, 2, PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN,
      PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE | PCI_EXP_DEVCTL_FERE | PCI_EXP_DEVCTL_URRE | PCI_EXP_DEVCTL_RELAX_EN |
          PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ);
}

void PciConfig::read(uint64_t offset, std::span<std::byte> out) const {
  std::transform(value_.begin() + static_cast<ptrdiff_t>(offset),
                 value_.begin() + static_cast<ptrdiff_t>(offset + out.size()), out.begin(),
                 [](uint8_t v) { return std::byte{v}; });
}

void PciConfig::write(uint64_t offset, std::span<const std::byte> data) {
  const uint16_t control = msix_control();
  bool reset_wanted = false;
  for (size_t i = 0; i < data.size(); i++) {
    const uint64_t at = offset + i;
    const uint8_t bits = std::to_integer<uint8_t>(data[i]);
    value_[at] = static_cast<uint8_t>((value_[at] & ~writable_[at]) | (bits & writable_[at]));
    if (at == kDeviceControl + 1 && (bits & (PCI_EXP_DEVCTL_BCR_FLR >> 8)) != 0) reset_wanted = true;
  }
  const uint16_t now = msix_control();
  if (now != control) events_.msix_control_changed((now & kMsixEnable) != 0, (now & kMsixFunctionMask) != 0);
  if (reset_wanted) events_.function_level_reset();
}

void PciConfig::enable_msix(bool enabled) {
  const uint16_t control = msix_control();
  const uint16_t wanted = enabled ? control | kMsixEnable : control & ~kMsixEnable;
  const std::array<std::byte, 2> data{std::byte(wanted & 0xff), std::byte(wanted >> 8)};
  write(kMsixControl, data);
}

uint16_t PciConfig::msix_control() const {
  return static_cast<uint16_t>(value_[kMsixControl] | value_[kMsixControl + 1] << 8);
}

}  // namespace weft::chip
