// The numbers and layouts of the published protocol (vfio-user 0.1: docs/interop/vfio-user.rst of QEMU,
// include/vfio-user.h of libvfio-user), written here once more by hand: what is generated for both ends is compared with
// them, and a conversation in bytes.
#include <linux/vfio.h>

#include <cerrno>
#include <cstddef>
#include <string>

#include "testbench/unit/server/client.hpp"

using namespace weft;

namespace {

/// "02 00 ff" to bytes; blanks are free.
std::vector<std::byte> hex(const std::string& text) {
  std::vector<std::byte> bytes;
  int high = -1;
  for (const char c : text) {
    if (c == ' ') continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (high >= 0) bytes.push_back(static_cast<std::byte>(high << 4 | digit));
    high = high >= 0 ? -1 : digit;
  }
  return bytes;
}

std::string text_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<int>(b) >> 4];
    text += kDigits[std::to_integer<int>(b) & 15];
  }
  return text;
}

}  // namespace

TEST_CASE("commands have the published numbers") {
  const auto check = [](int number, spec::vfio_user::Command ours) { CHECK(static_cast<int>(ours) == number); };
  check(1, spec::vfio_user::Command::kVersion);
  check(2, spec::vfio_user::Command::kDmaMap);
  check(3, spec::vfio_user::Command::kDmaUnmap);
  check(4, spec::vfio_user::Command::kDeviceGetInfo);
  check(5, spec::vfio_user::Command::kDeviceGetRegionInfo);
  check(6, spec::vfio_user::Command::kDeviceGetRegionIoFds);
  check(7, spec::vfio_user::Command::kDeviceGetIrqInfo);
  check(8, spec::vfio_user::Command::kDeviceSetIrqs);
  check(9, spec::vfio_user::Command::kRegionRead);
  check(10, spec::vfio_user::Command::kRegionWrite);
  check(11, spec::vfio_user::Command::kDmaRead);
  check(12, spec::vfio_user::Command::kDmaWrite);
  check(13, spec::vfio_user::Command::kDeviceReset);
}

TEST_CASE("header, flags and structures have the published sizes and offsets") {
  using namespace spec::vfio_user;
  STATIC_REQUIRE(sizeof(Header) == 16);
  STATIC_REQUIRE(offsetof(Header, message_id) == 0);
  STATIC_REQUIRE(offsetof(Header, command) == 2);
  STATIC_REQUIRE(offsetof(Header, size) == 4);
  STATIC_REQUIRE(offsetof(Header, flags) == 8);
  STATIC_REQUIRE(offsetof(Header, error) == 12);
  STATIC_REQUIRE(kTypeMask == 0xf);
  STATIC_REQUIRE(kTypeCommand == 0);
  STATIC_REQUIRE(kTypeReply == 1);
  STATIC_REQUIRE(kFlagNoReply == 0x10);
  STATIC_REQUIRE(kFlagError == 0x20);
  STATIC_REQUIRE(sizeof(Version) == 4);
  STATIC_REQUIRE(offsetof(Version, minor) == 2);
  STATIC_REQUIRE(sizeof(DmaMap) == 32);
  STATIC_REQUIRE(offsetof(DmaMap, flags) == 4);
  STATIC_REQUIRE(offsetof(DmaMap, offset) == 8);
  STATIC_REQUIRE(offsetof(DmaMap, address) == 16);
  STATIC_REQUIRE(offsetof(DmaMap, bytes) == 24);
  STATIC_REQUIRE((kDmaReadable == 1 && kDmaWritable == 2 && kUnmapAll == 2));
  STATIC_REQUIRE(sizeof(DmaUnmap) == 24);
  STATIC_REQUIRE(offsetof(DmaUnmap, flags) == 4);
  STATIC_REQUIRE(offsetof(DmaUnmap, address) == 8);
  STATIC_REQUIRE(offsetof(DmaUnmap, bytes) == 16);
  STATIC_REQUIRE(sizeof(DeviceInfo) == 16);
  STATIC_REQUIRE((offsetof(DeviceInfo, regions) == 8 && offsetof(DeviceInfo, irqs) == 12));
  STATIC_REQUIRE(sizeof(RegionInfo) == 32);
  STATIC_REQUIRE(offsetof(RegionInfo, index) == 8);
  STATIC_REQUIRE(offsetof(RegionInfo, capability_offset) == 12);
  STATIC_REQUIRE(offsetof(RegionInfo, bytes) == 16);
  STATIC_REQUIRE(offsetof(RegionInfo, offset) == 24);
  STATIC_REQUIRE(sizeof(RegionAccess) == 16);
  STATIC_REQUIRE(offsetof(RegionAccess, region) == 8);
  STATIC_REQUIRE(offsetof(RegionAccess, count) == 12);
  STATIC_REQUIRE((sizeof(DmaAccess) == 16 && offsetof(DmaAccess, count) == 8));
}

