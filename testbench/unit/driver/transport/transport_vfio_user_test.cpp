// The vfio-user client against a server that plays by the rules, and against servers that do not.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "testbench/unit/driver/transport/scripted_server.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

TEST_CASE("requests have the published layout") {
  Server server;
  {
    auto transport = connect(server);
    REQUIRE(transport.ok());
    uint32_t value = 0;
    REQUIRE(transport.value()->read(Region::kRegisters, 0x38, &value, 4).ok());
    CHECK(value == 0x78787878);
    REQUIRE(transport.value()->write(Region::kConfig, 4, &value, 2).ok());
    REQUIRE(transport.value()->post(Region::kDoorbells, 8, &value, 4).ok());
    REQUIRE(transport.value()->dma_map(0, 0, 0x100000000, 4096).ok());
    REQUIRE(transport.value()->dma_unmap(0x100000000, 4096).ok());
    std::array<int, WEFT_PCI_MSIX_VECTORS> fds{};
    fds.fill(0);
    REQUIRE(transport.value()->set_irqs(fds).ok());
    REQUIRE(transport.value()->reset().ok());
  }
  const auto& r = server.requests();
  REQUIRE(r.size() == 14);
  CHECK(r[0].header.command == 1);
  const auto json = nlohmann::json::parse(reinterpret_cast<const char*>(r[0].payload.data()) + 4);
  CHECK(json["capabilities"]["max_msg_fds"] == 32);
  for (size_t i = 0; i < r.size(); i++) CHECK(r[i].header.message_id == i);
  CHECK(r[7].header.command == 9);
  CHECK(r[7].header.size == 32);
  CHECK(r[9].header.flags == 0x10);
  CHECK(r[9].header.size == 36);
  CHECK(r[9].payload[0] == 8);
  CHECK(r[9].payload[8] == 2);
  CHECK(r[9].payload[12] == 4);
  CHECK(r[10].header.command == 2);
  CHECK(r[10].descriptors == 1);
  CHECK(r[10].payload[0] == 32);
  CHECK(r[10].payload[4] == 3);
  CHECK(r[12].header.command == 8);
  CHECK(r[12].descriptors == WEFT_PCI_MSIX_VECTORS);
  CHECK(r[12].payload[4] == 0x24);
  CHECK(r[13].header.command == 13);
}

TEST_CASE("eventfds go in as many messages as the server's max_msg_fds asks for") {
  const auto [offer, messages] = GENERATE(table<const char*, size_t>(
      {{R"({"capabilities":{"max_msg_fds":8}})", 3}, {R"({"capabilities":{"max_msg_fds":16}})", 2}, {"{}", 17}}));
  CAPTURE(offer);
  Server server(only(Command::kVersion, [text = std::string(offer)](const Request&, Answer& a) {
    a.payload = bytes_of(Version{0, 1}, text);
    a.header.size = static_cast<uint32_t>(16 + a.payload.size());
  }));
  {
    auto transport = connect(server);
    REQUIRE(transport.ok());
    std::array<int, WEFT_PCI_MSIX_VECTORS> fds{};
    REQUIRE(transport.value()->set_irqs(fds).ok());
  }
  size_t seen = 0, vectors = 0;
  for (const Request& request : server.requests()) {
    if (request.header.command != 8) continue;
    IrqSet set{};
    REQUIRE(request.payload.size() == sizeof set);
    std::memcpy(&set, request.payload.data(), sizeof set);
    CHECK(set.start == vectors);
    CHECK(set.count == request.descriptors);
    vectors += set.count;
    seen++;
  }
  CHECK(seen == messages);
  CHECK(vectors == WEFT_PCI_MSIX_VECTORS);
}

TEST_CASE("a server that does not fit is refused with the reason") {
  const auto [name, script, expected] = GENERATE(table<std::string, Server::Script, std::string>({
      {"version", only(Command::kVersion, [](const Request&, Answer& a) { a.payload[0] = 7; }), "speaks vfio-user 7.1"},
      {"json", only(Command::kVersion, [](const Request&, Answer& a) { a.payload[4] = '['; }), "no JSON object"},
      {"fds",
       only(Command::kVersion,
            [](const Request&, Answer& a) {
              a.payload = bytes_of(Version{0, 1}, R"({"capabilities":{"max_msg_fds":0}})");
              a.header.size = static_cast<uint32_t>(16 + a.payload.size());
            }),
       "takes no descriptors"},
      {"no regions", only(Command::kDeviceGetInfo, [](const Request&, Answer& a) { a.payload[8] = 1; }),
       "not a PCI device"},
      {"small region", only(Command::kDeviceGetRegionInfo, [](const Request&, Answer& a) { a.payload[18] = 0; }),
       "has 0 bytes"},
      {"few vectors", only(Command::kDeviceGetIrqInfo, [](const Request&, Answer& a) { a.payload[12] = 1; }),
       "1 MSI-X vectors"},
      {"busy",
       only(Command::kVersion,
            [](const Request&, Answer& a) {
              resize(a, 0);
              a.header.flags |= kFlagError;
              a.header.error = EBUSY;
            }),
       "errno 16"},
  }));
  CAPTURE(name);
  Server server(script);
  const auto transport = connect(server);
  REQUIRE_FALSE(transport.ok());
  CHECK_THAT(transport.status().message(), Contains(expected));
  if (name == "busy") CHECK(transport.status().code() == WEFT_ERROR_BUSY);
}

