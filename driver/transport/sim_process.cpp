// posix_spawn of weft-sim, its standard error, its end.
#include "driver/transport/sim_process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

extern char** environ;

namespace weft::driver {
namespace {

constexpr const char* kName = "weft-sim";
constexpr int kChildSocket = 3;  // of chip 0, then one after the other
constexpr size_t kTailBytes = 2048;
constexpr int kDyingMs = 1000;                         // the socket closes a moment before the process is gone
constexpr int kExitRefused = 2, kExitCannotStart = 3;  // model/sim/README.md
constexpr std::string_view kComplaint = "weft-sim: ";

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string program_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  return length > 0 ? folder_of(std::string(path.data(), static_cast<size_t>(length))) : std::string();
}

std::string library_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&find_simulator), &info) == 0 || info.dli_fname == nullptr) return {};
  std::array<char, PATH_MAX> path{};
  return ::realpath(info.dli_fname, path.data()) != nullptr ? folder_of(path.data()) : std::string();
}

bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> arguments_of(const DeviceName& name, const std::string& program) {
  std::vector<std::string> arguments{program, name.slice ? "--slice" : "--chip", name.target, "--core", name.core};
  const auto add = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    arguments.emplace_back(option);
    arguments.push_back(value);
  };
  for (uint32_t chip = 0; chip < name.chips; chip++) add("--fd", std::to_string(kChildSocket + static_cast<int>(chip)));
  add("--array", name.array);
  add("--manager", name.manager);
  add("--wave", name.wave_file);
  add("--wave-from", name.wave_from_cycle);
  add("--wave-to", name.wave_to_cycle);
  add("--trace", name.trace_file);
  add("--mismatch-report", name.mismatch_report_file);
  add("--record", name.record_file);
  add("--optical-us", name.optical_us);
  return arguments;
}

/// Where a simulator with this process id writes a recording of this name.
std::string recorded_to(std::string name, pid_t pid) {
  if (name.empty()) return name;
  if (const size_t at = name.find("%p"); at != std::string::npos) name.replace(at, 2, std::to_string(pid));
  if (name.front() == '/') return name;
  std::array<char, PATH_MAX> folder{};
  return ::getcwd(folder.data(), folder.size()) != nullptr ? std::string(folder.data()) + "/" + name : name;
}

/// The same file under a number that the child's own descriptors do not use (an application may have closed 0 to 2).
FileDescriptor above_child(FileDescriptor fd, uint32_t chips) {
  return FileDescriptor(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kChildSocket + static_cast<int>(chips)));
}

/// spawn() with the sockets from kChildSocket on, the output in `errors`, and every other descriptor closed.
int spawn(pid_t* pid, std::vector<std::string>& arguments, const std::vector<FileDescriptor>& sockets, int errors) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, errors, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  int number = kChildSocket;
  for (const FileDescriptor& socket : sockets) ::posix_spawn_file_actions_adddup2(&actions, socket.get(), number++);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, number);
  // The child starts with default signals, and outside of the terminal's foreground group: Ctrl-C is the application's.
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int error = ::posix_spawn(pid, argv[0], &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<std::string> find_simulator() {
  if (const char* path = std::getenv("WEFT_SIM"); path != nullptr && *path != 0) {
    if (is_program(path)) return std::string(path);
    return failure(WEFT_ERROR_INVALID_STATE, "WEFT_SIM names '{}', which is not a program", path);
  }
  std::vector<std::string> places;
  for (const std::string& folder : {program_folder(), library_folder()}) {
    if (folder.empty()) continue;
    places.push_back(folder + "/" + kName);
    places.push_back(folder + "/../bin/" + kName);
  }
  const char* path = std::getenv("PATH");
  std::string list = path != nullptr ? path : "";
  for (size_t first = 0; first <= list.size() && !list.empty();) {
    const size_t end = std::min(list.find(':', first), list.size());
    if (end != first) places.push_back(list.substr(first, end - first) + "/" + kName);
    first = end + 1;
  }
  std::string looked;
  for (const std::string& place : places) {
    if (is_program(place)) return place;
    looked += (looked.empty() ? "" : ", ") + place;
  }
  return failure(WEFT_ERROR_INVALID_STATE, "{} was not found: WEFT_SIM is not set; looked for {}", kName, looked);
}

Result<SimProcess::Started> SimProcess::start(const DeviceName& name) {
  auto program = find_simulator();
  if (!program.ok()) return program.status();
  std::vector<FileDescriptor> ours, theirs;
  for (uint32_t chip = 0; chip < name.chips; chip++) {
    std::array<int, 2> pair{-1, -1};
    ours.push_back(FileDescriptor::opened_by([&] {
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) pair.fill(-1);
      return pair[0];
    }));
    if (!ours.back().valid()) return failure(WEFT_ERROR_NO_HOST_MEMORY, "socketpair: {}", std::strerror(errno));
    theirs.push_back(above_child(FileDescriptor(pair[1]), name.chips));
    if (!theirs.back().valid()) return failure(WEFT_ERROR_NO_HOST_MEMORY, "socketpair: {}", std::strerror(errno));
  }
  std::unique_ptr<SimProcess> process(new SimProcess);
  process->reaped_ = true;  // until there is one
  process->errors_ = above_child(FileDescriptor(::memfd_create("weft-sim", MFD_CLOEXEC)), name.chips);
  if (!process->errors_.valid() || ::fcntl(process->errors_.get(), F_SETFL, O_APPEND) != 0) {
    return failure(WEFT_ERROR_NO_HOST_MEMORY, "memfd_create: {}", std::strerror(errno));
  }
  std::vector<std::string> arguments = arguments_of(name, program.value());
  const int error = spawn(&process->pid_, arguments, theirs, process->errors_.get());
  if (error != 0)
    return failure(WEFT_ERROR_INVALID_STATE, "{} does not start: {}", program.value(), std::strerror(error));
  process->reaped_ = false;
  process->process_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process->pid_, 0)));
  process->record_file_ = recorded_to(name.record_file, process->pid_);
  return Started{std::move(process), std::move(ours)};
}

