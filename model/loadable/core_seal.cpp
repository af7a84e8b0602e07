#include "model/loadable/core_seal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

namespace weft::loadable {
namespace {

constexpr std::string_view kMagic = "weft-core-1";

struct Seal {
  std::string magic, key, name;
  uint64_t bytes = 0;
  uint32_t crc = 0;
};

uint32_t crc_of(const void* data, size_t bytes, uint32_t crc) {
  return static_cast<uint32_t>(::crc32_z(crc, static_cast<const Bytef*>(data), bytes));
}

std::string text_of(const Seal& seal) {
  const std::string fields = fmt::format("{} {} {} {} {:08x}", seal.magic, seal.key, seal.name, seal.bytes, seal.crc);
  return fmt::format("{:<{}}\n", fields, kSealBytes - 1);
}

/// Reads `bytes` at `offset`; false: there are not so many.
bool read_at(int file, void* to, size_t bytes, uint64_t offset) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t done = ::pread(file, at, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done, offset += static_cast<uint64_t>(done), bytes -= static_cast<size_t>(done);
  }
  return true;
}

/// The magic is empty if the last bytes are no seal.
Seal read_seal(int file, uint64_t file_bytes) {
  std::string text(kSealBytes, '\0');
  Seal seal;
  if (file_bytes < kSealBytes || !read_at(file, text.data(), kSealBytes, file_bytes - kSealBytes)) return {};
  std::istringstream in(text);
  in >> seal.magic >> seal.key >> seal.name >> seal.bytes >> std::hex >> seal.crc;
  return in && seal.magic == kMagic && text_of(seal) == text ? seal : Seal{};
}

}  // namespace

std::string write_sealed(const std::filesystem::path& module, const std::filesystem::path& out, std::string_view name,
                         std::string_view key) {
  std::filesystem::path unfinished = out;
  unfinished += ".new";
  std::error_code error;
  std::filesystem::create_directories(out.parent_path(), error);
  std::ifstream from(module, std::ios::binary);
  std::ofstream to(unfinished, std::ios::binary | std::ios::trunc);
  if (!from) return fmt::format("{} cannot be read", module.string());
  Seal seal{std::string(kMagic), std::string(key), std::string(name), 0, 0};
  std::vector<char> buffer(1 << 20);
  while (from.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), from.gcount() > 0) {
    const auto bytes = static_cast<size_t>(from.gcount());
    seal.crc = crc_of(buffer.data(), bytes, seal.crc);
    seal.bytes += bytes;
    to.write(buffer.data(), from.gcount());
  }
  to << text_of(seal);
  to.close();
  if (from.bad() || !to) {
    std::filesystem::remove(unfinished, error);
    return fmt::format("{} cannot be written: {}", unfinished.string(), std::strerror(errno));
  }
  using std::filesystem::perms;
  std::filesystem::permissions(unfinished,
                               perms::owner_read | perms::owner_write | perms::group_read | perms::others_read, error);
  if (!error) std::filesystem::rename(unfinished, out, error);
  return error ? fmt::format("{} cannot be written: {}", out.string(), error.message()) : std::string();
}

std::string why_refused(int file, std::string_view name, std::string_view key) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return std::strerror(errno);
  if (!S_ISREG(status.st_mode)) return "it is no regular file";
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return fmt::format("it belongs to user {}, and neither to this user nor to root", status.st_uid);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("others may write it (mode {:04o})", status.st_mode & 07777);
  const auto file_bytes = static_cast<uint64_t>(status.st_size);
  const Seal seal = read_seal(file, file_bytes);
  if (seal.magic.empty()) return "it is not whole, or not from weft build-chip: it has no seal";
  if (seal.key != key) return fmt::format("it was built for key {}, and this program has {}", seal.key, key);
  if (seal.name != name) return fmt::format("it holds {}, not {}", seal.name, name);
  if (seal.bytes != file_bytes - kSealBytes)
    return fmt::format("it has {} bytes where its seal tells {}", file_bytes - kSealBytes, seal.bytes);
  std::vector<char> buffer(1 << 20);
  uint32_t crc = 0;
  for (uint64_t at = 0; at < seal.bytes; at += buffer.size()) {
    const size_t bytes = std::min<uint64_t>(buffer.size(), seal.bytes - at);
    if (!read_at(file, buffer.data(), bytes, at)) return "it cannot be read";
    crc = crc_of(buffer.data(), bytes, crc);
  }
  if (crc != seal.crc) return fmt::format("its CRC-32 is {:08x} where its seal tells {:08x}", crc, seal.crc);
  return {};
}

}  // namespace weft::loadable
