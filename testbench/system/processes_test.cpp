// Several processes on one chip: each has its function, its memory and its answers, and none sees another's.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "testbench/system/child_process.hpp"
#include "testbench/system/driver_handles.hpp"
#include "testbench/system/session_fixture.hpp"
#include "testbench/system/sim_server.hpp"

using namespace weft;
using test::ChildProcess;
using test::driver_message;
using test::Handle;
using test::require_ok;
using test::SimServer;

namespace {

constexpr unsigned kProcesses = 8;
constexpr const char* kClient = "process_client";

Handle<weft_device> open_device(const SimServer& server, unsigned function) {
  weft_device* device = nullptr;
  require_ok(weft_open(server.device(function).c_str(), &device));
  return Handle<weft_device>(device);
}

weft_status nop(weft_device* device) {
  weft_queue* queue = nullptr;
  if (const weft_status status = weft_queue_create(device, nullptr, &queue); status != WEFT_ERROR_OK) return status;
  const Handle<weft_queue> owned(queue);
  weft_event* event = nullptr;
  if (const weft_status status = weft_nop(queue, nullptr, &event); status != WEFT_ERROR_OK) return status;
  const Handle<weft_event> waited(event);
  return weft_event_wait(event, nullptr);
}

weft_device_info info_of(const Handle<weft_device>& device) {
  weft_device_info info = WEFT_INIT(weft_device_info);
  require_ok(weft_device_get_info(device.get(), &info));
  return info;
}

/// How many messages a doomed client says that it sent; 0 if it says something else.
unsigned messages_of(const std::string& words) {
  unsigned messages = 0;
  return std::sscanf(words.c_str(), "messages %u", &messages) == 1 ? messages : 0;
}

}  // namespace

TEST_CASE("a list of devices tells which functions are free and who has the others") {
  const SimServer server("nano", "fast", 3);
  const std::string socket = server.socket(0);
  const std::string folder = socket.substr(0, socket.rfind('/'));
  const auto listed = [&] {
    uint32_t count = 0;
    require_ok(weft_enumerate(folder.c_str(), nullptr, 0, &count));
    std::vector<weft_device_entry> entries(count);
    entries.at(0) = WEFT_INIT(weft_device_entry);
    require_ok(weft_enumerate(folder.c_str(), entries.data(), count, &count));
    REQUIRE(count == entries.size());
    return entries;
  };
  const auto before = listed();
  REQUIRE(before.size() > 3);
  for (unsigned i = 0; i < 3; i++) {
    CHECK(before[i].name == server.device(i));
    CHECK(std::string(before[i].preset) == "nano");
    CHECK((before[i].core == WEFT_CORE_KIND_FAST && before[i].busy == 0 && before[i].owner == 0));
  }
  CHECK(std::string(before[3].name).starts_with("sim:"));
  weft_device* opened = nullptr;
  require_ok(weft_open(before[1].name, &opened));
  Handle<weft_device> device(opened);
  const auto now = listed();
  CHECK((now[0].busy == 0 && now[2].busy == 0));
  CHECK((now[1].busy == 1 && now[1].owner == static_cast<uint32_t>(::getpid())));
  CHECK(nop(opened) == WEFT_ERROR_OK);
  device.reset();
  (void)server.without_clients();
  CHECK(listed()[1].busy == 0);
}

