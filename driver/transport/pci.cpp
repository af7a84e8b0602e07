// Accesses to the configuration space and the MSI-X table.
#include "driver/transport/pci.hpp"

#include "weft/spec/spec.h"

namespace weft::driver {
namespace {

constexpr uint64_t kIdentity = 0x00;
constexpr uint64_t kCommand = 0x04;
constexpr uint16_t kMemoryAndBusMaster = 0x0006;
constexpr uint64_t kCapabilities = 0x34;
constexpr uint8_t kMsixCapability = 0x11;
constexpr uint16_t kMsixEnable = 0x8000;
constexpr uint16_t kMsixFunctionMask = 0x4000;
constexpr uint64_t kMsixEntryBytes = 16;
constexpr uint64_t kMsixVectorControl = 12;
constexpr int kMaxCapabilities = 48;  // of 4 bytes and more, behind the header

template <typename T>
Result<T> read_config(Transport& transport, uint64_t offset) {
  T value{};
  if (Status s = transport.read(Region::kConfig, offset, &value, sizeof value); !s.ok()) return s;
  return value;
}

/// Offset of the MSI-X capability; 0: there is none.
Result<uint8_t> find_msix(Transport& transport) {
  auto at = read_config<uint8_t>(transport, kCapabilities);
  for (int i = 0; i < kMaxCapabilities && at.ok() && at.value() != 0; i++) {
    const auto id = read_config<uint8_t>(transport, at.value());
    if (!id.ok()) return id.status();
    if (id.value() == kMsixCapability) return at;
    at = read_config<uint8_t>(transport, at.value() + 1u);
  }
  if (!at.ok()) return at.status();
  return uint8_t{0};
}

}  // namespace

Status prepare_pci(Transport& transport) {
  const auto identity = read_config<uint32_t>(transport, kIdentity);
  if (!identity.ok()) return identity.status();
  if (identity.value() == 0xffffffffu) return failure(WEFT_ERROR_DEVICE_LOST, "the device answers with all ones");
  const uint32_t vendor = identity.value() & 0xffff;
  const uint32_t device = identity.value() >> 16;
  if (vendor != WEFT_PCI_VENDOR_ID || device != WEFT_PCI_DEVICE_ID) {
    return failure(WEFT_ERROR_UNSUPPORTED, "PCI device {:04x}:{:04x} is not a Weft chip ({:04x}:{:04x})", vendor,
                   device, WEFT_PCI_VENDOR_ID, WEFT_PCI_DEVICE_ID);
  }
  const auto command = read_config<uint16_t>(transport, kCommand);
  if (!command.ok()) return command.status();
  const auto enabled = static_cast<uint16_t>(command.value() | kMemoryAndBusMaster);
  if (Status s = transport.write(Region::kConfig, kCommand, &enabled, sizeof enabled); !s.ok()) return s;
  const auto msix = find_msix(transport);
  if (!msix.ok()) return msix.status();
  if (msix.value() == 0) return failure(WEFT_ERROR_UNSUPPORTED, "the device has no MSI-X capability");
  constexpr uint32_t kUnmasked = 0;
  for (uint32_t vector = 0; vector < WEFT_PCI_MSIX_VECTORS; vector++) {
    if (Status s =
            transport.write(Region::kMsix, kMsixEntryBytes * vector + kMsixVectorControl, &kUnmasked, sizeof kUnmasked);
        !s.ok())
      return s;
  }
  const auto control = read_config<uint16_t>(transport, msix.value() + 2u);
  if (!control.ok()) return control.status();
  const auto msix_enabled = static_cast<uint16_t>((control.value() | kMsixEnable) & ~kMsixFunctionMask);
  return transport.write(Region::kConfig, msix.value() + 2u, &msix_enabled, sizeof msix_enabled);
}

}  // namespace weft::driver
