// The numbers and layouts of the published protocol (vfio-user 0.1: docs/interop/vfio-user.rst of QEMU,
// include/vfio-user.h of libvfio-user), written here once more by hand: both ends' own headers are compared with them,
// and a conversation in bytes.
#include <linux/vfio.h>

#include <cerrno>
#include <string>

#include "driver/transport/vfio_user_protocol.hpp"
#include "testbench/unit/server/client.hpp"

using namespace weft;
namespace theirs = driver::vfio_user;  // the driver's own
namespace ours = server;

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

template <typename Ours, typename Theirs>
constexpr bool same_size(size_t bytes) {
  return sizeof(Ours) == bytes && sizeof(Theirs) == bytes;
}

}  // namespace

TEST_CASE("commands have the published numbers at both ends") {
  const auto check = [](int number, ours::Command our, theirs::Command their) {
    CHECK(static_cast<int>(our) == number);
    CHECK(static_cast<int>(their) == number);
  };
  check(1, ours::Command::kVersion, theirs::Command::kVersion);
  check(2, ours::Command::kDmaMap, theirs::Command::kDmaMap);
  check(3, ours::Command::kDmaUnmap, theirs::Command::kDmaUnmap);
  check(4, ours::Command::kDeviceGetInfo, theirs::Command::kDeviceGetInfo);
  check(5, ours::Command::kDeviceGetRegionInfo, theirs::Command::kDeviceGetRegionInfo);
  check(7, ours::Command::kDeviceGetIrqInfo, theirs::Command::kDeviceGetIrqInfo);
  check(8, ours::Command::kDeviceSetIrqs, theirs::Command::kDeviceSetIrqs);
  check(9, ours::Command::kRegionRead, theirs::Command::kRegionRead);
  check(10, ours::Command::kRegionWrite, theirs::Command::kRegionWrite);
  check(13, ours::Command::kDeviceReset, theirs::Command::kDeviceReset);
  CHECK(static_cast<int>(ours::Command::kDeviceGetRegionIoFds) == 6);
  CHECK(static_cast<int>(ours::Command::kDmaRead) == 11);
  CHECK(static_cast<int>(ours::Command::kDmaWrite) == 12);
}