TEST_CASE("a server that breaks the protocol is lost, at once and for good") {
  const auto [name, change] = GENERATE(table<std::string, std::function<void(const Request&, Answer&)>>({
      {"wrong id", [](const Request&, Answer& a) { a.header.message_id++; }},
      {"wrong command", [](const Request&, Answer& a) { a.header.command++; }},
      {"a command instead of a reply", [](const Request&, Answer& a) { a.header.flags = kTypeCommand; }},
      {"size below the header", [](const Request&, Answer& a) { a.header.size = 8; }},
      {"size 0", [](const Request&, Answer& a) { a.header.size = 0; }},
      {"huge size", [](const Request&, Answer& a) { a.header.size = 0xffffffff; }},
      {"short payload", [](const Request&, Answer& a) { resize(a, 17); }},
      {"no payload", [](const Request&, Answer& a) { resize(a, 0); }},
      {"long payload", [](const Request&, Answer& a) { resize(a, 30); }},
      {"another offset", [](const Request&, Answer& a) { a.payload[0]++; }},
      {"another region", [](const Request&, Answer& a) { a.payload[8]++; }},
      {"another count", [](const Request&, Answer& a) { a.payload[12]++; }},
      {"half a header", [](const Request&, Answer& a) { a.send_bytes = 7, a.close_after = true; }},
      {"half a reply", [](const Request&, Answer& a) { a.send_bytes = 18, a.close_after = true; }},
      {"closed without a reply", [](const Request&, Answer& a) { a.send = false, a.close_after = true; }},
      {"no reply", [](const Request&, Answer& a) { a.send = false; }},
      {"half a reply and no more", [](const Request&, Answer& a) { a.send_bytes = 18; }},
  }));
  CAPTURE(name);
  Server server(only(Command::kRegionRead, change));
  auto transport = connect(server);
  REQUIRE(transport.ok());
  uint32_t value = 0;
  CHECK(transport.value()->read(Region::kRegisters, 0, &value, 4).code() == WEFT_ERROR_DEVICE_LOST);
  CHECK(value == 0);
  CHECK(transport.value()->write(Region::kRegisters, 0, &value, 4).code() == WEFT_ERROR_DEVICE_LOST);
  CHECK(transport.value()->post(Region::kDoorbells, 0, &value, 4).code() == WEFT_ERROR_DEVICE_LOST);
  CHECK(transport.value()->dma_unmap(0, 4096).code() == WEFT_ERROR_DEVICE_LOST);
}

TEST_CASE("an error reply fails the request and leaves the connection up") {
  Server server(only(Command::kRegionWrite, [](const Request&, Answer& a) {
    resize(a, 0);
    a.header.flags |= kFlagError;
    a.header.error = EINVAL;
  }));
  auto transport = connect(server);
  REQUIRE(transport.ok());
  uint32_t value = 0;
  const Status status = transport.value()->write(Region::kRegisters, 0, &value, 4);
  CHECK(status.code() == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(status.message(), Contains("errno 22"));
  CHECK(transport.value()->read(Region::kRegisters, 0, &value, 4).ok());
}

TEST_CASE("posts go out while a request waits for its reply") {
  Server server;
  auto transport = connect(server);
  REQUIRE(transport.ok());
  std::thread poster([&] {
    for (uint32_t i = 0; i < 2000; i++) REQUIRE(transport.value()->post(Region::kDoorbells, 0, &i, 4).ok());
  });
  for (uint32_t i = 0; i < 500; i++) {
    uint32_t value = 0;
    REQUIRE(transport.value()->read(Region::kRegisters, 0, &value, 4).ok());
  }
  poster.join();
}

TEST_CASE("no device at a path is said so") {
  const auto transport = VfioUserTransport::connect_path("/nonexistent/weft.sock");
  CHECK(transport.status().code() == WEFT_ERROR_DEVICE_LOST);
  CHECK_THAT(transport.status().message(), Contains("/nonexistent/weft.sock"));
  CHECK(VfioUserTransport::connect_path(std::string(200, 'x')).status().code() == WEFT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a transport that disconnects returns when the server has let go, or after the time of a reply") {
  {
    Server server;
    server.linger(50);
    const auto transport = connect(server);
    REQUIRE(transport.ok());
    transport.value()->disconnect();
    CHECK(server.let_go());
    uint32_t word = 0;
    CHECK(transport.value()->read(Region::kRegisters, 0, &word, sizeof word).code() == WEFT_ERROR_DEVICE_LOST);
    transport.value()->disconnect();  // nothing is left to do
  }
  Server server;
  server.keep_open();
  const auto transport = connect(server);
  REQUIRE(transport.ok());
  const auto begin = std::chrono::steady_clock::now();
  transport.value()->disconnect();
  const auto taken = std::chrono::steady_clock::now() - begin;
  CHECK(taken >= std::chrono::milliseconds(kReplyTimeoutMs / 2));
  CHECK(taken < std::chrono::seconds(20));
}
