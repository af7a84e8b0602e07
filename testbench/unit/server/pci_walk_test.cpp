// The function as a generic PCI client finds it over the socket: header, BARs sized by writing ones, the capability
// list with a guard against loops, MSI-X table and pending bits inside their BAR.
#include <linux/pci_regs.h>
#include <linux/vfio.h>

#include <map>

#include "testbench/unit/server/client.hpp"

using namespace weft;
using namespace weft::server;

namespace {

constexpr uint32_t kConfig = VFIO_PCI_CONFIG_REGION_INDEX;
constexpr uint32_t kTableBar = VFIO_PCI_BAR4_REGION_INDEX;
constexpr unsigned kBars = 6;

struct Fixture : test::Served {
  Fixture() { client->negotiate(); }

  uint64_t get(uint64_t offset, uint32_t bytes, uint32_t region = kConfig) {
    const auto answer = client->read(region, offset, bytes);
    REQUIRE(answer.error() == 0);
    REQUIRE(answer.payload.size() == sizeof(vfio_user::RegionAccess) + bytes);
    uint64_t value = 0;
    std::memcpy(&value, answer.payload.data() + sizeof(vfio_user::RegionAccess), bytes);
    return value;
  }
  void put(uint64_t offset, uint64_t value, uint32_t bytes, uint32_t region = kConfig) {
    REQUIRE(client->write(region, offset, value, bytes) == 0);
  }
  uint64_t region_size(uint32_t index) {
    return client->request(vfio_user::Command::kDeviceGetRegionInfo, vfio_user::RegionInfo{32, 0, index, 0, 0, 0})
        .as<vfio_user::RegionInfo>()
        .bytes;
  }

  /// Size of a BAR, as a bus driver finds it; 0: not there. What it held is put back.
  uint64_t bar_size(unsigned bar, bool& is_64_bit) {
    const unsigned at = PCI_BASE_ADDRESS_0 + 4 * bar;
    const uint64_t old = get(at, 4);
    put(at, UINT32_MAX, 4);
    const uint64_t low = get(at, 4);
    put(at, old, 4);
    is_64_bit = (low & PCI_BASE_ADDRESS_MEM_TYPE_MASK) == PCI_BASE_ADDRESS_MEM_TYPE_64;
    if (low == 0) return 0;
    CHECK((low & PCI_BASE_ADDRESS_SPACE) == PCI_BASE_ADDRESS_SPACE_MEMORY);
    uint64_t mask = low & static_cast<uint32_t>(PCI_BASE_ADDRESS_MEM_MASK);
    if (is_64_bit) {
      const uint64_t upper = get(at + 4, 4);
      put(at + 4, UINT32_MAX, 4);
      mask |= get(at + 4, 4) << 32;
      put(at + 4, upper, 4);
    } else {
      mask |= uint64_t{UINT32_MAX} << 32;
    }
    return ~mask + 1;
  }

