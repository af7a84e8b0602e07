// The log of this process: which lines are wanted, and who gets them.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "driver/log/log_levels.hpp"

namespace weft::driver {

/// A line, of the driver or of the firmware.
struct LogLine {
  uint64_t cycle = 0;  ///< device cycle; without `cycle_known` that of the line before it
  bool cycle_known = false;
  LogLevel level = LogLevel::kInfo;
  LogModule module = LogModule::kDriverDevice;
  std::string text;
};

/// Gets lines, one at a time, with the name of their device; must not call the driver.
using LogSink = std::function<void(const std::string& device, const LogLine& line)>;

/// Sets levels and sink; an empty sink is standard error, or the file of WEFT_LOG_FILE. Any thread.
void set_log(const LogLevels& levels, LogSink sink);
/// Back to the environment: WEFT_LOG is read again, and a complaint about it is written to standard error.
void set_log_from_environment();

/// The line is wanted. Costs an atomic load where nothing is. The first call reads the environment.
bool log_wants(LogModule module, LogLevel level);
LogLevels log_levels();

/// Hands a line to the sink. Blocks while another thread's line is handed out.
void hand_out(const std::string& device, const LogLine& line);

/// "     12345  info     driver.queue     queue 1 created", an unknown cycle with a tilde: "    ~12345".
std::string log_line_text(const LogLine& line);

/// Of driver/device/fork.cpp: no thread is handing out a line while the lock is held.
std::mutex& log_fork_mutex();

}  // namespace weft::driver
