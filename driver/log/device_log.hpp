// A device's log: lines of the driver and records of the firmware, in the order of device cycles.
#pragma once
#include <fmt/format.h>

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/log/log.hpp"

namespace weft::driver {

/// Lines wait here until flush(), which puts them in order with what the firmware has written meanwhile. A record lies
/// in host memory before the completion of anything that happened after it: so if the driver flushes when it has
/// drained its rings, order holds over flushes too, except a line that another thread adds late. Thread-safe. Blocks
/// while another thread's lines are handed out.
class DeviceLog {
 public:
  /// Lines that wait at most; one more flushes those of the driver.
  static constexpr size_t kMaxPending = 256;

  void set_device(std::string name);
  /// The firmware's ring from now on (WEFT_LIMIT_LOG_ENTRIES records, device-visible; nullptr: none). Its records count
  /// from 1 again.
  void set_ring(const std::byte* ring);

  /// A line of the driver. No cycle: it stands behind the line before it.
  void add(LogModule module, LogLevel level, std::optional<uint64_t> cycle, std::string text);
  /// The same with formatted text, if it is wanted.
  template <typename... Args>
  void line(LogModule module, LogLevel level, std::optional<uint64_t> cycle, fmt::format_string<Args...> text,
            Args&&... args) {
    if (!log_wants(module, level)) return;
    best_effort([&] { add(module, level, cycle, fmt::format(text, std::forward<Args>(args)...)); });
  }
  /// Hands out what waits and what the firmware has written since, by cycle; lines of one cycle as they came, the
  /// firmware's first. Nothing before the device has its name.
  void flush();
  /// Hands out the rest, with or without a name; the ring is read no more.
  void close();

 private:
  void take_records();
  void flush_locked();

  std::mutex mutex_;
  std::string device_;
  const std::byte* ring_ = nullptr;
  uint32_t read_ = 0;        ///< sequence of the last record taken
  uint64_t last_cycle_ = 0;  ///< of the last line added or handed out
  std::vector<LogLine> pending_;
  std::vector<LogLine> records_;
};

}  // namespace weft::driver
