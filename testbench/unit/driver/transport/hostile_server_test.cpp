// Whatever a server does to a reply, the client ends with an error that says why, within its bound, and leaks nothing.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>

#include "testbench/unit/driver/transport/scripted_server.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

/// Commands that the client sends, each with the bytes of a right reply.
struct Exchange {
  Command command;
  size_t reply_bytes;  ///< header included
  size_t least_bytes;  ///< that the client needs
};
const std::vector<Exchange> kExchanges{
    {Command::kVersion, 16 + 4 + 63, 16 + 4},
    {Command::kDeviceGetInfo, 32, 32},
    {Command::kDeviceGetRegionInfo, 48, 48},
    {Command::kDeviceGetIrqInfo, 32, 32},
    {Command::kRegionRead, 16 + 16 + 4, 16 + 16 + 4},
    {Command::kRegionWrite, 32, 16},
    {Command::kDmaMap, 16, 16},
    {Command::kDmaUnmap, 40, 40},
    {Command::kDeviceSetIrqs, 16, 16},
    {Command::kDeviceReset, 16, 16},
};

/// Every command once. The first failure.
Status converse(Server& server) {
  auto connected = connect(server);
  if (!connected.ok()) return connected.status();
  Transport& transport = *connected.value();
  uint32_t word = 0;
  if (Status s = transport.read(Region::kRegisters, 0, &word, sizeof word); !s.ok()) return s;
  if (Status s = transport.write(Region::kRegisters, 0, &word, sizeof word); !s.ok()) return s;
  if (Status s = transport.dma_map(0, 0, 0, 4096); !s.ok()) return s;
  if (Status s = transport.dma_unmap(0, 4096); !s.ok()) return s;
  std::array<int, WEFT_PCI_MSIX_VECTORS> events{};
  if (Status s = transport.set_irqs(events); !s.ok()) return s;
  return transport.reset();
}

/// A call that does not give up by itself hangs here. The client's own bound is kReplyTimeoutMs, of which a server that
/// waits longer shows that it holds; how late a busy machine notices is not the client's doing.
constexpr std::chrono::seconds kHang{60};

/// converse() with one kind of reply changed; it must fail, and not hang.
Status outcome(Command command, std::function<void(const Request&, Answer&)> change) {
  Server server(only(command, std::move(change)));
  const auto begin = std::chrono::steady_clock::now();
  Status status = converse(server);
  CHECK(std::chrono::steady_clock::now() - begin < kHang);
  CAPTURE(static_cast<int>(command));
  REQUIRE_FALSE(status.ok());
  CHECK_FALSE(status.message().empty());
  return status;
}

void check_lost(Command command, std::function<void(const Request&, Answer&)> change) {
  CHECK(outcome(command, std::move(change)).code() == WEFT_ERROR_DEVICE_LOST);
}

void say(Answer& a, const std::string& json) {
  a.payload = bytes_of(Version{0, 1}, json + '\0');
  a.header.size = static_cast<uint32_t>(sizeof a.header + a.payload.size());
}

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count++;
  return count;
}

}  // namespace

TEST_CASE("a right reply to every command lets the client pass") {
  Server server;
  const Status status = converse(server);
  CHECK(status.ok());
  for (const Exchange& e : kExchanges) {
    const auto& requests = server.requests();
    CHECK(std::any_of(requests.begin(), requests.end(),
                      [&](const Request& r) { return r.header.command == static_cast<uint16_t>(e.command); }));
  }
}

TEST_CASE("a reply that ends at any byte with its connection is a lost device") {
  for (const Exchange& e : kExchanges) {
    for (size_t cut = 0; cut < e.reply_bytes; cut++) {
      CAPTURE(cut);
      check_lost(e.command, [&](const Request&, Answer& a) {
        REQUIRE(a.header.size >= e.reply_bytes);
        a.send_bytes = cut;
        a.close_after = true;
      });
    }
  }
}

TEST_CASE("a reply that counts fewer bytes than its command needs is an error") {
  for (const Exchange& e : kExchanges) {
    for (size_t bytes = 16; bytes < e.least_bytes; bytes++) {
      CAPTURE(bytes);
      check_lost(e.command, [&](const Request&, Answer& a) { resize(a, bytes - 16); });
    }
  }
}

TEST_CASE("a reply to something else, of another kind or of no sane size is a lost device") {
  for (const Exchange& e : kExchanges) {
    check_lost(e.command, [](const Request&, Answer& a) { a.header.message_id ^= 0x8000; });
    check_lost(e.command, [](const Request&, Answer& a) { a.header.command ^= 0x40; });
    check_lost(e.command, [](const Request&, Answer& a) { a.header.flags = kTypeCommand; });
    check_lost(e.command, [](const Request&, Answer& a) { a.header.flags = 7; });
    for (const uint32_t bytes : {0u, 1u, 15u, VfioUserSocket::kMaxDataBytes + 4097u, 0x7fffffffu, 0xffffffffu})
      check_lost(e.command, [=](const Request&, Answer& a) { a.header.size = bytes; });
  }
}