bool SimProcess::reap(int wait_ms) {
  if (reaped_) return true;
  if (process_.valid()) {
    pollfd p{process_.get(), POLLIN, 0};
    while (::poll(&p, 1, wait_ms) < 0 && errno == EINTR) {
    }
    if ((p.revents & POLLIN) == 0) return false;
  }
  int status = 0;
  pid_t got = 0;
  while ((got = ::waitpid(pid_, &status, process_.valid() ? 0 : WNOHANG)) < 0 && errno == EINTR) {
  }
  if (got == 0) return false;
  reaped_ = true;
  if (got < 0) {
    ending_ = "the simulator ended";  // the application has reaped it or ignores SIGCHLD
  } else if (WIFSIGNALED(status)) {
    ending_ = fmt::format("the simulator (process {}) was ended by signal {} ({})", pid_, WTERMSIG(status),
                          strsignal(WTERMSIG(status)));
  } else {
    exit_code_ = WEXITSTATUS(status);
    ending_ = fmt::format("the simulator (process {}) ended with exit code {}", pid_, *exit_code_);
  }
  return true;
}

void SimProcess::stop() {
  const std::lock_guard lock(mutex_);
  if (!reap(kExitWaitMs)) kill_locked();
}

void SimProcess::kill() {
  const std::lock_guard lock(mutex_);
  if (!reap(0)) kill_locked();
}

void SimProcess::kill_locked() {
  if (process_.valid()) {
    ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  } else {
    ::kill(pid_, SIGKILL);
  }
  reap(kExitWaitMs);
}

std::string SimProcess::output() const {
  const off_t bytes = ::lseek(errors_.get(), 0, SEEK_END);
  if (bytes <= 0) return {};
  std::string tail(std::min<size_t>(kTailBytes, static_cast<size_t>(bytes)), 0);
  const ssize_t got = ::pread(errors_.get(), tail.data(), tail.size(), bytes - static_cast<off_t>(tail.size()));
  tail.resize(got > 0 ? static_cast<size_t>(got) : 0);
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return tail;
}

std::string SimProcess::last_words() {
  const std::lock_guard lock(mutex_);
  reap(kDyingMs);
  const std::string words = ending_.empty() ? "the simulator still runs" : ending_;
  std::string tail = output();
  constexpr size_t kLines = 4;
  size_t first = tail.size();
  for (size_t line = 0; line < kLines && first != std::string::npos && first != 0; line++)
    first = tail.rfind('\n', first - 1);
  if (first != std::string::npos && first != 0 && first < tail.size()) tail = tail.substr(first + 1);
  return tail.empty() ? words : words + "; its last output: " + tail;
}

Status SimProcess::refusal() {
  const std::lock_guard lock(mutex_);
  if (!reap(kDyingMs) || (exit_code_ != kExitRefused && exit_code_ != kExitCannotStart)) return {};
  std::string words = output();
  if (words.empty()) return {};
  if (const size_t complaint = words.rfind(kComplaint); complaint != std::string::npos)
    words.erase(0, complaint + kComplaint.size());
  std::replace(words.begin(), words.end(), '\n', ' ');
  return failure(exit_code_ == kExitRefused ? WEFT_ERROR_INVALID_ARGUMENT : WEFT_ERROR_INVALID_STATE, "{}", words);
}

}  // namespace weft::driver
