// Names and files of hang reports.
#include "driver/report/report_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "driver/transport/file_descriptor.hpp"

namespace weft::driver {
namespace {

std::mutex folder_mutex;
std::string chosen_folder;  // set_report_folder
std::atomic<uint32_t> reports{0};
std::atomic<uint64_t> lost{0};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// A new file: what stands at its place is removed, never followed or written into.
Status write_file(const std::string& path, const std::string& text) {
  ::unlink(path.c_str());
  constexpr mode_t kOwnerOnly = 0600;
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  if (!file.valid())
    return failure(WEFT_ERROR_NO_HOST_MEMORY, "the report '{}' does not open: {}", path, std::strerror(errno));
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(file.get(), text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return failure(WEFT_ERROR_NO_HOST_MEMORY, "the report '{}' cannot be written: {}", path, std::strerror(errno));
    at += static_cast<size_t>(written);
  }
  return {};
}

}  // namespace

std::mutex& report_fork_mutex() { return folder_mutex; }

void set_report_folder(std::string folder) {
  const std::lock_guard lock(folder_mutex);
  chosen_folder = std::move(folder);
}

std::string report_folder() {
  {
    const std::lock_guard lock(folder_mutex);
    if (!chosen_folder.empty()) return chosen_folder;
  }
  const std::string asked = environment("WEFT_REPORT_DIR");
  if (asked == "off") return {};
  if (!asked.empty()) return asked;
  const std::string temporary = environment("TMPDIR");
  return temporary.empty() ? "/tmp" : temporary;
}

std::string next_report_path() {
  const std::string folder = report_folder();
  if (folder.empty()) return {};
  return fmt::format("{}/weft-hang-{}-{}", folder, ::getpid(), reports.fetch_add(1) % kReportsKept + 1);
}

Result<std::string> write_report(const std::string& path, const std::string& text, const std::string& json) {
  const std::string name = path + ".txt";
  if (Status s = write_file(name, text); !s.ok()) return s;
  if (Status s = write_file(path + ".json", json); !s.ok()) return s;
  return name;
}

uint64_t lost_reports() noexcept { return lost.load(std::memory_order_relaxed); }
uint64_t count_lost_report() noexcept { return lost.fetch_add(1, std::memory_order_relaxed) + 1; }

}  // namespace weft::driver