TEST_CASE("structures that the protocol takes from VFIO are those of linux/vfio.h") {
  using namespace spec::vfio_user;
  STATIC_REQUIRE(sizeof(IrqInfo) == sizeof(vfio_irq_info));
  STATIC_REQUIRE(sizeof(IrqSet) == sizeof(vfio_irq_set));
  STATIC_REQUIRE(sizeof(RegionInfo) == sizeof(vfio_region_info));
  STATIC_REQUIRE(offsetof(IrqSet, index) == offsetof(vfio_irq_set, index));
  STATIC_REQUIRE(offsetof(IrqSet, start) == offsetof(vfio_irq_set, start));
  STATIC_REQUIRE(offsetof(IrqSet, count) == offsetof(vfio_irq_set, count));
  STATIC_REQUIRE(kIrqMsix == VFIO_PCI_MSIX_IRQ_INDEX);
  STATIC_REQUIRE(kIrqDataEventfd == VFIO_IRQ_SET_DATA_EVENTFD);
  STATIC_REQUIRE(kIrqDataNone == VFIO_IRQ_SET_DATA_NONE);
  STATIC_REQUIRE(kIrqActionTrigger == VFIO_IRQ_SET_ACTION_TRIGGER);
  STATIC_REQUIRE(kRegionReadable == VFIO_REGION_INFO_FLAG_READ);
  STATIC_REQUIRE(kRegionWritable == VFIO_REGION_INFO_FLAG_WRITE);
  STATIC_REQUIRE(kUnmapAll == VFIO_DMA_UNMAP_FLAG_ALL);
}

TEST_CASE_METHOD(test::Served, "a conversation has the published bytes") {
  const auto ask = [&](const std::string& request) {
    REQUIRE(client->send_raw(hex(request)));
    auto answer = client->receive();
    REQUIRE(answer);
    return text_of(test::bytes_of(answer->header)) + " " + text_of(answer->payload);
  };
  // id 1234, VERSION, 23 bytes: 0.1 and "{}"
  CHECK(ask("3412 0100 17000000 00000000 00000000  0000 0100  7b7d00").substr(0, 8) == "34120100");
  // DEVICE_GET_INFO, argsz 16: reset and PCI, 9 regions, 5 kinds of interrupts
  CHECK(ask("0200 0400 20000000 00000000 00000000  10000000 00000000 00000000 00000000") ==
        "02000400200000000100000000000000 10000000030000000900000005000000");
  // DEVICE_GET_REGION_INFO of BAR2: 4096 bytes, readable and writable
  CHECK(ask("0300 0500 30000000 00000000 00000000  20000000 00000000 02000000 00000000 0000000000000000 "
            "0000000000000000") ==
        "03000500300000000100000000000000 2000000003000000020000000000000000100000000000000000000000000000");
  // DEVICE_GET_IRQ_INFO of MSI-X: eventfds, maskable, 17 vectors
  CHECK(ask("0400 0700 20000000 00000000 00000000  10000000 00000000 02000000 00000000") ==
        "04000700200000000100000000000000 10000000030000000200000011000000");
  // REGION_READ of 4 bytes at 0 of BAR0: the magic, "WEFT"
  CHECK(ask("0500 0900 20000000 00000000 00000000  0000000000000000 00000000 04000000") ==
        "05000900240000000100000000000000 0000000000000000000000000400000057454654");
  // REGION_WRITE of 4 bytes: the reply has no data
  CHECK(ask("0600 0a00 24000000 00000000 00000000  4c00000000000000 00000000 04000000 01000000") ==
        "06000a00200000000100000000000000 4c000000000000000000000004000000");
  // DMA_UNMAP of no bytes: an error reply is a header alone, errno EINVAL (22)
  CHECK(ask("0700 0300 28000000 00000000 00000000  18000000 00000000 0000000000100000 0000000000000000") ==
        "07000300100000002100000016000000 ");
  // DMA_UNMAP of everything (flag 2): the reply repeats the request
  CHECK(ask("0900 0300 28000000 00000000 00000000  18000000 02000000 0000000000000000 0000000000000000") ==
        "09000300280000000100000000000000 180000000200000000000000000000000000000000000000");
  // DEVICE_RESET
  CHECK(ask("0800 0d00 10000000 00000000 00000000") == "08000d00100000000100000000000000 ");
}
