// One word of levels for quick looks; the rest behind a mutex.
#include "driver/log/log.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace weft::driver {
namespace {

constexpr unsigned kLevelBits = 4;
static_assert(kLogModules * kLevelBits <= 64);

/// All levels in one word: 0 is off, 1 error, ... so that zero is "nothing is wanted".
uint64_t packed(const LogLevels& levels) {
  uint64_t word = 0;
  for (size_t i = 0; i < kLogModules; i++)
    word |= static_cast<uint64_t>(static_cast<int>(levels.level[i]) + 1) << (kLevelBits * i);
  return word;
}

void print(std::FILE* file, const std::string& device, const LogLine& line) {
  fmt::print(file, "weft {} {}\n", device, log_line_text(line));
  std::fflush(file);
}

struct Log {
  Log() { from_environment(); }

  void from_environment() {
    const char* text = std::getenv("WEFT_LOG");
    std::string complaint;
    const LogLevels wanted = parse_log_levels(text != nullptr ? text : "", complaint);
    if (!complaint.empty()) fmt::print(stderr, "weft: WEFT_LOG: {}\n", complaint);
    set(wanted, {});
  }

  void set(const LogLevels& wanted, LogSink to) {
    const std::lock_guard lock(mutex);
    sink = to ? std::move(to) : default_sink();
    levels = wanted;
    word.store(packed(wanted), std::memory_order_relaxed);
  }

  /// The mutex is held.
  LogSink default_sink() {
    const char* path = std::getenv("WEFT_LOG_FILE");
    if (path != nullptr && *path != 0 && file == nullptr) {
      file = std::fopen(path, "ae");
      if (file == nullptr) fmt::print(stderr, "weft: WEFT_LOG_FILE: {} cannot be written; standard error is\n", path);
    }
    std::FILE* to = file != nullptr ? file : stderr;
    return [to](const std::string& device, const LogLine& line) { print(to, device, line); };
  }

  std::mutex mutex;
  LogLevels levels;
  LogSink sink;
  std::FILE* file = nullptr;  // never closed: lines may come until the process ends
  std::atomic<uint64_t> word{0};
};

Log& the_log() {
  static Log& log = *new Log;  // outlives every device
  return log;
}

}  // namespace

void set_log(const LogLevels& levels, LogSink sink) { the_log().set(levels, std::move(sink)); }
void set_log_from_environment() { the_log().from_environment(); }

bool log_wants(LogModule module, LogLevel level) {
  const uint64_t word = the_log().word.load(std::memory_order_relaxed);
  return static_cast<int>(word >> (kLevelBits * static_cast<size_t>(module)) & 0xf) - 1 >= static_cast<int>(level);
}

LogLevels log_levels() {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  return log.levels;
}

std::mutex& log_fork_mutex() { return the_log().mutex; }

void hand_out(const std::string& device, const LogLine& line) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  if (log.sink) log.sink(device, line);
}

std::string log_line_text(const LogLine& line) {
  const std::string cycle = fmt::format("{}{}", line.cycle_known ? "" : "~", line.cycle);
  return fmt::format("{:>12}  {:<7}  {:<16}  {}", cycle, log_level_name(line.level), log_module_name(line.module),
                     line.text);
}

}  // namespace weft::driver
