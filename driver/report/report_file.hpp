// Where hang reports go: a folder, two files a report, not more than the last few of a process.
#pragma once
#include <mutex>
#include <string>

#include "driver/status.hpp"

namespace weft::driver {

/// Reports of a process that are kept; a further one takes the place of the oldest.
inline constexpr uint32_t kReportsKept = 32;

/// Folder for the reports of this process; empty: back to the environment. Any thread.
void set_report_folder(std::string folder);

/// Folder: set_report_folder, else WEFT_REPORT_DIR, else TMPDIR, else /tmp. Empty: WEFT_REPORT_DIR is "off".
std::string report_folder();

/// Path of the next report without its extension: "<folder>/weft-hang-<pid>-<n>". Empty: reports are off.
std::string next_report_path();

/// Writes `path`.txt and `path`.json, new files that only this user can read; returns the first one's name.
/// NO_HOST_MEMORY: a file cannot be written (the message says why).
Result<std::string> write_report(const std::string& path, const std::string& text, const std::string& json);

/// Reports of this process that there was no memory or no place for. Any thread.
uint64_t lost_reports() noexcept;
/// One more; returns how many there are now.
uint64_t count_lost_report() noexcept;

/// Of driver/device/fork.cpp: no thread reads or sets the folder while the lock is held.
std::mutex& report_fork_mutex();

}  // namespace weft::driver
