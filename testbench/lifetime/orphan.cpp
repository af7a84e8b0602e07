#include "testbench/lifetime/orphan.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "testbench/lifetime/objects.hpp"
#include "testbench/lifetime/watch.hpp"

namespace weft::lifetime {
namespace {

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::error_code none;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), none)) {
    std::ifstream in(task.path() / "children");
    for (pid_t child = 0; in >> child;) children.push_back(child);
  }
  return children;
}

bool lives(pid_t process) {
  std::ifstream in(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(in, text);
  const auto end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() && text[end + 2] != 'Z';
}

}  // namespace

int be_parent(const std::string& device) {
  weft_device* handle = nullptr;
  if (weft_open(device.c_str(), &handle) != WEFT_ERROR_OK) {
    weft_error_info info = WEFT_INIT(weft_error_info);
    (void)!weft_last_error(&info);
    fmt::print(stderr, "weft_open: {}\n", info.message);
    return 1;
  }
  const auto simulators = children_of(::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  if (child < 0 || simulators.size() != 1) return 1;
  fmt::print("{} {}\n", child, simulators.front());
  std::fflush(stdout);
  for (;;) ::pause();
}

void check_orphan(const Options& options, Findings& findings) {
  const std::string command =
      fmt::format("exec '{}' --be-parent {}", std::filesystem::read_symlink("/proc/self/exe").string(), options.device);
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  int child = 0, simulator = 0;
  if (pipe == nullptr || std::fscanf(pipe, "%d %d", &child, &simulator) != 2) {
    findings.report("the process that is to die did not begin");
    return;
  }
  // popen tells no id: the parent is the child's.
  std::ifstream stat(fmt::format("/proc/{}/stat", child));
  std::string name, state;
  pid_t parent = 0;
  stat >> child >> name >> state >> parent;
  ::kill(parent, SIGKILL);
  const int64_t limit_ms = options.slack_ms * kSlowness, begin = now_us();
  while (lives(simulator) && now_us() - begin < limit_ms * 1000) ::usleep(5'000);
  findings.checked("simulator of a process that died");
  if (!lives(child)) findings.report("the child did not outlive its parent: nothing was tested");
  if (lives(simulator)) {
    findings.report(fmt::format(
        "{} ms after its process was killed a simulator still runs, because a forked child lives", limit_ms));
    ::kill(simulator, SIGKILL);
  }
  ::kill(child, SIGKILL);
  ::pclose(pipe);
}

}  // namespace weft::lifetime
