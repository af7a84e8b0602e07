// Memory that the client has not shared: the device reaches it by DMA_READ and DMA_WRITE messages. What the messages
// look like is written here by the protocol's text.
#include "model/server/client_memory.hpp"

#include <linux/vfio.h>

#include <chrono>

#include "testbench/unit/server/client.hpp"

using namespace weft;
using namespace weft::server;
namespace hal = fw::hal;
namespace limits = chip::tenant_limits;

namespace {

constexpr uint64_t kIova = 0x10000;
constexpr uint32_t kBytes = 40;

/// At a doorbell of function f: reads kBytes of host memory, adds one to each, writes them back, raises vector 1;
/// vector 2 if it could not.
void answer_doorbells() {
  for (;;) {
    hal::wait_for_event(UINT64_MAX);
    uint32_t departed = 0;
    const uint32_t requests = hal::function_requests(&departed);
    for (uint32_t f = 0; f < 2; f++) {
      if ((requests >> f & 1) != 0) hal::function_write(f, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_PRESENT);
      if (hal::doorbell_pending(f) == 0) continue;
      std::array<uint8_t, kBytes> data{};
      bool ok = hal::dma_read(fw::host_at(f, kIova), data.data(), kBytes);
      for (uint8_t& byte : data) byte++;
      ok = ok && hal::dma_write(fw::host_at(f, kIova), data.data(), kBytes);
      hal::raise_interrupt(f, ok ? 1 : 2);
    }
  }
}

struct Fixture {
  Fixture() {
    test::firmware = answer_doorbells;
    test::ServedOptions options;
    std::string error;
    for (const std::string& path : paths) options.listeners.push_back(Listener::make(path, error));
    served.emplace(std::move(options));
    client.emplace(test::connect_to(paths[0]));
  }
  void start(std::string_view capabilities = {}) {
    REQUIRE(client->version(capabilities).error() == 0);
    REQUIRE(client->request(vfio_user::Command::kDmaMap, vfio_user::DmaMap{32, 3, 0, kIova, 4096}).error() == 0);
    REQUIRE(client->listen_to(1, std::array{done.get(), failed.get()}) == 0);
    for (size_t i = 0; i < memory.size(); i++) memory[i] = static_cast<std::byte>(i);
  }
  /// The server's next command: its number, address, count, and data.
  struct Asked {
    vfio_user::Header header{};
    uint64_t address = 0, count = 0;
    std::vector<std::byte> data;
  };
  Asked asked() {
    Asked asked;
    REQUIRE(read_whole(std::as_writable_bytes(std::span(&asked.header, 1))));
    REQUIRE(asked.header.flags == 0);
    std::array<std::byte, 16> body;
    REQUIRE(read_whole(body));
    std::memcpy(&asked.address, body.data(), 8);
    std::memcpy(&asked.count, &body[8], 8);
    asked.data.resize(asked.header.size - 32);
    REQUIRE(read_whole(asked.data));
    REQUIRE(asked.address >= kIova);
    REQUIRE(asked.address + asked.count <= kIova + memory.size());
    return asked;
  }
  bool read_whole(std::span<std::byte> place) {
    while (!place.empty()) {
      pollfd p{client->fd(), POLLIN, 0};
      if (::poll(&p, 1, test::kReplyTimeoutMs) != 1) return false;
      const ssize_t got = ::recv(client->fd(), place.data(), place.size(), 0);
      if (got <= 0) return false;
      place = place.subspan(static_cast<size_t>(got));
    }
    return true;
  }
  void reply(const Asked& to, std::span<const std::byte> payload, uint32_t error = 0) {
    const vfio_user::Header header{to.header.message_id, to.header.command, static_cast<uint32_t>(16 + payload.size()),
                                   error != 0 ? 0x21u : 0x1u, error};
    auto bytes = test::bytes_of(header);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    REQUIRE(client->send_raw(bytes));
  }
  /// Does what is asked. `count_bytes`: of the count in the reply to a write.
  void serve(const Asked& asked, size_t count_bytes = 8) {
    auto payload = test::bytes_of(asked.address);
    const auto count = test::bytes_of(asked.count);
    payload.insert(payload.end(), count.begin(), count.begin() + static_cast<ptrdiff_t>(count_bytes));
    const auto place = std::span(memory).subspan(asked.address - kIova, asked.count);
    if (asked.header.command == 11) {
      payload.insert(payload.end(), place.begin(), place.end());
    } else {
      REQUIRE(asked.data.size() == asked.count);
      std::ranges::copy(asked.data, place.begin());
    }
    reply(asked, payload);
  }

  const std::vector<std::string> paths{test::socket_path() + "_0", test::socket_path() + "_1"};
  std::optional<test::Served> served;
  std::optional<test::Client> client;
  FileDescriptor done = test::event_fd(), failed = test::event_fd();
  std::vector<std::byte> memory = std::vector<std::byte>(4096);
};

}  // namespace

