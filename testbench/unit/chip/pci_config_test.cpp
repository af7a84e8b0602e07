// Configuration space, as a generic PCI client walks it.
#include "model/chip/pci_config.hpp"

#include <linux/pci_regs.h>

#include <catch2/catch.hpp>

#include "weft/spec/spec.h"

using weft::chip::PciConfig;

namespace {

struct Fixture : weft::chip::PciConfigEvents {
  void msix_control_changed(bool enabled, bool function_masked) override {
    msix_enabled = enabled;
    msix_masked = function_masked;
  }
  void function_level_reset() override { resets++; }

  uint32_t read(unsigned offset, unsigned bytes) const {
    uint32_t value = 0;
    config.read(offset, std::as_writable_bytes(std::span(&value, 1)).first(bytes));
    return value;
  }
  void write(unsigned offset, uint32_t value, unsigned bytes) {
    config.write(offset, std::as_bytes(std::span(&value, 1)).first(bytes));
  }

  /// Offset of a capability, 0 if there is none; fails on a list that does not end.
  unsigned find_capability(uint8_t id) const {
    unsigned at = read(PCI_CAPABILITY_LIST, 1);
    for (int i = 0; i < 48 && at != 0; i++) {
      REQUIRE(at >= PCI_STD_HEADER_SIZEOF);
      REQUIRE(at % 4 == 0);
      if (read(at, 1) == id) return at;
      at = read(at + 1, 1);
    }
    REQUIRE(at == 0);
    return 0;
  }

  bool msix_enabled = false;
  bool msix_masked = false;
  int resets = 0;
  PciConfig config{*this};
};

}  // namespace

TEST_CASE_METHOD(Fixture, "identity, class and header type are those of the specification") {
  CHECK(read(PCI_VENDOR_ID, 2) == WEFT_PCI_VENDOR_ID);
  CHECK(read(PCI_DEVICE_ID, 2) == WEFT_PCI_DEVICE_ID);
  CHECK(read(PCI_CLASS_REVISION, 4) == (WEFT_PCI_CLASS_CODE << 8 | WEFT_PCI_REVISION));
  CHECK(read(PCI_HEADER_TYPE, 1) == PCI_HEADER_TYPE_NORMAL);
  CHECK((read(PCI_STATUS, 2) & PCI_STATUS_CAP_LIST) != 0);
  CHECK(read(PCI_INTERRUPT_PIN, 1) == 0);
  CHECK(read(0x100, 4) == 0);
  write(PCI_VENDOR_ID, 0xffffffff, 4);
  CHECK(read(PCI_VENDOR_ID, 2) == WEFT_PCI_VENDOR_ID);
}

TEST_CASE_METHOD(Fixture, "each BAR is a 64-bit memory BAR whose size is found by writing ones") {
  const auto size_of = [&](unsigned bar) {
    const unsigned at = PCI_BASE_ADDRESS_0 + 4 * bar;
    write(at, 0xffffffff, 4);
    write(at + 4, 0xffffffff, 4);
    const uint64_t low = read(at, 4);
    CHECK((low & 0xf) == PCI_BASE_ADDRESS_MEM_TYPE_64);
    return ~((uint64_t{read(at + 4, 4)} << 32 | low) & PCI_BASE_ADDRESS_MEM_MASK) + 1;
  };
  CHECK(size_of(0) == WEFT_PCI_BAR0_BYTES);
  CHECK(size_of(2) == WEFT_PCI_BAR2_BYTES);
  CHECK(size_of(4) == WEFT_PCI_BAR4_BYTES);
  write(PCI_BASE_ADDRESS_0, 0xfe12'3456, 4);
  CHECK(read(PCI_BASE_ADDRESS_0, 4) == ((0xfe12'3456u & ~(WEFT_PCI_BAR0_BYTES - 1)) | PCI_BASE_ADDRESS_MEM_TYPE_64));
}

TEST_CASE_METHOD(Fixture, "the command register takes the bits that a PCIe endpoint has") {
  write(PCI_COMMAND, 0xffff, 2);
  CHECK(read(PCI_COMMAND, 2) ==
        (PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE));
  write(PCI_COMMAND + 1, 0, 1);
  CHECK(read(PCI_COMMAND, 2) == (PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY));
}

TEST_CASE_METHOD(Fixture, "the MSI-X capability names table, pending bits and vectors, and tells enable and mask") {
  const unsigned at = find_capability(PCI_CAP_ID_MSIX);
  REQUIRE(at != 0);
  CHECK((read(at + PCI_MSIX_FLAGS, 2) & PCI_MSIX_FLAGS_QSIZE) + 1 == WEFT_PCI_MSIX_VECTORS);
  CHECK((read(at + PCI_MSIX_TABLE, 4) & PCI_MSIX_TABLE_BIR) == 4);
  CHECK((read(at + PCI_MSIX_TABLE, 4) & PCI_MSIX_TABLE_OFFSET) == 0);
  CHECK((read(at + PCI_MSIX_PBA, 4) & PCI_MSIX_PBA_BIR) == 4);
  CHECK((read(at + PCI_MSIX_PBA, 4) & PCI_MSIX_PBA_OFFSET) == 4096);
  write(at + PCI_MSIX_FLAGS, 0xffff, 2);
  CHECK((msix_enabled && msix_masked));
  CHECK((read(at + PCI_MSIX_FLAGS, 2) & PCI_MSIX_FLAGS_QSIZE) + 1 == WEFT_PCI_MSIX_VECTORS);
  write(at + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE, 2);
  CHECK((msix_enabled && !msix_masked));
  config.enable_msix(false);
  CHECK_FALSE(msix_enabled);
}

TEST_CASE_METHOD(Fixture, "the PCIe capability is an endpoint's, and function-level reset is passed on") {
  const unsigned at = find_capability(PCI_CAP_ID_EXP);
  REQUIRE(at != 0);
  CHECK((read(at + PCI_EXP_FLAGS, 2) & PCI_EXP_FLAGS_TYPE) >> 4 == PCI_EXP_TYPE_ENDPOINT);
  CHECK((read(at + PCI_EXP_DEVCAP, 4) & PCI_EXP_DEVCAP_FLR) != 0);
  CHECK(resets == 0);
  write(at + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, 2);
  CHECK(resets == 1);
  CHECK((read(at + PCI_EXP_DEVCTL, 2) & PCI_EXP_DEVCTL_BCR_FLR) == 0);
  CHECK(find_capability(PCI_CAP_ID_MSI) == 0);
}