TEST_CASE("eight processes at once each get their products bit for bit") {
  const SimServer server("nano", "fast", kProcesses);
  std::vector<ChildProcess> children;
  for (unsigned f = 0; f < kProcesses; f++)
    children.emplace_back(kClient, std::vector<std::string>{"steady", server.socket(f), std::to_string(100 + f)});
  for (ChildProcess& child : children) CHECK(child.read_line() == "open");
  ::usleep(300'000);
  for (ChildProcess& child : children) child.close_input();
  for (ChildProcess& child : children) {
    std::string words;
    const int code = child.wait(words);
    INFO(words);
    CHECK(code == 0);
    CHECK(words.find("steady ") != std::string::npos);
    CHECK(words.substr(words.find("steady ")).ends_with(" 0\n"));
  }
}

TEST_CASE("two functions share the chip on the RTL and in lockstep too") {
  for (const char* core : {"rtl", "lockstep"}) {
    const SimServer server("nano", core, 2);
    std::vector<ChildProcess> children;
    for (unsigned f = 0; f < 2; f++)
      children.emplace_back(kClient, std::vector<std::string>{"steady", server.socket(f), std::to_string(200 + f)});
    ::usleep(500'000);
    for (ChildProcess& child : children) {
      child.close_input();
      std::string words;
      const int code = child.wait(words);
      INFO(core << ": " << words);
      CHECK(code == 0);
    }
  }
}

TEST_CASE("the shares of HBM add up to the chip's, and each process sees its own as all there is") {
  const SimServer server("nano", "fast", 4);
  const auto first = open_device(server, 0), last = open_device(server, 3);
  const uint64_t chip = spec::find_chip("nano")->hbm_bytes;
  CHECK(info_of(first).hbm_bytes == chip / 4 - WEFT_MANAGER_HBM_RESERVED_BYTES);
  CHECK(info_of(last).hbm_bytes == info_of(first).hbm_bytes);
}

TEST_CASE("a second opener of a function is told BUSY and whose it is, and the owner goes on") {
  const SimServer server("nano", "fast", 2);
  const auto owner = open_device(server, 1);
  weft_device* second = nullptr;
  const weft_status status = weft_open(server.device(1).c_str(), &second);
  CHECK(status == WEFT_ERROR_BUSY);
  CHECK(second == nullptr);
  const std::string message = driver_message(status);
  INFO(message);
  CHECK(message.find("process " + std::to_string(::getpid())) != std::string::npos);
  require_ok(nop(owner.get()));
  require_ok(nop(open_device(server, 0).get()));  // the other function is free
}

TEST_CASE("the process that owns a function stands in the file beside its socket, until it leaves") {
  const SimServer server("nano", "fast", 1);
  const std::string path = server.socket(0) + ".owner";
  const test::Holdings empty = server.without_clients();
  {
    const auto device = open_device(server, 0);
    pid_t pid = 0;
    std::ifstream(path) >> pid;
    CHECK(pid == ::getpid());
  }
  CHECK(server.settle(empty) == empty);
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("a forked child may not use its parent's device, and the parent goes on") {
  const SimServer server("nano", "fast", 2);
  const auto device = open_device(server, 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(nop(device.get()) == WEFT_ERROR_INVALID_STATE ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  require_ok(nop(device.get()));
}

TEST_CASE("memory of a process that was killed reads zero for the next one, which need not wait to open") {
  const SimServer server("nano", "fast", 2);
  for (int round = 0; round < 3; round++) {
    ChildProcess victim(kClient, {"victim", server.socket(0), std::to_string(round)});
    const std::string first = victim.read_line();
    INFO(first);
    CHECK(first.ends_with(" 0"));
    ::usleep(50'000);  // it writes and launches
    victim.signal(SIGKILL);
    std::string words;
    CHECK(victim.wait(words) == 128 + SIGKILL);
    CHECK(ChildProcess(kClient, {"fresh", server.socket(0)}).wait(words) == 0);
    INFO(words);
    CHECK(words.find(" 0\n") != std::string::npos);
  }
}

TEST_CASE("a process killed before or after any message that it sends leaves nothing, and the other goes on") {
  const SimServer server("nano", "fast", 2);
  const test::Holdings empty = server.without_clients();
  std::string words;
  REQUIRE(ChildProcess("doomed_client", {server.socket(0), "0", "before"}).wait(words) == 0);
  const unsigned messages = messages_of(words);
  REQUIRE(messages > 30);
  REQUIRE(server.settle(empty) == empty);
  ChildProcess other(kClient, {"steady", server.socket(1), "9"});
  REQUIRE(other.read_line() == "open");
  CHECK(server.holdings().maps > empty.maps);
  unsigned killed = 0;
  for (unsigned number = 1; number <= messages; number++) {
    for (const char* place : {"before", "after"}) {
      CAPTURE(number, place);
      ChildProcess doomed("doomed_client", {server.socket(0), std::to_string(number), place});
      const int code = doomed.wait(words);
      INFO(words);
      killed += code == 128 + SIGKILL;
      // Completions that come together are acknowledged by one message: it has lived if it had no such message.
      CHECK((code == 128 + SIGKILL || (code == 0 && messages_of(words) < number)));
    }
  }
  CHECK(killed > messages);
  other.close_input();
  const int code = other.wait(words);
  INFO(words);
  CHECK(code == 0);
  CHECK(words.ends_with(" 0\n"));
  CHECK(server.settle(empty) == empty);
  require_ok(nop(open_device(server, 0).get()));
}

TEST_CASE("a reset of one function leaves the other's work alone") {
  const SimServer server("nano", "fast", 2);
  ChildProcess other(kClient, {"steady", server.socket(1), "7"});
  REQUIRE(other.read_line() == "open");
  const auto device = open_device(server, 0);
  for (int i = 0; i < 20; i++) {
    require_ok(weft_device_reset(device.get()));
    require_ok(nop(device.get()));
  }
  CHECK(info_of(device).generation >= 20);
  other.close_input();
  std::string words;
  const int code = other.wait(words);
  INFO(words);
  CHECK(code == 0);
}
