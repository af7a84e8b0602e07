#include "host/tools/cores/core_build.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include "model/loadable/core_module.hpp"
#include "model/loadable/core_seal.hpp"

namespace weft::tools {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

Error unsupported(std::string message) { return {WEFT_ERROR_UNSUPPORTED, std::move(message)}; }
Error wrong(std::string message) { return {WEFT_ERROR_INVALID_ARGUMENT, std::move(message)}; }

Result<fs::path> find_source(const std::string& named) {
  const auto has_sources = [](const fs::path& folder) {
    return fs::is_regular_file(folder / "cmake/LoadableCore.cmake") && fs::is_directory(folder / "rtl");
  };
  if (!named.empty()) {
    if (has_sources(named)) return fs::absolute(named);
    return wrong(fmt::format("'{}' has no sources of an RTL core", named));
  }
  std::array<char, PATH_MAX> self{};
  if (::readlink("/proc/self/exe", self.data(), self.size() - 1) > 0) {
    const fs::path prefix = fs::path(self.data()).parent_path().parent_path();
    if (has_sources(prefix / "share/weft/core")) return prefix / "share/weft/core";
    std::ifstream cache(prefix / "CMakeCache.txt");
    constexpr std::string_view kHome = "CMAKE_HOME_DIRECTORY:INTERNAL=";
    for (std::string line; std::getline(cache, line);)
      if (line.starts_with(kHome) && has_sources(line.substr(kHome.size()))) return fs::path(line.substr(kHome.size()));
  }
  return unsupported(
      "the sources of the RTL are not installed (component rtl, package weft-rtl); --source names their folder");
}

/// The first of the programs that is in PATH; empty: none.
std::string program_in_path(const std::vector<std::string>& names) {
  const char* value = std::getenv("PATH");
  const std::string list = value == nullptr ? "" : value;
  for (const std::string& name : names)
    for (size_t first = 0; first <= list.size();) {
      const size_t end = std::min(list.find(':', first), list.size());
      const std::string path = list.substr(first, end - first) + "/" + name;
      if (::access(path.c_str(), X_OK) == 0) return path;
      first = end + 1;
    }
  return {};
}

struct BuildPrograms {
  std::string cmake, verilator, python, compiler, ninja;  ///< ninja may be empty
};

Result<BuildPrograms> find_programs() {
  BuildPrograms found{program_in_path({"cmake"}), program_in_path({"verilator"}), program_in_path({"python3"}), "",
                      program_in_path({"ninja"})};
  const char* const compiler = std::getenv("CXX");
  found.compiler =
      compiler != nullptr && *compiler != '\0' ? compiler : program_in_path({"clang++-16", "clang++", "g++"});
  std::string missing;
  for (const auto& [path, what] : {std::pair{&found.cmake, "cmake"},
                                   {&found.verilator, "verilator"},
                                   {&found.python, "python3"},
                                   {&found.compiler, "C++ compiler"}})
    if (path->empty()) missing += (missing.empty() ? "no " : ", no ") + std::string(what);
  if (missing.empty()) return found;
  return unsupported("an RTL core cannot be built here: there is " + missing);
}

/// Runs the program with its output appended to the log, and shows `what` and the seconds on a terminal. Returns the exit
/// code, 127 if it does not start, or 128 + the signal that ended it.
int run_logged(const std::vector<std::string>& words, const fs::path& log, const std::string& what) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return 127;
  const auto begin = Clock::now();
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) break;
    if (terminal) fmt::print(stderr, "\r\033[K{}: {:.0f} s", what, seconds_since(begin));
    ::usleep(100'000);
  }
  if (terminal) fmt::print(stderr, "\r\033[K");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The first line of the log that tells of an error; else its last line.
std::string first_error(const fs::path& log) {
  std::ifstream in(log);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (line.find("rror") != std::string::npos) return line;
    if (!line.empty()) last = line;
  }
  return last;
}

/// Where one module is built.
struct Place {
  fs::path module, build, log, lock;
  std::string name;
};

/// Held while a module is built; the lock ends with the process, however it ends.
class BuildLock {
 public:
  explicit BuildLock(const fs::path& path) : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    error_ = file_ < 0 || ::flock(file_, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
  }
  ~BuildLock() {
    if (file_ >= 0) ::close(file_);
  }
  BuildLock(const BuildLock&) = delete;
  BuildLock& operator=(const BuildLock&) = delete;
  /// errno; EWOULDBLOCK: another process holds it.
  [[nodiscard]] int error() const { return error_; }

 private:
  int file_, error_;
};