TEST_CASE_METHOD(Fixture, "the device reads and writes memory that is not shared by messages to the client") {
  start();
  client->post(test::kDoorbellBar, 8, 1);
  const Asked read = asked();
  CHECK(read.header.command == 11);
  CHECK(read.header.size == 32);
  CHECK(read.address == kIova);
  CHECK(read.count == kBytes);
  serve(read);
  const Asked first = asked();  // all but the last word, which lands after it
  CHECK(first.header.command == 12);
  CHECK(first.header.size == 32 + kBytes);
  CHECK(first.count == kBytes);
  serve(first, 4);  // as the protocol's text has it
  CHECK(test::wait_for(done) == 1);
  for (uint32_t i = 0; i < 2 * kBytes; i++) CHECK(memory[i] == static_cast<std::byte>(i < kBytes ? i + 1 : i));
  CHECK(client->read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE_METHOD(Fixture, "a client that takes little data in a message gets little") {
  start(R"({"capabilities":{"max_data_xfer_size":16}})");
  client->post(test::kDoorbellBar, 8, 1);
  uint64_t reads = 0, writes = 0;
  while (reads + writes < 2 * kBytes) {
    const Asked next = asked();
    CHECK(next.count <= 16);
    (next.header.command == 11 ? reads : writes) += next.count;
    serve(next);
  }
  CHECK(reads == kBytes);
  CHECK(test::wait_for(done) == 1);
  CHECK(memory[kBytes - 1] == static_cast<std::byte>(kBytes));
}

TEST_CASE_METHOD(Fixture, "messages that the client sends before its reply are served after it, in their order") {
  start();
  client->post(test::kDoorbellBar, 8, 1);
  const Asked read = asked();
  for (size_t i = 0; i < limits::kMessagesKept; i++)
    REQUIRE(client->send(
        9, test::bytes_of(vfio_user::RegionAccess{i % 2 == 0 ? WEFT_REG_MAGIC : WEFT_REG_ABI_VERSION, 0, 4})));
  serve(read);
  serve(asked());
  CHECK(test::wait_for(done) == 1);
  for (size_t i = 0; i < limits::kMessagesKept; i++) {
    const auto answer = client->receive();
    REQUIRE(answer);
    uint32_t value = 0;
    std::memcpy(&value, &answer->payload[16], sizeof value);
    CHECK(value == (i % 2 == 0 ? WEFT_MAGIC : WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR));
  }
}

TEST_CASE_METHOD(Fixture, "a client that sends more than 64 messages before its reply is let go") {
  start();
  client->post(test::kDoorbellBar, 8, 1);
  (void)asked();
  for (size_t i = 0; i <= limits::kMessagesKept; i++)
    (void)client->send(9, test::bytes_of(vfio_user::RegionAccess{WEFT_REG_MAGIC, 0, 4}));
  for (int i = 0; i <= static_cast<int>(limits::kMessagesKept) && client->receive(); i++) {
  }
  CHECK_FALSE(client->receive());
}

TEST_CASE_METHOD(Fixture, "a client that refuses an access, or answers nonsense, fails it and is served on") {
  start();
  uint32_t tail = 0;
  const auto fails = [&](const std::function<void(const Asked&)>& answer) {
    client->post(test::kDoorbellBar, 8, ++tail);
    answer(asked());
    CHECK(test::wait_for(failed) == 1);
    CHECK(client->read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
  };
  fails([&](const Asked& a) { reply(a, {}, EFAULT); });
  fails([&](const Asked& a) { reply(a, {}); });
  fails([&](const Asked& a) { reply(a, std::vector<std::byte>(15)); });
  fails([&](const Asked& a) { reply(a, std::vector<std::byte>(16 + kBytes)); });  // of another address
  fails([&](const Asked& a) {
    auto payload = test::bytes_of(vfio_user::DmaAccess{a.address, a.count});
    payload.resize(payload.size() + kBytes - 1);
    reply(a, payload);
  });
  fails([&](const Asked& a) { reply(a, std::vector<std::byte>(kMaxMessageBytes)); });
  client->post(test::kDoorbellBar, 8, ++tail);
  serve(asked());
  serve(asked());
  CHECK(test::wait_for(done) == 1);
}

TEST_CASE_METHOD(Fixture, "a client that does not answer is let go after its time, and the others go on") {
  start();
  test::Client honest(test::connect_to(paths[1]));
  honest.negotiate();
  test::SharedMemory shared(4096);
  const FileDescriptor event = test::event_fd();
  REQUIRE(honest.map(shared.fd(), kIova, 4096) == 0);
  REQUIRE(honest.listen_to(1, std::array{event.get()}) == 0);
  client->post(test::kDoorbellBar, 8, 1);
  (void)asked();
  const auto begin = std::chrono::steady_clock::now();
  honest.post(test::kDoorbellBar, 8, 1);
  CHECK(test::wait_for(event) == 1);
  CHECK(std::chrono::steady_clock::now() - begin < 3 * limits::kDmaReply);
  while (client->receive()) {
  }
  // The next client of the function has used up what it could use beyond its share: its accesses fail, and cost
  // nothing.
  std::optional<test::Client> next;
  for (;;) {
    next.emplace(test::connect_to(paths[0]));
    if (!next->send(1, test::bytes_of(vfio_user::Version{0, 1}))) continue;
    const auto answer = next->receive();
    if (answer && answer->error() == 0) break;
  }
  honest.post(test::kDoorbellBar, 8, 2);
  CHECK(test::wait_for(event) == 1);
}

TEST_CASE("a tenant beside others earns the time for which the server waits, and alone it need not") {
  using Clock = WaitCredit::Clock;
  const auto start = Clock::now();
  WaitCredit credit;
  credit.set_tenants(4, start);
  CHECK(credit.allows(start));
  credit.spend(limits::kDmaCredit + std::chrono::milliseconds(100));
  CHECK_FALSE(credit.allows(start + std::chrono::milliseconds(399)));
  CHECK(credit.allows(start + std::chrono::milliseconds(450)));
  credit.spend(std::chrono::hours(1));
  CHECK_FALSE(credit.allows(start + std::chrono::seconds(10)));
  credit.set_tenants(1, start + std::chrono::seconds(10));
  CHECK(credit.allows(start + std::chrono::seconds(10)));
}
