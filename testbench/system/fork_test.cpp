// Forks, through weft-sim: a device ends with the process that opened it, whatever children it has left behind.
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "testbench/system/sim_server.hpp"
#include "testbench/system/test_device.hpp"

using namespace weft::test;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

/// Process ids of the weft-sim processes whose parent is `parent`.
std::vector<pid_t> simulators_of(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const size_t open = text.find('('), close = text.rfind(')');
    if (close == std::string::npos || text.substr(open + 1, close - open - 1) != "weft-sim") continue;
    char state = 0;
    int its_parent = 0;
    if (std::sscanf(text.c_str() + close + 1, " %c %d", &state, &its_parent) == 2 && its_parent == parent)
      found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

/// Gone, or a zombie that nobody has reaped.
bool ended(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return true;
  const size_t close = text.rfind(')');
  return close != std::string::npos && text.compare(close + 2, 1, "Z") == 0;
}

constexpr milliseconds kPatience(60'000);

template <typename Condition>
bool within(milliseconds time, Condition&& condition) {
  for (const auto end = Clock::now() + time; Clock::now() < end; std::this_thread::sleep_for(milliseconds(5)))
    if (condition()) return true;
  return condition();
}

/// A parent that opens a device and forks a child that sleeps; both are processes of their own for this test.
class Family {
 public:
  explicit Family(const std::string& device) {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    parent_ = ::fork();
    REQUIRE(parent_ >= 0);
    if (parent_ == 0) {
      weft_device* opened = nullptr;
      weft_queue* queue = nullptr;
      if (weft_open(device.c_str(), &opened) != WEFT_ERROR_OK) ::_exit(1);
      if (weft_queue_create(opened, nullptr, &queue) != WEFT_ERROR_OK) ::_exit(2);
      const pid_t child = ::fork();
      if (child == 0) {
        for (;;) ::pause();
      }
      (void)!::write(pipe[1], &child, sizeof child);
      for (;;) ::pause();
    }
    ::close(pipe[1]);
    const bool told = ::read(pipe[0], &child_, sizeof child_) == sizeof child_;
    ::close(pipe[0]);
    REQUIRE(told);
  }
  ~Family() {
    kill_parent();
    if (child_ > 0) ::kill(child_, SIGKILL);
  }
  [[nodiscard]] pid_t parent() const { return parent_; }
  [[nodiscard]] bool child_lives() const { return !ended(child_); }
  void kill_parent() {
    if (parent_ <= 0) return;
    ::kill(parent_, SIGKILL);
    (void)::waitpid(parent_, nullptr, 0);
    parent_ = -1;
  }

 private:
  pid_t parent_ = -1;
  pid_t child_ = -1;
};

}  // namespace

TEST_CASE("the simulator of a killed process ends although its forked child lives on") {
  Family family("sim:nano?core=fast");
  const auto simulators = simulators_of(family.parent());
  REQUIRE(simulators.size() == 1);
  family.kill_parent();
  CHECK(within(kPatience, [&] { return ended(simulators.front()); }));
  CHECK(family.child_lives());
}

TEST_CASE("a function of a standing server is free for the next client although a forked child lives on") {
  const SimServer server("nano", "fast", 2);
  Family family(server.device(0));
  weft_device* device = nullptr;
  CHECK(weft_open(server.device(0).c_str(), &device) == WEFT_ERROR_BUSY);
  family.kill_parent();
  CHECK(within(kPatience, [&] { return weft_open(server.device(0).c_str(), &device) == WEFT_ERROR_OK; }));
  CHECK(family.child_lives());
  if (device != nullptr) require_ok(weft_close(device, nullptr));
}

TEST_CASE("a child has no socket and no host memory of its parent's device, and the parent goes on") {
  Device d;
  const auto queue = d.queue();
  const auto host = d.buffer(WEFT_MEMORY_HOST, 4096);
  mapped(host)[0] = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    int left = 0;
    for (int fd = 3; fd < 1024; fd++) {
      int type = 0;
      socklen_t size = sizeof type;
      left += ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 ? 1 : 0;
    }
    weft_device* own = nullptr;
    const bool opened = weft_open("sim:nano?core=fast", &own) == WEFT_ERROR_OK;
    const bool closed = opened && weft_close(own, nullptr) == WEFT_ERROR_OK;
    ::_exit((left != 0 ? 1 : 0) + (opened ? 0 : 2) + (closed ? 0 : 4));
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(mapped(host)[0] == 77);
  require_ok(end_of(nop(queue)));
}

TEST_CASE("children that are forked while other threads use the driver get their errors at once") {
  Device d;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([&] {
      const auto queue = d.queue();
      while (!stop) {
        weft_buffer* buffer = nullptr;
        if (weft_buffer_create(d.device.get(), WEFT_MEMORY_HOST, 4096, &buffer) != WEFT_ERROR_OK) wrong++;
        if (end_of(nop(queue)) != WEFT_ERROR_OK) wrong++;
        weft_buffer_release(buffer);
      }
    });
  }
  for (int i = 0; i < 40; i++) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(5);  // a deadlock ends it by the signal
      weft_queue* none = nullptr;
      uint64_t cycle = 0;
      const bool told = weft_queue_create(d.device.get(), nullptr, &none) == WEFT_ERROR_INVALID_STATE &&
                        weft_device_cycle(d.device.get(), &cycle) == WEFT_ERROR_INVALID_STATE &&
                        weft_close(d.device.get(), nullptr) == WEFT_ERROR_OK;
      weft_device* own = nullptr;
      const bool opened = weft_open("mock:nano", &own) == WEFT_ERROR_OK && weft_close(own, nullptr) == WEFT_ERROR_OK;
      ::_exit((told ? 0 : 1) + (opened ? 0 : 2));
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    INFO(i);
    CHECK(status == 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
