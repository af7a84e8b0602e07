// The loop: round trips, clients that come and go, and what time does meanwhile.
#include "model/server/server.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>

#include "testbench/unit/server/client.hpp"

using namespace weft;
using namespace weft::server;
namespace hal = fw::hal;

namespace {

constexpr uint64_t kIova = 0x10000;

/// At a doorbell of queue q: reads a word of host memory, adds one, writes it back with a stamp, raises vector 1. A
/// tail of kEndless: works for ever.
constexpr uint32_t kEndless = UINT32_MAX;
void answer_doorbells() {
  for (;;) {
    hal::wait_for_event(UINT64_MAX);
    if (hal::doorbell_pending(0) == 0) continue;
    while (hal::doorbell_submission(0, 1) == kEndless) hal::charge(1000);
    uint64_t words[2] = {};
    if (!hal::dma_read(fw::host_at(0, kIova), &words[1], 8)) continue;
    words[0] = hal::now();
    words[1]++;
    if (hal::dma_write(fw::host_at(0, kIova), &words[1], 8)) hal::raise_interrupt(0, 1);
  }
}

struct Working {
  Working() { test::firmware = answer_doorbells; }
};

struct Fixture : Working, test::Served {
  Fixture() {
    client->negotiate();
    REQUIRE(client->map(memory.fd(), kIova, 4096) == 0);
    REQUIRE(client->listen_to(0, std::array{event0.get(), event1.get()}) == 0);
  }
  test::SharedMemory memory{4096};
  FileDescriptor event0 = test::event_fd();
  FileDescriptor event1 = test::event_fd();
};

double microseconds_each(int count, const std::function<void()>& action) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; i++) action();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / count;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a doorbell reaches the firmware, whose answer comes by memory and eventfd") {
  for (uint32_t i = 1; i <= 100; i++) {
    client->post(test::kDoorbellBar, 8, i);
    REQUIRE(test::wait_for(event1) == 1);
    REQUIRE(*memory.at<uint64_t>(0) == i);
  }
}

TEST_CASE_METHOD(Fixture, "posts keep their order with reads, and need no reply") {
  client->post(0, WEFT_REG_INTERRUPT_MASK, 1);
  client->post(0, WEFT_REG_INTERRUPT_MASK, 2);
  CHECK(client->read_register(WEFT_REG_INTERRUPT_MASK) == 2);
}

