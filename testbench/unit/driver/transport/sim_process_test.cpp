// Starting, losing and ending a simulator, played by shell scripts.
#include "driver/transport/sim_process.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "driver/abi/abi.hpp"

using namespace weft::driver;
using Catch::Contains;

namespace {

/// A program in place of weft-sim, named by WEFT_SIM.
class FakeSimulator {
 public:
  explicit FakeSimulator(const std::string& script) {
    folder_ = (std::filesystem::temp_directory_path() / "weft-sim-test-XXXXXX").string();
    REQUIRE(::mkdtemp(folder_.data()) != nullptr);
    path_ = folder_ + "/weft-sim";
    std::ofstream(path_) << "#!/bin/sh\n" << script;
    ::chmod(path_.c_str(), 0755);
    ::setenv("WEFT_SIM", path_.c_str(), 1);
  }
  ~FakeSimulator() {
    ::unsetenv("WEFT_SIM");
    ::unlink(path_.c_str());
    ::rmdir(folder_.c_str());
  }

 private:
  std::string folder_, path_;
};

std::string open_message(const char* name, weft_error expected = WEFT_ERROR_DEVICE_LOST) {
  weft_device* device = nullptr;
  CHECK(weft_open(name, &device) == expected);
  weft_error_info info = WEFT_INIT(weft_error_info);
  CHECK(weft_last_error(&info) == WEFT_ERROR_OK);
  return info.message;
}

}  // namespace

TEST_CASE("a simulator that is not there: the message says where it was looked for") {
  ::unsetenv("WEFT_SIM");
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nonexistent/a:/nonexistent/b", 1);
  const auto found = find_simulator();
  ::setenv("PATH", path.c_str(), 1);
  if (found.ok()) return;  // built beside this test
  CHECK(found.status().code() == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(found.status().message(), Contains("WEFT_SIM is not set") && Contains("/nonexistent/a/weft-sim") &&
                                           Contains("/nonexistent/b/weft-sim"));
}

TEST_CASE("WEFT_SIM that names no program is said so") {
  ::setenv("WEFT_SIM", "/nonexistent/sim", 1);
  const auto found = find_simulator();
  ::unsetenv("WEFT_SIM");
  CHECK_THAT(found.status().message(), Contains("'/nonexistent/sim'"));
}

TEST_CASE("a simulator that dies at once: its exit code and last words are in the error") {
  const FakeSimulator fake("echo first line >&2; echo \"cannot: $*\" >&2; exit 9\n");
  const std::string message =
      open_message("sim:nano?core=fast&wave=w.fst&wave-from=1&wave-to=2&trace=t&mismatch-report=m");
  CHECK_THAT(message, Contains("exit code 9"));
  CHECK_THAT(message, Contains("cannot: --chip nano --core fast --fd 3 --wave w.fst --wave-from 1 --wave-to 2 --trace "
                               "t --mismatch-report m"));
}

TEST_CASE("a simulator that refuses what it was asked for: its complaint is the error, and nothing is lost") {
  const FakeSimulator fake("echo warming up; echo 'weft-sim: no such core' >&2; exit 2\n");
  CHECK(open_message("sim:nano", WEFT_ERROR_INVALID_ARGUMENT) == "no such core");
  weft_slice* slice = nullptr;
  CHECK(weft_slice_open("sim:nano-2x2", &slice) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(slice == nullptr);
}

TEST_CASE("a simulator that the machine does not let start: its complaint is the error") {
  const FakeSimulator fake("echo 'weft-sim: needs vector instructions' >&2; exit 3\n");
  CHECK(open_message("sim:nano", WEFT_ERROR_INVALID_STATE) == "needs vector instructions");
}

TEST_CASE("a simulator that ends with an exit code of a refusal and no word is lost") {
  const FakeSimulator fake("exit 2\n");
  CHECK_THAT(open_message("sim:nano"), Contains("exit code 2"));
}

TEST_CASE("a simulator that is killed: the signal is in the error") {
  const FakeSimulator fake("kill -9 $$\n");
  CHECK_THAT(open_message("sim:nano"), Contains("signal 9"));
}

TEST_CASE("a simulator inherits its socket and nothing else") {
  const int leak = ::dup(1);  // without close-on-exec
  const FakeSimulator fake("echo fds: `ls /proc/$$/fd` >&2; exit 1\n");
  const std::string message = open_message("sim:nano");
  ::close(leak);
  // 10 is the shell's own, for the script.
  CHECK(
      (message.find("fds: 0 1 10 2 3") != std::string::npos || message.find("fds: 0 1 2 255 3") != std::string::npos));
}

TEST_CASE("an application that ignores SIGCHLD is served as well") {
  const auto old = std::signal(SIGCHLD, SIG_IGN);
  const FakeSimulator fake("echo gone >&2; exit 5\n");
  CHECK_THAT(open_message("sim:nano"), Contains("gone"));
  std::signal(SIGCHLD, old);
}

TEST_CASE("a simulator ends when its socket closes") {
  const FakeSimulator fake("cat <&3 >/dev/null\n");
  auto started = SimProcess::start(parse_device_name("sim:nano").value());
  REQUIRE(started.ok());
  const pid_t pid = started.value().process->pid();
  CHECK(::kill(pid, 0) == 0);
  started.value().sockets.clear();
  started.value().process.reset();
  CHECK(::kill(pid, 0) != 0);
}
