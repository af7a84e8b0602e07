// Preparing the function through its configuration space: a right one, and spaces that lie.
#include "driver/transport/pci.hpp"

#include <linux/pci_regs.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "weft/spec/spec.h"

using namespace weft::driver;
using Catch::Contains;

namespace {

/// Configuration space and MSI-X table as bytes.
class FakeTransport : public Transport {
 public:
  std::array<uint8_t, 4096> config{};
  std::array<uint8_t, WEFT_PCI_BAR4_BYTES> table{};
  int reads = 0;

  FakeTransport() {
    put<uint16_t>(PCI_VENDOR_ID, WEFT_PCI_VENDOR_ID);
    put<uint16_t>(PCI_DEVICE_ID, WEFT_PCI_DEVICE_ID);
    put<uint8_t>(PCI_CAPABILITY_LIST, 0x60);
    put<uint8_t>(0x60, PCI_CAP_ID_EXP);
    put<uint8_t>(0x61, 0x40);
    put<uint8_t>(0x40, PCI_CAP_ID_MSIX);
    put<uint16_t>(0x42, PCI_MSIX_FLAGS_MASKALL | (WEFT_PCI_MSIX_VECTORS - 1));
    table.fill(0xff);
  }
  template <typename T>
  void put(size_t at, T value) {
    std::memcpy(&config[at], &value, sizeof value);
  }
  template <typename T>
  T get(size_t at) const {
    T value;
    std::memcpy(&value, &config[at], sizeof value);
    return value;
  }

  Status read(Region region, uint64_t offset, void* data, uint32_t bytes) override {
    reads++;
    if (region != Region::kConfig || offset + bytes > config.size()) return Status(WEFT_ERROR_INVALID_ARGUMENT, "read");
    std::memcpy(data, &config[offset], bytes);
    return {};
  }
  Status write(Region region, uint64_t offset, const void* data, uint32_t bytes) override {
    uint8_t* place = region == Region::kConfig ? config.data() : table.data();
    const size_t size = region == Region::kConfig ? config.size() : table.size();
    if (offset + bytes > size) return Status(WEFT_ERROR_INVALID_ARGUMENT, "write");
    std::memcpy(place + offset, data, bytes);
    return {};
  }
  Status post(Region region, uint64_t offset, const void* data, uint32_t bytes) override {
    return write(region, offset, data, bytes);
  }
  Status dma_map(int, uint64_t, uint64_t, uint64_t) override { return {}; }
  Status dma_unmap(uint64_t, uint64_t) override { return {}; }
  Status set_irqs(std::span<const int>) override { return {}; }
  Status reset() override { return {}; }
  int liveness_fd() const override { return -1; }
  void disconnect() override {}
  void shutdown() override {}
  std::string last_words() override { return {}; }
};

}  // namespace

TEST_CASE("a function is prepared: memory and bus master on, all vectors unmasked, MSI-X enabled") {
  FakeTransport t;
  REQUIRE(prepare_pci(t).ok());
  CHECK((t.get<uint16_t>(PCI_COMMAND) & (PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER)) ==
        (PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER));
  CHECK((t.get<uint16_t>(0x42) & (PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL)) == PCI_MSIX_FLAGS_ENABLE);
  for (size_t v = 0; v < WEFT_PCI_MSIX_VECTORS; v++) CHECK(t.table[v * PCI_MSIX_ENTRY_SIZE + 12] == 0);
}

TEST_CASE("a device that is gone, or another one, is said to be so") {
  FakeTransport gone, other;
  gone.config.fill(0xff);
  CHECK(prepare_pci(gone).code() == WEFT_ERROR_DEVICE_LOST);
  other.put<uint16_t>(PCI_DEVICE_ID, 0x1234);
  CHECK(prepare_pci(other).code() == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(prepare_pci(other).message(), Contains(":1234"));
}

TEST_CASE("a capability list that loops, is empty or leads anywhere ends within a bound") {
  FakeTransport t;
  SECTION("empty") { t.put<uint8_t>(PCI_CAPABILITY_LIST, 0); }
  SECTION("one that follows itself") { t.put<uint8_t>(0x61, 0x60); }
  SECTION("two that follow each other") {
    t.put<uint8_t>(0x61, 0x80);
    t.put<uint8_t>(0x81, 0x60);
  }
  SECTION("the last byte of the space") { t.put<uint8_t>(PCI_CAPABILITY_LIST, 0xff); }
  CHECK(prepare_pci(t).code() == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(prepare_pci(t).message(), Contains("no MSI-X capability"));
  CHECK(t.reads < 250);
}
