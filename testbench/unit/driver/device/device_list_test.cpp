// The list of devices, of a management socket in a folder of the test's own.
#include "driver/device/device_list.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "weft/spec/chips.hpp"

using namespace weft::driver;
using Catch::Contains;

namespace {

/// Listens in a folder and answers each line by a chip of two, of which one function has an owner.
class Simulator {
 public:
  explicit Simulator(std::string reply = {}) : reply_(std::move(reply)) {
    char pattern[] = "/tmp/weft-list-XXXXXX";
    REQUIRE(::mkdtemp(pattern) != nullptr);
    folder_ = pattern;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path().c_str());
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listener_, 1) == 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~Simulator() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string path() const { return folder_ + "/management.sock"; }
  void serve() {
    const int client = ::accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    std::array<char, 256> line{};
    for (ssize_t got = 0; (got = ::recv(client, line.data(), line.size(), 0)) > 0;) {
      const std::string request(line.data(), static_cast<size_t>(got));
      const std::string answer = answer_to(request) + "\n";
      if (::send(client, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
    }
    ::close(client);
  }
  std::string answer_to(const std::string& request) const {
    if (!reply_.empty()) return reply_;
    const std::string owner = request.find("\"chip\":1") != std::string::npos ? R"({"pid":42})" : "null";
    return R"({"weft_management":1,"chip":{"preset":"nano","core":"rtl","chips":2},"functions":[{"function":0,"owner":)" +
           owner + "}]}";
  }

  std::string reply_, folder_;
  int listener_ = -1;
  std::thread thread_;
};

/// WEFT_SIM for as long as it lives.
struct SimulatorVariable {
  explicit SimulatorVariable(const char* path) { ::setenv("WEFT_SIM", path, 1); }
  ~SimulatorVariable() { ::unsetenv("WEFT_SIM"); }
};

}  // namespace

TEST_CASE("functions of a simulator that runs come first, then a simulator of each preset") {
  const SimulatorVariable found("/bin/true");
  const Simulator running;
  const auto list = list_devices(running.folder().c_str());
  REQUIRE(list.ok());
  const auto& devices = list.value();
  REQUIRE(devices.size() == 2 + std::size(weft::spec::kChips));
  CHECK(devices[0].name == "vfio-user:" + running.folder() + "/chip0-function0.sock");
  CHECK((devices[0].preset == "nano" && devices[0].core == WEFT_CORE_KIND_RTL && !devices[0].busy));
  CHECK(devices[1].name == "vfio-user:" + running.folder() + "/chip1-function0.sock");
  CHECK((devices[1].busy && devices[1].owner_pid == 42));
  CHECK((devices[2].name == "sim:" + devices[2].preset && !devices[2].busy));
  CHECK(devices[2].core == WEFT_CORE_KIND_UNKNOWN);
}

TEST_CASE("without weft-sim there is no simulator to start") {
  const SimulatorVariable found("/nonexistent");
  const Simulator running;
  const auto list = list_devices(running.folder().c_str(), VfioKernel("/nonexistent"));
  REQUIRE(list.ok());
  CHECK(list.value().size() == 2);
}

TEST_CASE("a folder that is named and in which nothing listens, or something else, is an error") {
  const auto nothing = list_devices("/nonexistent");
  CHECK(nothing.status().code() == WEFT_ERROR_DEVICE_LOST);
  CHECK_THAT(nothing.status().message(), Contains("no simulator listens in '/nonexistent'"));
  const Simulator other("220 smtp ready");
  const auto strange = list_devices(other.folder().c_str());
  CHECK(strange.status().code() == WEFT_ERROR_DEVICE_LOST);
  CHECK_THAT(strange.status().message(), Contains(other.folder()) && Contains("220 smtp"));
  CHECK(list_devices(std::string(200, 'x').c_str()).status().code() == WEFT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("the C ABI fills as many entries as there is room for, and counts all") {
  const SimulatorVariable found("/nonexistent");
  struct Newer {
    weft_device_entry entry;
    uint64_t later;
  };
  std::array<Newer, 2> entries{};
  entries[0].entry.size = sizeof(Newer);
  entries[1].later = 5;
  uint32_t count = 0;
  {
    const Simulator running;
    REQUIRE(weft_enumerate(running.folder().c_str(), nullptr, 0, &count) == WEFT_ERROR_OK);
    CHECK(count == 2);
  }
  {
    const Simulator running;
    REQUIRE(weft_enumerate(running.folder().c_str(), &entries[0].entry, 1, &count) == WEFT_ERROR_OK);
    CHECK((count == 2 && entries[1].later == 5 && entries[1].entry.size == 0));
  }
  const Simulator running;
  REQUIRE(weft_enumerate(running.folder().c_str(), &entries[0].entry, 2, &count) == WEFT_ERROR_OK);
  CHECK(std::string(entries[1].entry.name).ends_with("/chip1-function0.sock"));
  CHECK((entries[1].entry.busy == 1 && entries[1].entry.owner == 42 && entries[1].later == 0));
  CHECK(entries[1].entry.size == sizeof(Newer));
  CHECK(weft_enumerate(nullptr, nullptr, 1, &count) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_enumerate(nullptr, nullptr, 0, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a program from before weft_device_entry had an obstacle gets its shorter entries") {
  constexpr size_t kFormerBytes = 184;
  const SimulatorVariable found("/nonexistent");
  const Simulator running;
  std::array<char, 3 * kFormerBytes> entries{};
  entries.fill('x');
  std::memcpy(entries.data(), &kFormerBytes, sizeof kFormerBytes);
  uint32_t count = 0;
  REQUIRE(weft_enumerate(running.folder().c_str(), reinterpret_cast<weft_device_entry*>(entries.data()), 2, &count) ==
          WEFT_ERROR_OK);
  CHECK(count == 2);
  size_t size = 0;
  std::memcpy(&size, &entries[kFormerBytes], sizeof size);
  CHECK(size == kFormerBytes);
  CHECK(std::string(&entries[kFormerBytes + offsetof(weft_device_entry, name)]).ends_with("/chip1-function0.sock"));
  CHECK(entries[2 * kFormerBytes] == 'x');  // nothing behind the second
}