/// weft-sim would load the module.
bool is_good(const Place& place) {
  const int file = ::open(place.module.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool good = file >= 0 && loadable::why_refused(file, place.name, loadable::core_key()).empty();
  if (file >= 0) ::close(file);
  return good;
}

/// Of the sources, by their own core_key.py; empty: it failed, and the log tells why.
std::string key_of(const fs::path& source, const BuildPrograms& programs, const Place& place) {
  fs::path answer = place.log;
  answer += ".key";
  std::error_code none;
  fs::remove(answer, none);
  const std::string script = (source / "cmake/core_key.py").string();
  const int code = run_logged({programs.python, "-B", script, source.string(), programs.verilator}, answer, "key");
  std::string key;
  std::getline(std::ifstream(answer) >> std::ws, key);
  if (code == 0)
    fs::remove(answer, none);
  else
    fs::rename(answer, place.log, none);
  return code == 0 ? key : std::string();
}

Status run_build(const CoreBuild& wanted, const fs::path& source, const BuildPrograms& programs, const Place& place) {
  std::error_code none;
  fs::remove(place.log, none);
  const auto failed = [&](const char* step) {
    const std::string said = first_error(place.log);
    return unsupported(fmt::format("{} was not built: {} failed{}{}; the log is {}", place.name, step,
                                   said.empty() ? "" : ": ", said, place.log.string()));
  };
  const std::string key = key_of(source, programs, place);
  if (key.empty()) return failed("cmake/core_key.py");
  if (key != loadable::core_key())
    return unsupported(
        fmt::format("the sources in {} and this Verilator have key {}, and this program was built from key {}: build "
                    "the program again, or name its sources by --source",
                    source.string(), key, loadable::core_key()));
  std::vector<std::string> configure{
      programs.cmake,
      "-S",
      source.string(),
      "-B",
      place.build.string(),
      "-DCMAKE_BUILD_TYPE=Release",
      "-DWEFT_LOADABLE_CORE=" + wanted.chip,
      std::string("-DWEFT_LOADABLE_ARRAY=") + (wanted.structural ? "structural" : "fast"),
      "-DCMAKE_CXX_COMPILER=" + programs.compiler};
  if (!programs.ninja.empty()) configure.insert(configure.end(), {"-G", "Ninja"});
  if (run_logged(configure, place.log, place.name + ": cmake") != 0) return failed("cmake");
  const std::vector<std::string> build{programs.cmake,  "--build",    place.build.string(),       "--target",
                                       "loadable_core", "--parallel", std::to_string(wanted.jobs)};
  if (run_logged(build, place.log, place.name + ": Verilator and the compiler") != 0) return failed("the build");
  // A source that changed meanwhile would be under the wrong key.
  if (key_of(source, programs, place) != key)
    return unsupported("the sources changed while they were built: once more");
  const std::string error = loadable::write_sealed(place.build / "loadable_core.so", place.module, place.name, key);
  if (!error.empty()) return wrong(error);
  fs::remove_all(place.build, none);
  return Ok{};
}

}  // namespace

Result<BuiltCore> build_core(const CoreBuild& wanted) {
  const auto begin = Clock::now();
  std::string no_folder;
  const fs::path cores = loadable::cores_folder(no_folder);
  if (cores.empty()) return wrong(no_folder);
  Place place;
  place.name = loadable::module_name(wanted.chip, wanted.structural);
  const fs::path folder = cores / loadable::core_key();
  place.module = folder / (place.name + ".so");
  place.build = folder / (place.name + ".build");
  place.log = folder / (place.name + ".log");
  place.lock = folder / (place.name + ".lock");
  if (is_good(place)) return BuiltCore{place.module, true, 0};

  const auto source = find_source(wanted.source);
  if (!source.ok()) return source.error();
  const auto programs = find_programs();
  if (!programs.ok()) return programs.error();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return wrong(fmt::format("{} cannot be made: {}", folder.string(), error.message()));
  const BuildLock lock(place.lock);
  if (lock.error() == EWOULDBLOCK)
    return Error{WEFT_ERROR_BUSY,
                 fmt::format("another process builds {}; it holds {}", place.name, place.lock.string())};
  if (lock.error() != 0)
    return wrong(fmt::format("{} cannot be locked: {}", place.lock.string(), std::strerror(lock.error())));
  fmt::print(stderr, "building {}; the largest presets take minutes and gigabytes\n", place.name);
  if (const Status built = run_build(wanted, source.value(), programs.value(), place); !built.ok())
    return built.error();
  return BuiltCore{place.module, false, seconds_since(begin)};
}

}  // namespace weft::tools
