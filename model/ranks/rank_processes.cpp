// fork, and the wait for whichever ends first.
#include "model/ranks/rank_processes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace weft::ranks {
namespace {

using Clock = std::chrono::steady_clock;

/// From the end of one rank, or the signal that asks for it, to that of the last one.
constexpr std::chrono::seconds kEndingTime{4};

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this machine";
}

class Processes {
 public:
  /// False: the last one could not be forked, errno.
  [[nodiscard]] bool fork_all(unsigned ranks, const std::function<int(unsigned)>& body, const sigset_t& mask) {
    const pid_t parent = ::getpid();
    for (unsigned rank = 0; rank < ranks; rank++) {
      const pid_t pid = ::fork();
      if (pid < 0) return false;
      if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(EXIT_FAILURE);  // it has ended meanwhile
        ::sigprocmask(SIG_SETMASK, &mask, nullptr);
        std::exit(body(rank));
      }
      pids_.push_back(pid);
    }
    return true;
  }
  [[nodiscard]] bool any() const {
    return std::ranges::any_of(pids_, [](pid_t pid) { return pid > 0; });
  }
  void signal(int number) const {
    for (const pid_t pid : pids_)
      if (pid > 0) ::kill(pid, number);
  }
  /// Those that have ended since the last time; `ended` hears of each with its number, process and status.
  void reap(const std::function<void(unsigned, pid_t, int)>& ended) {
    for (unsigned rank = 0; rank < pids_.size(); rank++) {
      int status = 0;
      if (pids_[rank] <= 0 || ::waitpid(pids_[rank], &status, WNOHANG) != pids_[rank]) continue;
      const pid_t pid = std::exchange(pids_[rank], 0);
      ended(rank, pid, status);
    }
  }

 private:
  std::vector<pid_t> pids_;  // 0: it has ended
};

RankEnd describe(unsigned rank, pid_t pid, int status) {
  const std::string who = fmt::format("rank {} (process {} on {})", rank, pid, host_name());
  if (WIFSIGNALED(status))
    return {rank, fmt::format("{} was ended by signal {} ({})", who, WTERMSIG(status), ::strsignal(WTERMSIG(status))),
            -1};
  return {rank, fmt::format("{} ended with exit code {}", who, WEXITSTATUS(status)), WEXITSTATUS(status)};
}

}  // namespace

int run_ranks(unsigned ranks, const std::function<int(unsigned)>& body, const std::function<void()>& begun,
              const std::function<int(const RankEnd&)>& report) {
  sigset_t signals, before;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&signals, number);
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  const int fd = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  Processes processes;
  int exit_code = 0;
  auto patience = Clock::time_point::max();  // until the others are killed
  bool late = false;
  if (fd < 0 || !processes.fork_all(ranks, body, before)) {
    exit_code = report({0, fmt::format("{} processes cannot be started: {}", ranks, std::strerror(errno)), -1});
    processes.signal(SIGKILL);
  }
  begun();
  while (processes.any()) {
    constexpr int kLookMs = 100;  // also without a signal: one that is pending twice comes once
    pollfd polled{fd, POLLIN, 0};
    (void)::poll(&polled, 1, kLookMs);
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGCHLD) continue;
      processes.signal(SIGTERM);
      patience = std::min(patience, Clock::now() + kEndingTime);
    }
    processes.reap([&](unsigned rank, pid_t pid, int status) {
      patience = std::min(patience, Clock::now() + kEndingTime);
      if (status == 0) return;
      RankEnd end = describe(rank, pid, status);
      if (late) end.how += fmt::format(", as it had not ended after {} s", kEndingTime.count());
      if (exit_code == 0) exit_code = report(end);
      processes.signal(SIGKILL);
    });
    late |= Clock::now() >= patience;
    if (late) processes.signal(SIGKILL);
  }
  if (fd >= 0) ::close(fd);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return exit_code;
}

}  // namespace weft::ranks