TEST_CASE("an error reply to any command is an error of that command, whatever its number") {
  const std::vector<std::pair<uint32_t, weft_error>> kinds{
      {EBUSY, WEFT_ERROR_BUSY},           {ENOMEM, WEFT_ERROR_NO_HOST_MEMORY},
      {ENOTSUP, WEFT_ERROR_UNSUPPORTED},  {EINVAL, WEFT_ERROR_INVALID_ARGUMENT},
      {0, WEFT_ERROR_INVALID_ARGUMENT},   {0xffffffff, WEFT_ERROR_INVALID_ARGUMENT},
      {4096, WEFT_ERROR_INVALID_ARGUMENT}};
  for (const Exchange& e : kExchanges) {
    for (const auto& [number, code] : kinds) {
      const Status status = outcome(e.command, [number = number](const Request&, Answer& a) {
        resize(a, 0);
        a.header.flags |= kFlagError;
        a.header.error = number;
      });
      CHECK(status.code() == code);
      CHECK_THAT(status.message(), Contains("vfio-user command " + std::to_string(static_cast<int>(e.command))) &&
                                       Contains("errno " + std::to_string(number)));
    }
  }
}

TEST_CASE("descriptors that nobody asked for are closed") {
  const size_t before = open_descriptors();
  {
    Server server([](const Request&, Answer& a) { a.descriptors.assign(30, STDIN_FILENO); });
    CHECK(converse(server).ok());
    CHECK(open_descriptors() < before + 10);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("a reply that trickles is given up when the time of one reply is over") {
  check_lost(Command::kDeviceGetInfo, [](const Request&, Answer& a) { a.pause_ms = kReplyTimeoutMs / 8; });
}

TEST_CASE("a server that reads nothing holds up a post no longer than a reply") {
  Server server(only(Command::kRegionRead, [](const Request&, Answer& a) { a.deaf_after = true; }));
  auto connected = connect(server);
  REQUIRE(connected.ok());
  std::vector<unsigned char> data(65536);
  REQUIRE(connected.value()->read(Region::kRegisters, 0, data.data(), 4).ok());
  const auto begin = std::chrono::steady_clock::now();
  Status status;
  for (int i = 0; i < 1000 && status.ok(); i++)
    status = connected.value()->post(Region::kRegisters, 0, data.data(), static_cast<uint32_t>(data.size()));
  CHECK(status.code() == WEFT_ERROR_DEVICE_LOST);
  CHECK_THAT(status.message(), Contains("reads nothing"));
  CHECK(std::chrono::steady_clock::now() - begin < kHang);
}

TEST_CASE("a VERSION reply with hostile JSON is refused in one line") {
  const auto refusal = [](const std::string& json) {
    const Status status = outcome(Command::kVersion, [&](const Request&, Answer& a) { say(a, json); });
    CHECK(status.message().size() < 300);
    return status.message();
  };
  const std::string deep(500'000, '[');
  CHECK_THAT(refusal(deep), Contains("no JSON object"));
  CHECK_THAT(refusal(R"({"capabilities":{"max_msg_fds":)" + deep + std::string(500'000, ']') + "}}"),
             Contains("JSON array"));
  CHECK_THAT(refusal(R"({"capabilities":{"max_msg_fds":-1}})"), Contains("max_msg_fds"));
  CHECK_THAT(refusal(R"({"capabilities":{"max_msg_fds":1e99}})"), Contains("max_msg_fds"));
  CHECK_THAT(refusal("{\"capabilities\":{\"max_msg_fds\":\"\xff\"}}"), Contains("no JSON object"));
  CHECK_THAT(refusal(std::string(1'000'000, 'x')), Contains("and more"));
}

TEST_CASE("a server that does not tell its descriptors takes one in a message, as the protocol says") {
  const auto [name, json] = GENERATE(table<std::string, std::string>(
      {{"no text", ""}, {"no capabilities", "{}"}, {"other capabilities", R"({"capabilities":{"pgsizes":4096}})"}}));
  CAPTURE(name);
  Server server(only(Command::kVersion, [json = json](const Request&, Answer& a) {
    if (json.empty()) return resize(a, sizeof(Version));
    say(a, json);
  }));
  REQUIRE(converse(server).ok());
  size_t messages = 0;
  for (const Request& request : server.requests()) {
    if (request.header.command != static_cast<uint16_t>(Command::kDeviceSetIrqs)) continue;
    CHECK(request.descriptors == 1);
    messages++;
  }
  CHECK(messages == WEFT_PCI_MSIX_VECTORS);
}
