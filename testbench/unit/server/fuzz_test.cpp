// Garbage: whatever comes through the socket, the server answers with errors or closes, and the next client is served.
#include <random>

#include "testbench/unit/server/client.hpp"

using namespace weft;
using namespace weft::server;

namespace {

constexpr int kMessages = 20'000;

uint64_t seed_of_run() {
  const uint64_t seed = Catch::rngSeed() != 0 ? Catch::rngSeed() : 20'240'607;
  WARN("seed " << seed << " (rerun with --rng-seed)");
  return seed;
}

/// Reads all replies that are there, so that neither side waits for the other.
void drain(const test::Client& client) {
  std::array<std::byte, 65536> sink;
  while (::recv(client.fd(), sink.data(), sink.size(), MSG_DONTWAIT) > 0) {
  }
}

/// Valid requests, to be spoilt.
std::vector<std::vector<std::byte>> templates() {
  using test::bytes_of;
  const auto message = [](vfio_user::Command command, std::vector<std::byte> payload) {
    auto bytes = bytes_of(vfio_user::Header{1, static_cast<uint16_t>(command),
                                            static_cast<uint32_t>(sizeof(vfio_user::Header) + payload.size()), 0, 0});
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
  };
  auto write = bytes_of(vfio_user::RegionAccess{WEFT_REG_INTERRUPT_MASK, 0, 4});
  write.resize(write.size() + 4);
  return {message(vfio_user::Command::kDmaMap, bytes_of(vfio_user::DmaMap{32, 3, 0, 0x1000, 4096})),
          message(vfio_user::Command::kDmaUnmap, bytes_of(vfio_user::DmaUnmap{24, 0, 0x1000, 4096})),
          message(vfio_user::Command::kDeviceGetInfo, bytes_of(vfio_user::DeviceInfo{16, 0, 0, 0})),
          message(vfio_user::Command::kDeviceGetRegionInfo, bytes_of(vfio_user::RegionInfo{32, 0, 0, 0, 0, 0})),
          message(vfio_user::Command::kDeviceGetIrqInfo, bytes_of(vfio_user::IrqInfo{16, 0, 2, 0})),
          message(vfio_user::Command::kDeviceSetIrqs, bytes_of(vfio_user::IrqSet{20, 36, 2, 0, 1})),
          message(vfio_user::Command::kRegionRead, bytes_of(vfio_user::RegionAccess{0, 0, 4})),
          message(vfio_user::Command::kRegionWrite, write),
          message(vfio_user::Command::kDeviceReset, {})};
}

/// A server that takes one client after the other, so that a closed connection can be opened again.
struct Fixture {
  Fixture() : path(test::socket_path()) {
    std::string error;
    served.emplace(Listener::make(path, error));
  }
  /// A negotiated connection; waits until the server has let go of the last one.
  test::Client connect() {
    for (;;) {
      FileDescriptor fd = test::connect_to(path);
      REQUIRE(fd.valid());
      test::Client client(std::move(fd));
      if (!client.send(1, test::bytes_of(vfio_user::Version{0, 1}))) continue;
      const auto answer = client.receive();
      if (answer && answer->error() == 0) return client;
    }
  }
  void reconnect(test::Client& client) {
    client.close();
    client = connect();
  }

