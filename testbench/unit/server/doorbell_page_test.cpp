// Doorbells that the client has mapped: by the page itself, and through the whole server.
#include "model/server/doorbell_page.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>

#include "model/server/listener.hpp"
#include "testbench/unit/server/client.hpp"

using namespace weft;
namespace hal = fw::hal;
using server::DoorbellPage;
using server::FileDescriptor;

namespace {

constexpr uint64_t kIova = 0x10000;
constexpr uint32_t kMmap = 4;  // VFIO_REGION_INFO_FLAG_MMAP

/// A client's view of the page.
class View {
 public:
  explicit View(int fd) {
    void* data = ::mmap(nullptr, WEFT_PCI_BAR2_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(data != MAP_FAILED);
    words_ = static_cast<uint32_t*>(data);
  }
  ~View() { ::munmap(words_, WEFT_PCI_BAR2_BYTES); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  std::atomic_ref<uint32_t> at(uint32_t offset) { return std::atomic_ref(words_[offset / 4]); }

 private:
  uint32_t* words_;
};

/// Counts doorbells of queue 1, and tells the newest in host memory.
void count_doorbells() {
  for (uint64_t count = 0;;) {
    hal::wait_for_event(UINT64_MAX);
    if (hal::doorbell_pending(0) == 0) continue;
    const uint64_t words[2] = {++count, hal::doorbell_submission(0, 1)};
    if (hal::dma_write(fw::host_at(0, kIova), words, sizeof words)) hal::raise_interrupt(0, 1);
  }
}

test::ServedOptions options() {
  test::firmware = count_doorbells;
  std::string error;
  test::ServedOptions made;
  made.listeners.push_back(server::Listener::make(test::socket_path(), error));
  made.permissions.map_doorbells = true;
  return made;
}

/// DEVICE_GET_REGION_INFO, and the descriptor beside its reply.
spec::vfio_user::RegionInfo region_info(test::Client& client, uint32_t index, FileDescriptor& passed) {
  const auto body = test::bytes_of(spec::vfio_user::RegionInfo{32, 0, index, 0, 0, 0});
  REQUIRE(client.send(static_cast<uint16_t>(spec::vfio_user::Command::kDeviceGetRegionInfo), body));
  struct {
    spec::vfio_user::Header header;
    spec::vfio_user::RegionInfo body;
  } reply{};
  iovec piece{&reply, sizeof reply};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  REQUIRE(::recvmsg(client.fd(), &message, MSG_WAITALL) == static_cast<ssize_t>(sizeof reply));
  if (const cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
    passed = FileDescriptor(fd);
  }
  REQUIRE((reply.header.flags & spec::vfio_user::kFlagError) == 0);
  return reply.body;
}

struct Fixture : test::Served {
  Fixture() : test::Served(options()) {
    while (::access(test::socket_path().c_str(), F_OK) != 0) continue;
    connect();
  }
  void connect() {
    client.emplace(test::connect_to(test::socket_path()));
    client->negotiate();
    REQUIRE(client->map(memory.fd(), kIova, 4096) == 0);
    REQUIRE(client->listen_to(1, std::array{event.get()}) == 0);
    const auto info = region_info(*client, test::kDoorbellBar, page);
    REQUIRE((info.flags & kMmap) != 0);
    REQUIRE(info.bytes == WEFT_PCI_BAR2_BYTES);
    REQUIRE(page.valid());
    view.emplace(page.get());
  }
  test::SharedMemory memory{4096};
  FileDescriptor event = test::event_fd();
  FileDescriptor page;
  std::optional<View> view;
};

}  // namespace

TEST_CASE("a page tells each doorbell once, in both of its parts, and no more after it was cleared") {
  const auto page = DoorbellPage::make();
  REQUIRE(page != nullptr);
  View view(page->fd());
  CHECK_FALSE(page->rung());
  CHECK_FALSE(page->take());
  view.at(8) = 5;
  view.at(12) = 6;
  CHECK(page->rung());
  const auto first = page->take();
  REQUIRE(first);
  CHECK((first->offset == 8 && first->value == 5));
  const auto second = page->take();
  REQUIRE(second);
  CHECK((second->offset == 12 && second->value == 6));
  CHECK_FALSE(page->take());
  page->put_back(*first);
  CHECK(page->take()->value == 5);
  view.at(8 * chip::Function::kQueues) = 1;  // behind the last doorbell
  CHECK_FALSE(page->rung());
  view.at(8) = 9;
  page->clear();
  CHECK_FALSE(page->rung());
  CHECK(view.at(8) == 0);
  view.at(8) = 5;
  CHECK(page->rung());
}

TEST_CASE("nobody shrinks the page under the server") {
  const auto page = DoorbellPage::make();
  CHECK(::ftruncate(page->fd(), 0) != 0);
  CHECK(::ftruncate(page->fd(), 1 << 20) != 0);
}

TEST_CASE_METHOD(Fixture, "a store rings a doorbell of a device that sleeps, and of one that works") {
  for (uint32_t i = 1; i <= 50; i++) {
    view->at(8) = i;
    REQUIRE(test::wait_for(event) >= 1);
    while (std::atomic_ref(*memory.at<uint64_t>(8)) != i) continue;
  }
}

TEST_CASE_METHOD(Fixture, "a doorbell that was stored before a message is served before it") {
  for (uint32_t i = 1; i <= 50; i++) {
    view->at(8) = i;
    CHECK(client->read(test::kDoorbellBar, 8, 4).payload[sizeof(spec::vfio_user::RegionAccess)] ==
          static_cast<std::byte>(i));
  }
}

TEST_CASE_METHOD(Fixture, "after a reset the doorbells are 0, and the value of before rings again") {
  view->at(8) = 7;
  REQUIRE(test::wait_for(event) >= 1);
  REQUIRE(client->write(0, WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY) == 0);
  CHECK(view->at(8) == 0);
  while (client->read_register(WEFT_REG_DEVICE_STATE) != WEFT_DEVICE_STATE_PRESENT) continue;
  view->at(8) = 7;
  CHECK(test::wait_for(event) >= 1);
}

TEST_CASE_METHOD(Fixture, "the next client has a page of its own") {
  FileDescriptor old = std::move(page);
  View old_view(old.get());
  client->close();
  view.reset();
  connect();
  old_view.at(8) = 3;  // reaches nothing
  view->at(8) = 1;
  REQUIRE(test::wait_for(event) >= 1);
  CHECK(client->read(test::kDoorbellBar, 8, 4).payload[sizeof(spec::vfio_user::RegionAccess)] == std::byte{1});
}

TEST_CASE_METHOD(Fixture, "other regions are not mapped, and one descriptor serves who asks again") {
  for (const uint32_t index : {0u, 1u, 4u, 7u}) {
    FileDescriptor none;
    CHECK((region_info(*client, index, none).flags & kMmap) == 0);
    CHECK_FALSE(none.valid());
  }
  FileDescriptor again;
  (void)region_info(*client, test::kDoorbellBar, again);
  View same(again.get());
  same.at(8) = 4;
  CHECK(view->at(8) == 4);
}

TEST_CASE("a server without the option maps nothing") {
  test::Served served;
  served.client->negotiate();
  FileDescriptor none;
  CHECK((region_info(*served.client, test::kDoorbellBar, none).flags & kMmap) == 0);
  CHECK_FALSE(none.valid());
}
