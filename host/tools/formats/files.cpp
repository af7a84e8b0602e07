// Files by POSIX calls, so that every failure has its reason.
#include "host/tools/formats/files.hpp"

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

/// Exists and is no regular file, which a rename would replace.
bool is_special(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
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
  const bool special = is_special(path);
  const std::string temporary = special ? path : fmt::format("{}.{}.partial", path, getpid());
  std::unique_ptr<FILE, Close> file(std::fopen(temporary.c_str(), "wbe"));
  if (!file) return failed(path, "write", errno);
  const bool written =
      std::fwrite(data.data(), 1, data.size(), file.get()) == data.size() && std::fflush(file.get()) == 0;
  int reason = errno;
  file.reset();
  if (written && (special || std::rename(temporary.c_str(), path.c_str()) == 0)) return Ok{};
  if (written) reason = errno;
  if (!special) std::remove(temporary.c_str());
  return failed(path, "write", reason);
}

Status check_writable(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return failed(path, "write", EISDIR);
  const auto parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (access(path.c_str(), F_OK) == 0 && access(path.c_str(), W_OK) != 0) return failed(path, "write", errno);
  if (!is_special(path) && access(folder.c_str(), W_OK) != 0) return failed(path, "write", errno);
  return Ok{};
}

Status check_regular(const std::string& path) {
  if (auto status = check_writable(path); !status.ok()) return status;
  if (!is_special(path)) return Ok{};
  return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{}: cannot write: it is no regular file", path)};
}

Status check_apart(const std::map<std::string, std::string>& written, const std::vector<std::string>& read) {
  const auto place = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  const auto same = [&](const std::string& a, const std::string& b) {
    return !a.empty() && !b.empty() && place(a) == place(b) && !is_special(a);
  };
  for (auto file = written.begin(); file != written.end(); file++) {
    for (auto other = written.begin(); other != file; other++)
      if (same(file->second, other->second))
        return Error{WEFT_ERROR_INVALID_ARGUMENT,
                     fmt::format("{}: '{}' and '{}' would be written to it", file->second, other->first, file->first)};
    for (const auto& path : read)
      if (same(file->second, path))
        return Error{WEFT_ERROR_INVALID_ARGUMENT,
                     fmt::format("{}: '{}' would be written over what is read from it", file->second, file->first)};
  }
  return Ok{};
}

}  // namespace weft::tools
