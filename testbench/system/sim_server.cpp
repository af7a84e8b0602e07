// Started once, watched through /proc.
#include "testbench/system/sim_server.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::seconds kSettleTime{60};
constexpr std::chrono::milliseconds kStep{5};
constexpr unsigned kSteadyLooks = 20;  // the same for so many steps: nobody is leaving any more

}  // namespace

SimServer::SimServer(const std::string& chip, const std::string& core, unsigned functions) {
  const char* program = std::getenv("WEFT_SIM");
  char name[] = "/tmp/weft-processes-XXXXXX";
  if (program == nullptr || ::mkdtemp(name) == nullptr) {
    std::fprintf(stderr, "WEFT_SIM is not set, or no directory under /tmp\n");
    std::abort();
  }
  directory_ = name;
  process_.emplace(program, std::vector<std::string>{"--chip", chip, "--core", core, "--functions",
                                                     std::to_string(functions), "--listen", directory_});
  const auto end = Clock::now() + kPatience;
  while (::access(socket(functions - 1).c_str(), F_OK) != 0) {
    if (Clock::now() > end) {
      std::fprintf(stderr, "%s does not listen\n", program);
      std::abort();
    }
    std::this_thread::sleep_for(kStep);
  }
}

SimServer::~SimServer() {
  process_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string SimServer::socket(unsigned function) const {
  return directory_ + "/function" + std::to_string(function) + ".sock";
}

Holdings SimServer::holdings() const {
  const std::string proc = "/proc/" + std::to_string(pid());
  Holdings holdings;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(proc + "/fd")) holdings.descriptors++;
  std::ifstream maps(proc + "/maps");
  for (std::string line; std::getline(maps, line);) holdings.maps += line.find("/memfd:") != std::string::npos;
  return holdings;
}

Holdings SimServer::without_clients() const {
  const auto end = Clock::now() + kSettleTime;
  Holdings now = holdings();
  for (unsigned same = 0; (now.maps != 0 || same < kSteadyLooks) && Clock::now() < end;) {
    std::this_thread::sleep_for(kStep);
    const Holdings last = std::exchange(now, holdings());
    same = now == last ? same + 1 : 0;
  }
  return now;
}

Holdings SimServer::settle(const Holdings& expected) const {
  const auto end = Clock::now() + kSettleTime;
  Holdings now = holdings();
  while (!(now == expected) && Clock::now() < end) {
    std::this_thread::sleep_for(kStep);
    now = holdings();
  }
  return now;
}

}  // namespace weft::test
