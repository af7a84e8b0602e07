// Each command of the protocol, good and bad.
#include "model/server/dispatcher.hpp"

#include <linux/vfio.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "testbench/unit/server/client.hpp"

using namespace weft;
using namespace weft::server;
using test::bytes_of;

namespace {

struct Fixture : test::Served {
  Fixture() { client->negotiate(); }
};

std::vector<std::byte> version_message(uint16_t major, uint16_t minor, std::string_view text) {
  auto bytes = bytes_of(vfio_user::Version{major, minor});
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

int version_error(test::Client& client, std::span<const std::byte> payload) {
  return client.request(vfio_user::Command::kVersion, payload).error();
}

}  // namespace

TEST_CASE_METHOD(test::Served, "VERSION comes first and once, and answers the capabilities that the client proposes") {
  CHECK(client->read(0, 0, 4).error() == EINVAL);
  std::string proposal = R"({"capabilities":{"max_msg_fds":3,"pgsizes":4096,"other":1}})";
  proposal.push_back(0);
  const auto reply =
      client->request(vfio_user::Command::kVersion, std::span<const std::byte>(version_message(0, 7, proposal)));
  REQUIRE(reply.error() == 0);
  CHECK(reply.as<vfio_user::Version>().major == 0);
  CHECK(reply.as<vfio_user::Version>().minor == 1);
  REQUIRE(reply.payload.back() == std::byte{0});
  const auto json =
      nlohmann::json::parse(reinterpret_cast<const char*>(reply.payload.data()) + sizeof(vfio_user::Version));
  CHECK(json == nlohmann::json{{"capabilities", {{"max_msg_fds", 8}, {"pgsizes", 4096}}}});
  CHECK(version_error(*client, version_message(0, 1, "")) == EINVAL);
  CHECK(client->read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE_METHOD(test::Served, "QEMU's VERSION gets values that QEMU accepts") {
  const auto reply = client->version(
      R"({"capabilities":{"max_msg_fds":16,"max_data_xfer_size":1048576,"max_dma_maps":65535,"pgsizes":4096,)"
      R"("migration":{"pgsize":4096,"max_bitmap_size":268435456},"write_multiple":true}})");
  REQUIRE(reply.error() == 0);
  const auto json =
      nlohmann::json::parse(reinterpret_cast<const char*>(reply.payload.data()) + sizeof(vfio_user::Version));
  CHECK(json["capabilities"]["max_msg_fds"] <= 16);
  CHECK(json["capabilities"]["max_dma_maps"] == 65535);
  CHECK(json["capabilities"]["max_data_xfer_size"] == 65536);
  CHECK_FALSE(json["capabilities"].contains("write_multiple"));
}

TEST_CASE_METHOD(test::Served, "a VERSION with bad text is refused, and a good one may follow") {
  CHECK(version_error(*client, version_message(0, 1, std::string_view("{\0", 2))) == EINVAL);
  CHECK(version_error(*client, version_message(0, 1, std::string_view("[]\0", 3))) == EINVAL);
  CHECK(version_error(*client, version_message(0, 1, "{}")) == EINVAL);
  CHECK(version_error(*client, version_message(0, 1, std::string(5000, '['))) == EINVAL);
  std::string deep(4000, '[');
  deep.push_back(0);
  CHECK(version_error(*client, version_message(0, 1, deep)) == EINVAL);
  for (const char* capabilities : {"5", "[]", R"({"max_msg_fds":"eight"})", R"({"max_msg_fds":-1})",
                                   R"({"max_msg_fds":1.5})", R"({"max_data_xfer_size":0})", R"({"max_dma_maps":null})",
                                   R"({"pgsizes":[]})", R"({"twin_socket":1})", R"({"write_multiple":1})"}) {
    CAPTURE(capabilities);
    CHECK(client->version(std::string(R"({"capabilities":)") + capabilities + "}").error() == EINVAL);
  }
  CHECK(version_error(*client, std::vector<std::byte>(3)) == EINVAL);
  client->negotiate();
}

TEST_CASE_METHOD(test::Served, "another major version ends the connection after an error") {
  CHECK(version_error(*client, version_message(1, 0, "")) == EPROTONOSUPPORT);
  CHECK_FALSE(client->receive());
}

TEST_CASE_METHOD(Fixture, "the device tells its regions and interrupts as VFIO numbers them") {
  const auto info = client->request(vfio_user::Command::kDeviceGetInfo, vfio_user::DeviceInfo{16, 0, 0, 0})
                        .as<vfio_user::DeviceInfo>();
  CHECK(info.flags == (VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI));
  CHECK(info.regions == VFIO_PCI_NUM_REGIONS);
  CHECK(info.irqs == VFIO_PCI_NUM_IRQS);
  const std::array<uint64_t, 9> sizes{
      WEFT_PCI_BAR0_BYTES, 0, WEFT_PCI_BAR2_BYTES, 0, WEFT_PCI_BAR4_BYTES, 0, 0, 4096, 0};
  for (uint32_t i = 0; i < sizes.size(); i++) {
    const auto region =
        client->request(vfio_user::Command::kDeviceGetRegionInfo, vfio_user::RegionInfo{32, 0, i, 0, 0, 0})
            .as<vfio_user::RegionInfo>();
    CHECK(region.bytes == sizes[i]);
    CHECK(region.flags == (sizes[i] != 0 ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0));
  }
  CHECK(client->request(vfio_user::Command::kDeviceGetRegionInfo, vfio_user::RegionInfo{32, 0, 9, 0, 0, 0}).error() ==
        EINVAL);
  for (uint32_t i = 0; i < VFIO_PCI_NUM_IRQS; i++) {
    const auto irq = client->request(vfio_user::Command::kDeviceGetIrqInfo, vfio_user::IrqInfo{16, 0, i, 0})
                         .as<vfio_user::IrqInfo>();
    CHECK(irq.count == (i == VFIO_PCI_MSIX_IRQ_INDEX ? WEFT_PCI_MSIX_VECTORS : 0));
  }
  CHECK(client->request(vfio_user::Command::kDeviceGetIrqInfo, vfio_user::IrqInfo{16, 0, 5, 0}).error() == EINVAL);
  CHECK(client->request(vfio_user::Command::kDeviceGetInfo, vfio_user::DeviceInfo{15, 0, 0, 0}).error() == EINVAL);
  CHECK(client->request(vfio_user::Command::kDeviceGetInfo, std::vector<std::byte>(15)).error() == EINVAL);
}

TEST_CASE_METHOD(Fixture, "region accesses are checked for region, offset, size and length") {
  CHECK(client->read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
  CHECK(client->read(0, WEFT_REG_COUNTERS, 4096).payload.size() == 4096 + 16);
  CHECK(client->read(0, 0, 65536).error() == 0);
  CHECK(client->read(0, 0, 65540).error() == EINVAL);
  CHECK(client->read(0, UINT64_MAX, 4).error() == EINVAL);
  CHECK(client->read(0, 0, UINT32_MAX).error() == EINVAL);
  CHECK(client->read(1, 0, 4).error() == EINVAL);
  CHECK(client->read(UINT32_MAX, 0, 4).error() == EINVAL);
  CHECK(client->read(0, 0, 0).error() == EINVAL);
  CHECK(client->write(0, WEFT_REG_INTERRUPT_MASK, 0x15) == 0);
  CHECK(client->read_register(WEFT_REG_INTERRUPT_MASK) == 0x15);
  auto body = client->write_body(0, WEFT_REG_INTERRUPT_MASK, 0, 4);
  body.pop_back();
  CHECK(client->request(vfio_user::Command::kRegionWrite, std::span<const std::byte>(body)).error() == EINVAL);
  body.resize(body.size() + 2);
  CHECK(client->request(vfio_user::Command::kRegionWrite, std::span<const std::byte>(body)).error() == EINVAL);
  CHECK(client->request(vfio_user::Command::kRegionWrite, std::vector<std::byte>(15)).error() == EINVAL);
  auto longer = client->write_body(0, WEFT_REG_INTERRUPT_MASK, 0, 4);  // four bytes that claim to be eight
  longer[offsetof(vfio_user::RegionAccess, count)] = std::byte{8};
  CHECK(client->request(vfio_user::Command::kRegionWrite, std::span<const std::byte>(longer)).error() == EINVAL);
  CHECK(client->read_register(WEFT_REG_INTERRUPT_MASK) == 0x15);
}

TEST_CASE_METHOD(Fixture, "DMA maps take one descriptor of memory, or none") {
  test::SharedMemory sealed(8192), unsealed(8192, 0);
  const std::vector<std::byte> body = bytes_of(vfio_user::DmaMap{32, 3, 0, 0x1000, 8192});
  const FileDescriptor event = test::event_fd();
  CHECK(
      client
          ->request(vfio_user::Command::kDmaMap, std::span<const std::byte>(body), std::array{sealed.fd(), sealed.fd()})
          .error() == EINVAL);
  CHECK(client->request(vfio_user::Command::kDmaMap, std::span(body).first(31), std::array{sealed.fd()}).error() ==
        EINVAL);
  CHECK(client->request(vfio_user::Command::kDmaMap, vfio_user::DmaMap{32, 4, 0, 0x1000, 8192}, std::array{sealed.fd()})
            .error() == EINVAL);
  CHECK(client->request(vfio_user::Command::kDmaMap, vfio_user::DmaMap{32, 0, 0, 0x1000, 8192}, std::array{sealed.fd()})
            .error() == EINVAL);
  CHECK(client->map(event.get(), 0x1000, 8192) == EPERM);
  CHECK(client->map(sealed.fd(), 0x1000, 12288) == EINVAL);
  CHECK(client->map(sealed.fd(), 0x1000, 8192) == 0);
  CHECK(client->map(sealed.fd(), 0x2000, 4096) == EEXIST);
  CHECK(client->map(unsealed.fd(), 0x10000, 8192) == 0);
  CHECK(client->request(vfio_user::Command::kDmaMap, vfio_user::DmaMap{32, 3, 4096, 0x20000, 4096}).error() ==
        EINVAL);  // no file
  CHECK(client->request(vfio_user::Command::kDmaMap, vfio_user::DmaMap{32, 1, 0, 0x20000, 4096}).error() == 0);
  CHECK(client->map(sealed.fd(), 0x20000, 4096) == EEXIST);
}

TEST_CASE_METHOD(Fixture, "any range can be unmapped, and all at once") {
  test::SharedMemory memory(16 * 4096);
  REQUIRE(client->map(memory.fd(), 0, 16 * 4096) == 0);
  const auto reply = client->request(vfio_user::Command::kDmaUnmap, vfio_user::DmaUnmap{24, 0, 0x4000, 0x2000});
  CHECK(reply.error() == 0);
  CHECK(reply.as<vfio_user::DmaUnmap>().bytes == 0x2000);
  CHECK(client->map(memory.fd(), 0x3000, 4096) == EEXIST);
  CHECK(client->map(memory.fd(), 0x4000, 8192) == 0);
  CHECK(client->map(memory.fd(), 0x6000, 4096) == EEXIST);
  CHECK(client->unmap(0x100000, 4096) == 0);  // nothing there, as with VFIO type1v2
  CHECK(client->unmap(0, 0x1000'0000) == 0);
  CHECK(client->map(memory.fd(), 0xf000, 4096) == 0);
  CHECK(client->unmap(0, 0) == EINVAL);
  CHECK(client->unmap(0x20000, 100) == 0);  // less than a page
  CHECK(client->unmap(UINT64_MAX - 4095, 8192) == EINVAL);
  CHECK(client->unmap(0, 4096, 1) == EINVAL);  // a bitmap of dirty pages
  CHECK(client->unmap(0, 4096, vfio_user::kUnmapAll) == EINVAL);
  CHECK(client->unmap(4096, 0, vfio_user::kUnmapAll) == EINVAL);
  CHECK(client->map(memory.fd(), 0xf000, 4096) == EEXIST);
  CHECK(client->unmap(0, 0, vfio_user::kUnmapAll) == 0);
  CHECK(client->map(memory.fd(), 0xf000, 4096) == 0);
}

TEST_CASE_METHOD(Fixture, "SET_IRQS checks flags, ranges, counts and descriptors") {
  constexpr uint32_t kMsix = VFIO_PCI_MSIX_IRQ_INDEX;
  const auto set = [&](uint32_t flags, uint32_t index, uint32_t start, uint32_t count, std::span<const int> fds = {}) {
    return client->request(vfio_user::Command::kDeviceSetIrqs, vfio_user::IrqSet{20, flags, index, start, count}, fds)
        .error();
  };
  constexpr uint32_t kEventfd = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
  constexpr uint32_t kTrigger = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
  const FileDescriptor event = test::event_fd();
  test::SharedMemory memory(4096);
  CHECK(set(kEventfd, kMsix, 0, 1, std::array{event.get(), event.get()}) == EINVAL);
  CHECK(set(kEventfd, kMsix, 0, 1, std::array{memory.fd()}) == EINVAL);
  CHECK(set(kEventfd, kMsix, 17, 1, std::array{event.get()}) == EINVAL);
  CHECK(set(kEventfd, kMsix, UINT32_MAX, 2) == EINVAL);
  CHECK(set(kEventfd, kMsix, 1, UINT32_MAX) == EINVAL);
  CHECK(set(kEventfd, 0, 0, 1, std::array{event.get()}) == EINVAL);
  CHECK(set(kEventfd, 5, 0, 0) == EINVAL);
  CHECK(set(kEventfd | VFIO_IRQ_SET_DATA_BOOL, kMsix, 0, 1) == EINVAL);
  CHECK(set(VFIO_IRQ_SET_DATA_NONE, kMsix, 0, 1) == EINVAL);
  CHECK(set(kTrigger | 1 << 6, kMsix, 0, 1) == EINVAL);
  CHECK(set(VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_MASK, kMsix, 0, 1, std::array{event.get()}) == ENOTSUP);
  CHECK(set(kTrigger, kMsix, 0, 1, std::array{event.get()}) == EINVAL);
  CHECK(set(VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_TRIGGER, kMsix, 0, 1) == EINVAL);

  CHECK(set(kEventfd, kMsix, 3, 1, std::array{event.get()}) == 0);
  CHECK(set(kTrigger, kMsix, 3, 1) == 0);
  CHECK(test::wait_for(event) == 1);
  CHECK(set(VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_MASK, kMsix, 3, 1) == 0);
  CHECK(set(kTrigger, kMsix, 3, 1) == 0);
  CHECK(test::wait_for(event, 20) == 0);
  CHECK(set(VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_UNMASK, kMsix, 3, 1) == 0);
  CHECK(test::wait_for(event) == 1);
  auto booleans =
      bytes_of(vfio_user::IrqSet{20 + 2, VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_TRIGGER, kMsix, 2, 2});
  booleans.insert(booleans.end(), {std::byte{0}, std::byte{1}});
  CHECK(client->request(vfio_user::Command::kDeviceSetIrqs, std::span<const std::byte>(booleans)).error() == 0);
  CHECK(test::wait_for(event) == 1);
  CHECK(set(kTrigger, kMsix, 0, 0) == 0);  // all off
  CHECK(set(kTrigger, kMsix, 3, 1) == 0);
  CHECK(test::wait_for(event, 20) == 0);
}

TEST_CASE_METHOD(Fixture, "an eventfd whose count is full does not block the server") {
  const FileDescriptor event = test::event_fd();
  const uint64_t full = UINT64_MAX - 1;
  REQUIRE(::write(event.get(), &full, sizeof full) == sizeof full);
  REQUIRE(client->listen_to(0, std::array{event.get()}) == 0);
  const auto trigger =
      vfio_user::IrqSet{20, VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_PCI_MSIX_IRQ_INDEX, 0, 1};
  CHECK(client->request(vfio_user::Command::kDeviceSetIrqs, trigger).error() == 0);
  CHECK(client->read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE_METHOD(Fixture, "unknown commands are refused, and replies from the client dropped") {
  for (const uint16_t command : {0, 6, 11, 12, 14, 15, 16, 0xffff})
    CHECK(client->request(static_cast<vfio_user::Command>(command), std::vector<std::byte>(64)).error() == ENOTSUP);
  // A reply that answers nothing gets no reply.
  REQUIRE(client->send(static_cast<uint16_t>(vfio_user::Command::kRegionRead),
                       bytes_of(vfio_user::RegionAccess{0, 0, 4}), vfio_user::kTypeReply));
  CHECK(client->read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE_METHOD(Fixture, "DEVICE_RESET counts the generation and keeps the maps") {
  test::SharedMemory memory(4096);
  REQUIRE(client->map(memory.fd(), 0, 4096) == 0);
  CHECK(client->request(vfio_user::Command::kDeviceReset, std::vector<std::byte>(1)).error() == EINVAL);
  CHECK(client->request(vfio_user::Command::kDeviceReset, std::vector<std::byte>()).error() == 0);
  CHECK(client->read_register(WEFT_REG_RESET_GENERATION) == 1);
  CHECK(client->map(memory.fd(), 0, 4096) == EEXIST);
}

TEST_CASE_METHOD(Fixture, "configuration space can be walked through the socket") {
  const auto word = [&](uint64_t offset) {
    const auto answer = client->read(VFIO_PCI_CONFIG_REGION_INDEX, offset, 4);
    uint32_t value = 0;
    std::memcpy(&value, answer.payload.data() + 16, sizeof value);
    return value;
  };
  CHECK(word(0) == (WEFT_PCI_DEVICE_ID << 16 | WEFT_PCI_VENDOR_ID));
  std::vector<uint8_t> ids;
  for (uint32_t at = word(0x34) & 0xff; at != 0; at = word(at) >> 8 & 0xff)
    ids.push_back(static_cast<uint8_t>(word(at)));
  CHECK(ids == std::vector<uint8_t>{0x11, 0x10});
}
