// posix_spawn, /proc, and one line at a time.
#include "testbench/tenant/house.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weft::tenant {
namespace {

std::string proc(pid_t pid, const char* file) { return fmt::format("/proc/{}/{}", pid, file); }

/// The number after a word at the beginning of a line of a file; 0 without it.
uint64_t number_in(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(word)) return std::strtoull(line.c_str() + word.size(), nullptr, 10);
  return 0;
}

/// Children that a signal handler kills.
std::array<std::atomic<pid_t>, 16> living;

void note(pid_t before, pid_t after) {
  for (auto& pid : living)
    if (pid_t expected = before; pid.compare_exchange_strong(expected, after)) return;
}

/// The number after a word in a neighbour's line.
uint64_t number_after(const std::string& text, const std::string& word) {
  const size_t at = text.find(word + " ");
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + word.size(), nullptr, 10);
}

}  // namespace

void Child::end_with_this_process() {
  std::signal(SIGPIPE, SIG_IGN);  // a child that is gone is found by what it does not answer
  for (const int number : {SIGTERM, SIGINT}) {
    std::signal(number, [](int) {
      for (const auto& pid : living)
        if (pid.load() > 0) ::kill(pid.load(), SIGKILL);
      std::_Exit(1);
    });
  }
}

Child::Child(const std::string& program, const std::vector<std::string>& arguments) {
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) std::abort();
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDERR_FILENO);
  if (::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
  if (pid_ > 0) note(0, pid_);
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  output_ = out[0];
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      buffered_(std::move(other.buffered_)),
      last_words_(std::move(other.last_words_)) {}

Child::~Child() {
  if (input_ >= 0) ::close(input_);
  if (output_ >= 0) ::close(output_);
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  note(pid_, 0);
}

void Child::tell(const std::string& line) const {
  const std::string text = line + "\n";
  (void)!::write(input_, text.data(), text.size());
}

std::optional<std::string> Child::line(int patience_ms) {
  const int64_t deadline = now_ms() + patience_ms;
  for (;;) {
    if (const size_t end = buffered_.find('\n'); end != std::string::npos) {
      std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return line;
    }
    pollfd p{output_, POLLIN, 0};
    const int64_t left = deadline - now_ms();
    if (left <= 0 || ::poll(&p, 1, static_cast<int>(left)) <= 0) return std::nullopt;
    char bytes[4096];
    const ssize_t got = ::read(output_, bytes, sizeof bytes);
    if (got <= 0) return std::nullopt;
    buffered_.append(bytes, static_cast<size_t>(got));
  }
}

std::optional<std::string> Child::ended() {
  int status = 0;
  if (pid_ < 0) return "not started";
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  note(std::exchange(pid_, -1), 0);
  while (const auto last = line(100)) last_words_ += *last + " ";
  last_words_ += buffered_;
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
}

House::House(const HouseOptions& options, uint64_t seed) : most_growth_kib_(options.growth_mib * 1024) {
  char folder[] = "/tmp/weft-tenant-XXXXXX";
  if (::mkdtemp(folder) == nullptr) {
    trouble_ = "no folder under /tmp";
    return;
  }
  // Anybody may look into the folder of this run, and no umask helps: what the server makes there is for it to close.
  (void)::chmod(folder, 0755);
  (void)::umask(0);
  folder_ = folder;
  stage_.folder = folder_ + "/sockets";
  stage_.functions = kFunctions;
  stage_.first_hostile = kVisitor + 1;
  std::vector<std::string> arguments{
      "--chip", "nano", "--core", options.core, "--functions", std::to_string(kFunctions), "--listen", stage_.folder};
  arguments.insert(arguments.end(), options.options.begin(), options.options.end());
  server_.emplace(options.sim, arguments);
  const int64_t deadline = now_ms() + kPatienceMs;
  while (::access(stage_.socket(kFunctions - 1).c_str(), F_OK) != 0) {
    const auto how = server_->ended();
    if (how || now_ms() > deadline) {
      trouble_ =
          fmt::format("{} does not listen: {}: {}", options.sim, how.value_or("it lives"), server_->last_words());
      return;
    }
    ::usleep(1000);
  }
  for (unsigned f = 0; f < kNeighbours; f++) {
    neighbours_.emplace_back(options.neighbour,
                             std::vector<std::string>{stage_.socket(f), std::to_string(seed * kNeighbours + f + 1)});
    const auto open = neighbours_.back().line(kPatienceMs);
    if (open != "open" && trouble_.empty()) trouble_ = "a neighbour does not open: " + open.value_or("nothing");
  }
  for (Child& neighbour : neighbours_) {  // one after the other: each is alone
    neighbour.tell("alone");
    if (const auto alone = neighbour.line(kPatienceMs); alone != "alone" && trouble_.empty())
      trouble_ = "a neighbour's measure: " + alone.value_or("nothing");
  }
  if (!trouble_.empty()) return;
  if (const auto harm = visit(); !harm.empty()) trouble_ = harm.front();
  ::usleep(20'000);
  empty_ = holdings();
  first_kib_ = peak_kib_ = resident_kib();
}

House::~House() {
  neighbours_.clear();
  server_.reset();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void House::go() const {
  for (const Child& neighbour : neighbours_) neighbour.tell("go");
}

std::vector<std::string> House::stop(Peace& peace) {
  std::vector<std::string> harm;
  for (const Child& neighbour : neighbours_) neighbour.tell("stop");
  const int64_t deadline = now_ms() + kPatienceMs;
  for (size_t i = 0; i < neighbours_.size(); i++) {
    const auto line = neighbours_[i].line(static_cast<int>(std::max<int64_t>(1, deadline - now_ms())));
    if (!line || !line->starts_with("rounds ")) {
      harm.push_back(fmt::format("neighbour {}: {}", i, line ? *line : "no answer: its work does not end"));
      continue;
    }
    peace.rounds += number_after(*line, "rounds");
    peace.elements += number_after(*line, "elements");
    peace.differing += number_after(*line, "differing");
    peace.bytes += number_after(*line, "bytes");
    peace.wrong += number_after(*line, "wrong");
    peace.launch = std::max(peace.launch, number_after(*line, "launch"));
    peace.latency = std::max(peace.latency, number_after(*line, "latency"));
    peace.copy = std::max(peace.copy, number_after(*line, "copy"));
    peace.slowest_ms = std::max(peace.slowest_ms, number_after(*line, "slowest"));
    if (number_after(*line, "differing") + number_after(*line, "wrong") != 0)
      harm.push_back(fmt::format("neighbour {}: {}", i, *line));
  }
  return harm;
}

std::vector<std::string> House::visit() {
  const int64_t deadline = now_ms() + kPatienceMs;
  std::string what = "nobody answers";
  // One that comes right after another waits until the function is clean.
  while (now_ms() < deadline) {
    RawClient client(stage_.socket(kVisitor));
    const int error = client.negotiate(kPatienceMs);
    if (error == EBUSY) {
      ::usleep(1000);
      continue;
    }
    if (error != 0) return {fmt::format("a visitor is not let in: {}", error)};
    RawDevice device(std::move(client));
    if (!device.boot()) return {"a visitor's function does not boot"};
    auto ring = device.create_queue(1, 16);
    if (!ring) return {"a visitor gets no queue"};
    if (const auto code = device.run(*ring, entry_of(WEFT_QUEUE_OPCODE_NOP)); code != WEFT_ERROR_OK)
      return {fmt::format("a visitor's command ends with {}", code ? std::to_string(*code) : "nothing")};
    return {};
  }
  return {"a visitor finds its function BUSY for ever"};
}

Holdings House::holdings() const {
  Holdings holdings;
  if (DIR* folder = ::opendir(proc(server_->pid(), "fd").c_str()); folder != nullptr) {
    while (::readdir(folder) != nullptr) holdings.descriptors++;
    ::closedir(folder);
  }
  std::ifstream maps(proc(server_->pid(), "maps"));
  for (std::string line; std::getline(maps, line);)
    holdings.maps += line.find("/memfd:tenant") != std::string::npos ? 1 : 0;
  return holdings;
}

uint64_t House::resident_kib() const { return number_in(proc(server_->pid(), "status"), "RssAnon:"); }

bool House::rests() const {
  constexpr unsigned kLooks = 20, kStepUs = 1000;
  constexpr uint64_t kMostWakeUps = 20;
  const auto wake_ups = [this] { return number_in(proc(server_->pid(), "status"), "voluntary_ctxt_switches:"); };
  const uint64_t before = wake_ups();
  bool sleeps = false;
  for (unsigned look = 0; look < kLooks; look++) {
    ::usleep(kStepUs);
    std::string text;
    std::getline(std::ifstream(proc(server_->pid(), "stat")), text);
    const size_t name = text.rfind(')');
    sleeps |= name != std::string::npos && text.substr(name).starts_with(") S");
    if (sleeps && look == kLooks / 4) break;
  }
  return sleeps && wake_ups() - before < kMostWakeUps;
}

std::optional<uint64_t> House::device_cycle() {
  neighbours_[0].tell("cycle");
  const auto line = neighbours_[0].line(kPatienceMs);
  if (!line || !line->starts_with("cycle ")) return std::nullopt;
  return number_after(*line, "cycle");
}

double House::processor_seconds() const {
  std::string text;
  std::getline(std::ifstream(proc(server_->pid(), "stat")), text);
  std::istringstream fields(text.substr(std::min(text.rfind(')'), text.size())));
  std::string skipped;
  for (unsigned i = 0; i < 12; i++) fields >> skipped;  // ")", then state to cmajflt
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::vector<std::string> House::look_for_spinning() {
  // Messages that are still answered cost time of the server and none of the device: it is given what hundreds of the
  // most expensive ones take, in its own processor time, because the machine may be busy.
  constexpr double kMostSeconds = 3;
  const double begin = processor_seconds();
  for (;;) {
    if (rests()) return {};
    const auto before = device_cycle();
    ::usleep(1000);
    const auto after = device_cycle();
    if (!before || !after) return {"a neighbour gets no answer to a register read"};
    if (*before != *after) return {};  // the device is at work
    if (const double spent = processor_seconds() - begin; spent > kMostSeconds)
      return {fmt::format("the server spins: it worked for {:.1f} s, and no cycle of the device passed", spent)};
  }
}

std::vector<std::string> House::look_for_remains(const std::set<unsigned>& used) {
  std::vector<std::string> harm;
  const int64_t deadline = now_ms() + kPatienceMs;
  for (const unsigned function : used) {
    for (;;) {
      RawClient client(stage_.socket(function));
      const int error = client.valid() ? client.negotiate(kPatienceMs) : ECONNREFUSED;
      if (error == 0) break;
      if (now_ms() > deadline) {
        harm.push_back(fmt::format("function {} stays taken by a client that is gone: {}", function, error));
        break;
      }
      ::usleep(1000);
    }
  }
  Holdings now = holdings();
  while (!(now == empty_) && now_ms() < deadline) {
    ::usleep(1000);
    now = holdings();
  }
  if (!(now == empty_))
    harm.push_back(fmt::format("the server holds {} descriptors and {} maps of tenants that are gone, {} and {} before",
                               now.descriptors, now.maps, empty_.descriptors, empty_.maps));
  const uint64_t kib = resident_kib();
  peak_kib_ = std::max(peak_kib_, kib);
  if (kib > first_kib_ + most_growth_kib_)
    harm.push_back(fmt::format("the server has {} KiB of memory, {} at first", kib, first_kib_));
  return harm;
}

std::vector<std::string> House::look_for_changed_cycles(Peace& peace) {
  for (size_t i = 0; i < neighbours_.size(); i++) {
    neighbours_[i].tell("again");
    const auto line = neighbours_[i].line(kPatienceMs);
    if (!line || !line->starts_with("again "))
      return {fmt::format("neighbour {} alone: {}", i, line.value_or("no answer"))};
    peace.again += number_after(*line, "again");
    peace.different += number_after(*line, "different");
    if (number_after(*line, "different") != 0)
      return {fmt::format("neighbour {} is alone again, and {} of {} launches take other cycles than before the attack",
                          i, number_after(*line, "different"), number_after(*line, "again"))};
  }
  return {};
}

std::vector<std::string> House::look_for_death() {
  const auto how = server_->ended();
  if (!how) return {};
  return {fmt::format("weft-sim has ended: {}{}{}", *how, server_->last_words().empty() ? "" : ": ",
                      server_->last_words())};
}

}  // namespace weft::tenant