TEST_CASE_METHOD(Fixture, "a wait on an idle device is told so at once") {
  REQUIRE(client->write(0, WEFT_REG_WAIT_ALARM, UINT64_MAX, 8) == 0);
  CHECK(test::wait_for(event0) == 1);
  CHECK(client->read_register(WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_IDLE_WITH_OUTSTANDING);
}

TEST_CASE_METHOD(Fixture, "a doorbell in front of a wait is served before the device counts as idle") {
  for (uint32_t i = 1; i <= 50; i++) {
    client->post(test::kDoorbellBar, 8, i);
    REQUIRE(client->write(0, WEFT_REG_WAIT_ALARM, UINT64_MAX, 8) == 0);
    REQUIRE(test::wait_for(event0) == 1);
    REQUIRE(*memory.at<uint64_t>(0) == i);
  }
}

TEST_CASE_METHOD(Fixture, "a deadline in device cycles ends a wait on endless work, and a reset ends the work") {
  REQUIRE(client->write(0, WEFT_REG_FIRMWARE_WATCHDOG, UINT32_MAX) == 0);  // the stand-in beats no heart
  client->post(test::kDoorbellBar, 8, kEndless);
  const uint64_t alarm = client->read_register(WEFT_REG_CYCLES, 8) + 3'000'000;
  REQUIRE(client->write(0, WEFT_REG_WAIT_ALARM, alarm, 8) == 0);
  REQUIRE(test::wait_for(event0) == 1);
  CHECK(client->read_register(WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_DEADLINE);
  CHECK(client->read_register(WEFT_REG_CYCLES, 8) >= alarm);
  REQUIRE(client->write(0, WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY) == 0);
  while (client->read_register(WEFT_REG_DEVICE_STATE) != WEFT_DEVICE_STATE_PRESENT) continue;
  client->post(test::kDoorbellBar, 8, 1);
  CHECK(test::wait_for(event1) == 1);
}

TEST_CASE_METHOD(Fixture, "the server ends when its only client leaves, also in the middle of endless work") {
  client->post(test::kDoorbellBar, 8, kEndless);
  client->close();
  join();
}

TEST_CASE_METHOD(Fixture, "the server ends when its client leaves in the middle of a message") {
  const auto body = test::bytes_of(vfio_user::Header{1, 9, 32, 0, 0});
  REQUIRE(client->send_raw(std::span(body).first(10)));
  client->close();
  join();
}

TEST_CASE_METHOD(Working, "a listening server refuses a second client as busy and takes it when the first has left") {
  const std::string path = test::socket_path();
  std::string error;
  auto listener = Listener::make(path, error);
  REQUIRE(listener != nullptr);
  test::SharedMemory memory(4096);
  {
    test::Served served(std::move(listener));
    test::Client first(test::connect_to(path));
    first.negotiate();
    REQUIRE(first.map(memory.fd(), 0, 4096) == 0);
    REQUIRE(first.write(0, WEFT_REG_INTERRUPT_MASK, 7) == 0);
    test::Client second(test::connect_to(path));
    CHECK(second.request(vfio_user::Command::kVersion, vfio_user::Version{0, 1}).error() == EBUSY);
    CHECK_FALSE(second.receive());
    CHECK(first.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
    first.close();
    test::Client third(test::connect_to(path));
    third.negotiate();
    CHECK(third.read_register(WEFT_REG_INTERRUPT_MASK) == 0);
    CHECK(third.map(memory.fd(), 0, 4096) == 0);
  }
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE_METHOD(Working, "a client that comes after one has left is not refused") {
  const std::string path = test::socket_path();
  std::string error;
  test::Served served(Listener::make(path, error));
  constexpr int kClients = 3000;
  for (int i = 0; i < kClients; i++) {
    INFO("client " << i);
    test::Client client(test::connect_to(path));
    REQUIRE(client.version().error() == 0);
  }
}

TEST_CASE_METHOD(Working, "a message of no type is refused, and a reply to nothing gets no answer") {
  const std::string path = test::socket_path();
  std::string error;
  test::Served served(Listener::make(path, error));
  test::Client client(test::connect_to(path));
  client.negotiate();
  const auto body = test::bytes_of(vfio_user::DeviceInfo{16, 0, 0, 0});
  for (const uint32_t type : {2u, 15u}) {
    REQUIRE(client.send(static_cast<uint16_t>(vfio_user::Command::kDeviceGetInfo), body, type));
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->error() == EINVAL);
  }
  REQUIRE(client.send(static_cast<uint16_t>(vfio_user::Command::kDmaRead), body, vfio_user::kTypeReply));
  // Too long for any message: whatever is wrong with a reply, nothing answers it.
  REQUIRE(client.send(static_cast<uint16_t>(vfio_user::Command::kDmaRead), std::vector<std::byte>(1 << 20),
                      vfio_user::kTypeReply));
  CHECK(client.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE("a path that is served is not taken, one left over by a dead server is") {
  const std::string path = test::socket_path();
  std::string error;
  auto first = Listener::make(path, error);
  REQUIRE(first != nullptr);
  CHECK(Listener::make(path, error) == nullptr);
  CHECK(error.find(path) != std::string::npos);
  first.reset();
  CHECK(::access(path.c_str(), F_OK) != 0);
  {
    const FileDescriptor dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = test::socket_address(path);
    REQUIRE(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  REQUIRE(::access(path.c_str(), F_OK) == 0);
  CHECK(Listener::make(path, error) != nullptr);
  CHECK(Listener::make("", error) == nullptr);
  CHECK(Listener::make(std::string(200, 'x'), error) == nullptr);
}

TEST_CASE("a path whose name is there takes connections") {
  for (int i = 0; i < 200; i++) {
    const std::string path = test::socket_path();
    int refused = 0;
    std::thread client([&] {
      while (::access(path.c_str(), F_OK) != 0) {
      }
      const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const sockaddr_un address = test::socket_address(path);
      refused = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
    });
    std::string error;
    const auto listener = Listener::make(path, error);
    client.join();
    INFO(error);
    CHECK(listener != nullptr);
    CHECK(refused == 0);
  }
}

TEST_CASE("a file that is no socket keeps its path") {
  const std::string path = test::socket_path();
  std::ofstream(path) << "a user's file";
  std::string error;
  CHECK(Listener::make(path, error) == nullptr);
  CHECK(error.find("in use") != std::string::npos);
  CHECK(std::filesystem::file_size(path) == 13);
  std::filesystem::remove(path);
}

TEST_CASE_METHOD(Fixture, "round trips, measured", "[.measure]") {
  uint32_t tail = 0;
  WARN("register read: " << microseconds_each(20'000, [&] { (void)client->read_register(WEFT_REG_CYCLES, 8); })
                         << " us");
  WARN("doorbell to eventfd: " << microseconds_each(20'000, [&] {
         client->post(test::kDoorbellBar, 8, ++tail);
         (void)test::wait_for(event1);
       }) << " us");
}