TEST_CASE("header, flags and structures have the published sizes and offsets at both ends") {
  STATIC_REQUIRE(same_size<ours::Header, theirs::Header>(16));
  STATIC_REQUIRE(offsetof(ours::Header, message_id) == 0);
  STATIC_REQUIRE(offsetof(ours::Header, command) == 2);
  STATIC_REQUIRE(offsetof(ours::Header, size) == 4);
  STATIC_REQUIRE(offsetof(ours::Header, flags) == 8);
  STATIC_REQUIRE(offsetof(ours::Header, error) == 12);
  STATIC_REQUIRE(offsetof(theirs::Header, message_id) == 0);
  STATIC_REQUIRE(offsetof(theirs::Header, command) == 2);
  STATIC_REQUIRE(offsetof(theirs::Header, message_bytes) == 4);
  STATIC_REQUIRE(offsetof(theirs::Header, flags) == 8);
  STATIC_REQUIRE(offsetof(theirs::Header, error) == 12);
  STATIC_REQUIRE((ours::kTypeMask == 0xf && theirs::kTypeMask == 0xf));
  STATIC_REQUIRE((ours::kTypeCommand == 0 && theirs::kTypeCommand == 0));
  STATIC_REQUIRE((ours::kTypeReply == 1 && theirs::kTypeReply == 1));
  STATIC_REQUIRE((ours::kFlagNoReply == 0x10 && theirs::kFlagNoReply == 0x10));
  STATIC_REQUIRE((ours::kFlagError == 0x20 && theirs::kFlagError == 0x20));
  STATIC_REQUIRE(same_size<ours::VersionBody, theirs::Version>(4));
  STATIC_REQUIRE(same_size<ours::DmaMapBody, theirs::DmaMap>(32));
  STATIC_REQUIRE((offsetof(ours::DmaMapBody, flags) == 4 && offsetof(theirs::DmaMap, flags) == 4));
  STATIC_REQUIRE((offsetof(ours::DmaMapBody, offset) == 8 && offsetof(theirs::DmaMap, fd_offset) == 8));
  STATIC_REQUIRE((offsetof(ours::DmaMapBody, address) == 16 && offsetof(theirs::DmaMap, address) == 16));
  STATIC_REQUIRE((offsetof(ours::DmaMapBody, bytes) == 24 && offsetof(theirs::DmaMap, bytes) == 24));
  STATIC_REQUIRE((ours::kDmaReadable == 1 && ours::kDmaWritable == 2));
  STATIC_REQUIRE((theirs::kDmaReadable == 1 && theirs::kDmaWritable == 2));
  STATIC_REQUIRE(same_size<ours::DmaUnmapBody, theirs::DmaUnmap>(24));
  STATIC_REQUIRE((offsetof(ours::DmaUnmapBody, address) == 8 && offsetof(theirs::DmaUnmap, address) == 8));
  STATIC_REQUIRE((offsetof(ours::DmaUnmapBody, bytes) == 16 && offsetof(theirs::DmaUnmap, bytes) == 16));
  STATIC_REQUIRE(same_size<ours::DeviceInfoBody, theirs::DeviceInfo>(16));
  STATIC_REQUIRE((offsetof(ours::DeviceInfoBody, regions) == 8 && offsetof(theirs::DeviceInfo, irqs) == 12));
  STATIC_REQUIRE(same_size<ours::RegionInfoBody, theirs::RegionInfo>(32));
  STATIC_REQUIRE((offsetof(ours::RegionInfoBody, index) == 8 && offsetof(theirs::RegionInfo, index) == 8));
  STATIC_REQUIRE((offsetof(ours::RegionInfoBody, bytes) == 16 && offsetof(theirs::RegionInfo, bytes) == 16));
  STATIC_REQUIRE((offsetof(ours::RegionInfoBody, offset) == 24 && offsetof(theirs::RegionInfo, fd_offset) == 24));
  STATIC_REQUIRE(same_size<ours::RegionAccessBody, theirs::RegionAccess>(16));
  STATIC_REQUIRE((offsetof(ours::RegionAccessBody, region) == 8 && offsetof(theirs::RegionAccess, region) == 8));
  STATIC_REQUIRE((offsetof(ours::RegionAccessBody, count) == 12 && offsetof(theirs::RegionAccess, bytes) == 12));
}

TEST_CASE("structures that the protocol takes from VFIO are those of linux/vfio.h") {
  STATIC_REQUIRE(same_size<ours::IrqInfoBody, theirs::IrqInfo>(sizeof(vfio_irq_info)));
  STATIC_REQUIRE(same_size<ours::IrqSetBody, theirs::IrqSet>(sizeof(vfio_irq_set)));
  STATIC_REQUIRE(sizeof(ours::RegionInfoBody) == sizeof(vfio_region_info));
  STATIC_REQUIRE(offsetof(ours::IrqSetBody, index) == offsetof(vfio_irq_set, index));
  STATIC_REQUIRE(offsetof(ours::IrqSetBody, start) == offsetof(vfio_irq_set, start));
  STATIC_REQUIRE(offsetof(theirs::IrqSet, count) == offsetof(vfio_irq_set, count));
  STATIC_REQUIRE(theirs::kIrqMsix == VFIO_PCI_MSIX_IRQ_INDEX);
  STATIC_REQUIRE(theirs::kIrqDataEventfd == VFIO_IRQ_SET_DATA_EVENTFD);
  STATIC_REQUIRE(theirs::kIrqDataNone == VFIO_IRQ_SET_DATA_NONE);
  STATIC_REQUIRE(theirs::kIrqActionTrigger == VFIO_IRQ_SET_ACTION_TRIGGER);
  STATIC_REQUIRE(theirs::kRegionReadable == VFIO_REGION_INFO_FLAG_READ);
  STATIC_REQUIRE(theirs::kRegionWritable == VFIO_REGION_INFO_FLAG_WRITE);
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