  std::string path;
  std::optional<test::Served> served;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "requests with flipped bits get answers, and the server lives") {
  std::mt19937_64 random(seed_of_run());
  const auto good = templates();
  test::SharedMemory memory(4096);
  const FileDescriptor event = test::event_fd();
  test::Client client = connect();
  int errors = 0;
  for (int i = 0; i < kMessages; i++) {
    auto bytes = good[random() % good.size()];
    for (uint64_t flips = random() % 4; flips != 0; flips--) {
      const size_t at = random() % bytes.size();
      if (at >= 4 && at < 12) continue;  // framing has its own tests
      bytes[at] ^= static_cast<std::byte>(1 << random() % 8);
    }
    const int fd = random() % 2 == 0 ? memory.fd() : event.get();
    const bool sent = client.send_raw(bytes, random() % 3 == 0 ? std::span(&fd, 1) : std::span<const int>());
    REQUIRE(sent);
    const auto answer = client.receive();
    REQUIRE(answer);
    if (answer->error() != 0) errors++;
  }
  CHECK(errors > kMessages / 10);
  CHECK(client.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE_METHOD(Fixture,
                 "sizes that lie about the message get an error or end the connection, and the next client is served") {
  std::mt19937_64 random(seed_of_run());
  const auto good = templates();
  test::Client client = connect();
  for (int i = 0; i < 3000; i++) {
    auto bytes = good[random() % good.size()];
    const uint32_t size = random() % 2 == 0 ? static_cast<uint32_t>(random() % 200) : static_cast<uint32_t>(random());
    std::memcpy(&bytes[4], &size, sizeof size);
    const bool sent = client.send_raw(bytes);
    drain(client);
    if (!sent || random() % 4 == 0) reconnect(client);
  }
  reconnect(client);
  CHECK(client.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE_METHOD(Fixture, "random bytes never stop the server") {
  std::mt19937_64 random(seed_of_run());
  test::Client client = connect();
  for (int i = 0; i < 3000; i++) {
    std::vector<std::byte> bytes(1 + random() % 300);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random() % 4 == 0 ? random() : 0);
    const bool sent = client.send_raw(bytes);
    drain(client);
    if (!sent || random() % 8 == 0) reconnect(client);
  }
  reconnect(client);
  CHECK(client.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE_METHOD(Fixture, "a message shorter than its header is answered with EINVAL and the connection closed") {
  test::Client client = connect();
  REQUIRE(client.send_raw(test::bytes_of(vfio_user::Header{7, 9, 15, 0, 0})));
  CHECK(client.receive()->error() == EINVAL);
  CHECK_FALSE(client.receive());
}

TEST_CASE_METHOD(Fixture, "a message that is too long is skipped, answered with EMSGSIZE, and the next one is served") {
  test::Client client = connect();
  std::vector<std::byte> bytes = test::bytes_of(vfio_user::Header{7, 10, 200'000, 0, 0});
  bytes.resize(200'000, std::byte{0xff});
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(client.fd(), &bytes[sent], bytes.size() - sent, MSG_NOSIGNAL);
    REQUIRE(n > 0);
    sent += static_cast<size_t>(n);
  }
  CHECK(client.receive()->error() == EMSGSIZE);
  CHECK(client.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE_METHOD(Fixture, "a message in single bytes is one message") {
  test::Client client = connect();
  auto bytes = test::bytes_of(vfio_user::Header{7, 9, 32, 0, 0});
  const auto body = test::bytes_of(vfio_user::RegionAccess{WEFT_REG_MAGIC, 0, 4});
  bytes.insert(bytes.end(), body.begin(), body.end());
  for (const std::byte& b : bytes) REQUIRE(client.send_raw(std::span(&b, 1)));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->error() == 0);
  CHECK(answer->payload.size() == 20);
}

TEST_CASE_METHOD(Fixture, "more descriptors than a message may have are refused and closed") {
  test::Client client = connect();
  const FileDescriptor event = test::event_fd();
  const std::vector<int> fds(chip::tenant_limits::kMessageDescriptors + 1, event.get());
  REQUIRE(client.send(9, test::bytes_of(vfio_user::RegionAccess{0, 0, 4}), 0, fds));
  CHECK(client.receive()->error() == EMFILE);
  CHECK(client.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE_METHOD(Fixture, "a client that sends and never reads does not stop the server or fill its memory") {
  test::Client client = connect();
  auto read = test::bytes_of(vfio_user::Header{1, 9, 32, 0, 0});
  const auto body = test::bytes_of(vfio_user::RegionAccess{0, 0, 65536});
  read.insert(read.end(), body.begin(), body.end());
  for (int i = 0; i < 10'000; i++) {
    if (::send(client.fd(), read.data(), read.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
  }
  reconnect(client);
  CHECK(client.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
}
