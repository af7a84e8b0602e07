// Files by POSIX calls, so that every failure has its reason.
#include "host/tools/files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace weft::tools {
namespace {

Error failed(const std::string& path, const char* what, int reason) {
  return {WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{}: cannot {}: {}", path, what, std::strerror(reason))};
}

struct Close {
  void operator()(FILE* file) const { std::fclose(file); }
};

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& path) {
  std::unique_ptr<FILE, Close> file(std::fopen(path.c_str(), "rbe"));
  if (!file) return failed(path, "read", errno);
  struct stat info {};
  if (fstat(fileno(file.get()), &info) != 0) return failed(path, "read", errno);
  if (S_ISDIR(info.st_mode)) return failed(path, "read", EISDIR);
  std::vector<std::byte> data(static_cast<size_t>(info.st_size));
  const size_t have = std::fread(data.data(), 1, data.size(), file.get());
  if (have != data.size()) return failed(path, "read", std::ferror(file.get()) ? errno : EIO);
  return data;
}

Status write_file(const std::string& path, const std::vector<std::byte>& data) {
  const std::string temporary = fmt::format("{}.{}.partial", path, getpid());
  std::unique_ptr<FILE, Close> file(std::fopen(temporary.c_str(), "wbe"));
  if (!file) return failed(path, "write", errno);
  const bool written =
      std::fwrite(data.data(), 1, data.size(), file.get()) == data.size() && std::fflush(file.get()) == 0;
  int reason = errno;
  file.reset();
  if (written && std::rename(temporary.c_str(), path.c_str()) == 0) return Ok{};
  if (written) reason = errno;
  std::remove(temporary.c_str());
  return failed(path, "write", reason);
}

Status check_writable(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return failed(path, "write", EISDIR);
  const auto parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (access(folder.c_str(), W_OK) != 0) return failed(path, "write", errno);
  return Ok{};
}

}  // namespace weft::tools