  /// Offset of each capability by its id; a list that does not end is a failure.
  std::map<uint8_t, unsigned> capabilities() {
    std::map<uint8_t, unsigned> found;
    constexpr int kMost = (PCI_CFG_SPACE_SIZE - PCI_STD_HEADER_SIZEOF) / 4;
    int left = kMost;
    for (uint64_t at = get(PCI_CAPABILITY_LIST, 1); at != 0; at = get(at + PCI_CAP_LIST_NEXT, 1)) {
      REQUIRE(left-- != 0);
      REQUIRE(at >= PCI_STD_HEADER_SIZEOF);
      REQUIRE(at % 4 == 0);
      const bool is_new = found.emplace(static_cast<uint8_t>(get(at, 1)), static_cast<unsigned>(at)).second;
      CHECK(is_new);
    }
    return found;
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "every BAR has the size of its region and keeps what it held") {
  for (unsigned bar = 0; bar < kBars; bar++) {
    put(PCI_BASE_ADDRESS_0 + 4 * bar, 0xabcd'0000, 4);
    const uint64_t before = get(PCI_BASE_ADDRESS_0 + 4 * bar, 4);
    bool is_64_bit = false;
    CAPTURE(bar);
    const uint64_t size = bar_size(bar, is_64_bit);
    CHECK(size == region_size(bar));
    CHECK((size & (size - 1)) == 0);
    CHECK(get(PCI_BASE_ADDRESS_0 + 4 * bar, 4) == before);
    if (is_64_bit) {
      bar++;  // the upper half is no BAR of its own, and the transport has no region of that index
      CHECK(region_size(bar) == 0);
    }
  }
  put(PCI_ROM_ADDRESS, UINT32_MAX, 4);
  CHECK(get(PCI_ROM_ADDRESS, 4) == 0);
}

TEST_CASE_METHOD(Fixture, "the capability list ends and holds MSI-X and PCI Express once") {
  CHECK((get(PCI_STATUS, 2) & PCI_STATUS_CAP_LIST) != 0);
  const auto found = capabilities();
  CHECK(found.size() == 2);
  CHECK(found.contains(PCI_CAP_ID_MSIX));
  CHECK(found.contains(PCI_CAP_ID_EXP));
  CHECK(get(PCI_CFG_SPACE_SIZE, 4) == 0);  // no extended capability
}

TEST_CASE_METHOD(Fixture,
                 "MSI-X table and pending bits lie apart inside of their BAR, with the vectors that VFIO tells") {
  const unsigned at = capabilities().at(PCI_CAP_ID_MSIX);
  const uint64_t vectors = (get(at + PCI_MSIX_FLAGS, 2) & PCI_MSIX_FLAGS_QSIZE) + 1;
  const auto irq =
      client->request(vfio_user::Command::kDeviceGetIrqInfo, vfio_user::IrqInfo{16, 0, VFIO_PCI_MSIX_IRQ_INDEX, 0});
  CHECK(vectors == irq.as<vfio_user::IrqInfo>().count);
  const uint64_t table = get(at + PCI_MSIX_TABLE, 4), pending = get(at + PCI_MSIX_PBA, 4);
  REQUIRE((table & PCI_MSIX_TABLE_BIR) == kTableBar);
  REQUIRE((pending & PCI_MSIX_PBA_BIR) == kTableBar);
  const uint64_t table_first = table & PCI_MSIX_TABLE_OFFSET, table_end = table_first + vectors * PCI_MSIX_ENTRY_SIZE;
  const uint64_t pending_first = pending & PCI_MSIX_PBA_OFFSET, pending_end = pending_first + (vectors + 63) / 64 * 8;
  CHECK(table_end <= region_size(kTableBar));
  CHECK(pending_end <= region_size(kTableBar));
  CHECK((table_end <= pending_first || pending_end <= table_first));

  for (uint64_t v = 0; v < vectors; v++) {
    const uint64_t entry = table_first + v * PCI_MSIX_ENTRY_SIZE;
    CAPTURE(v);
    CHECK((get(entry + PCI_MSIX_ENTRY_VECTOR_CTRL, 4, kTableBar) & PCI_MSIX_ENTRY_CTRL_MASKBIT) != 0);
    put(entry + PCI_MSIX_ENTRY_LOWER_ADDR, 0xfee0'1000 + v * 4, 4, kTableBar);
    put(entry + PCI_MSIX_ENTRY_DATA, 0x4000 + v, 4, kTableBar);
    CHECK(get(entry + PCI_MSIX_ENTRY_LOWER_ADDR, 4, kTableBar) == 0xfee0'1000 + v * 4);
    CHECK(get(entry + PCI_MSIX_ENTRY_DATA, 4, kTableBar) == 0x4000 + v);
  }
  put(pending_first, UINT32_MAX, 4, kTableBar);
  CHECK(get(pending_first, 4, kTableBar) == 0);
}

TEST_CASE_METHOD(Fixture, "a masked vector pends until it is unmasked") {
  const FileDescriptor event = test::event_fd();
  REQUIRE(client->listen_to(1, std::array{event.get()}) == 0);
  const unsigned at = capabilities().at(PCI_CAP_ID_MSIX);
  const uint64_t table = get(at + PCI_MSIX_TABLE, 4) & PCI_MSIX_TABLE_OFFSET;
  const uint64_t pending = get(at + PCI_MSIX_PBA, 4) & PCI_MSIX_PBA_OFFSET;
  const uint64_t control = table + PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_VECTOR_CTRL;
  const auto trigger =
      vfio_user::IrqSet{20, VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_PCI_MSIX_IRQ_INDEX, 1, 1};
  put(control, PCI_MSIX_ENTRY_CTRL_MASKBIT, 4, kTableBar);
  CHECK(client->request(vfio_user::Command::kDeviceSetIrqs, trigger).error() == 0);
  CHECK((get(pending, 4, kTableBar) & 2) != 0);
  CHECK(test::wait_for(event, 20) == 0);
  put(control, 0, 4, kTableBar);
  CHECK(test::wait_for(event) == 1);
  CHECK((get(pending, 4, kTableBar) & 2) == 0);

  const uint64_t flags = get(at + PCI_MSIX_FLAGS, 2);  // the same by the function's mask
  put(at + PCI_MSIX_FLAGS, flags | PCI_MSIX_FLAGS_MASKALL, 2);
  CHECK(client->request(vfio_user::Command::kDeviceSetIrqs, trigger).error() == 0);
  CHECK(test::wait_for(event, 20) == 0);
  put(at + PCI_MSIX_FLAGS, flags, 2);
  CHECK(test::wait_for(event) == 1);
}

TEST_CASE_METHOD(Fixture, "the command register takes an endpoint's bits, and read-only bytes stay") {
  put(PCI_COMMAND, 0xffff, 2);
  const uint64_t command = get(PCI_COMMAND, 2);
  CHECK((command & (PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE)) ==
        (PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE));
  CHECK((command & PCI_COMMAND_IO) == 0);
  for (const unsigned offset : {PCI_VENDOR_ID, PCI_DEVICE_ID, PCI_CLASS_DEVICE, PCI_SUBSYSTEM_VENDOR_ID}) {
    const uint64_t before = get(offset, 2);
    put(offset, ~before & 0xffff, 2);
    CHECK(get(offset, 2) == before);
  }
  CHECK(get(PCI_HEADER_TYPE, 1) == PCI_HEADER_TYPE_NORMAL);
}

TEST_CASE_METHOD(Fixture,
                 "all of configuration space reads the same in one piece and in bytes, and ends where it ends") {
  const auto whole = client->read(kConfig, 0, PCI_CFG_SPACE_EXP_SIZE);
  REQUIRE(whole.error() == 0);
  for (unsigned at = 0; at < PCI_CFG_SPACE_SIZE; at++)
    CHECK(get(at, 1) == std::to_integer<uint64_t>(whole.payload[sizeof(vfio_user::RegionAccess) + at]));
  CHECK(client->read(kConfig, PCI_CFG_SPACE_EXP_SIZE - 2, 4).error() == EINVAL);
  CHECK(client->write(kConfig, PCI_CFG_SPACE_EXP_SIZE, 0, 1) == EINVAL);
}
