// Reads /proc: tasks, their children, and what the scheduler has counted for each.
#include "host/tools/inject/idle_time.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace weft::tools {
namespace {

/// Threads of a process, and its children's number added to `children`. Empty: it is gone.
std::vector<uint64_t> threads_of(const std::string& process, std::vector<std::string>& children) {
  std::vector<uint64_t> threads;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + process + "/task", gone)) {
    threads.push_back(std::stoull(task.path().filename().string()));
    std::ifstream listed(task.path() / "children");
    for (std::string child; listed >> child;) children.push_back(child);
  }
  return threads;
}

}  // namespace

uint64_t IdleTime::working() {
  std::map<uint64_t, uint64_t> found;
  uint64_t worked = 0;
  std::vector<std::string> processes{"self"};
  for (size_t i = 0; i < processes.size(); i++) {
    const std::string process = processes[i];
    for (const uint64_t thread : threads_of(process, processes)) {
      std::ifstream counted("/proc/" + process + "/task/" + std::to_string(thread) + "/schedstat");
      uint64_t ran = 0, waited = 0;
      if (!(counted >> ran >> waited)) continue;
      found[thread] = ran + waited;
      const auto before = threads_.find(thread);
      worked += ran + waited - (before != threads_.end() ? std::min(before->second, ran + waited) : 0);
    }
  }
  threads_ = std::move(found);
  return worked;
}

std::chrono::nanoseconds IdleTime::elapsed() {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds passed = now - last_, worked{working()};
  last_ = now;
  idle_ += std::max(passed - worked, std::chrono::nanoseconds(0));
  return idle_;
}

}  // namespace weft::tools
