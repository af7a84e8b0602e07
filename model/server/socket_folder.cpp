// mkdir(2), and open(2) without following links.
#include "model/server/socket_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "model/server/file_descriptor.hpp"

namespace weft::server {
namespace {

constexpr mode_t kOwnMode = 0700, kGroupMode = 0750, kOthersWrite = 0022, kModeBits = 07777;

}  // namespace

bool prepare_socket_folder(const std::string& path, std::optional<gid_t> group, std::string& error) {
  const auto wrong = [&](const std::string& what) {
    error = fmt::format("folder '{}': {}", path, what);
    return false;
  };
  std::filesystem::path name(path);
  if (!name.has_filename()) name = name.parent_path();  // "run/" is "run"
  std::error_code failed;
  if (name.has_parent_path()) std::filesystem::create_directories(name.parent_path(), failed);
  if (failed) return wrong(failed.message());
  if (::mkdir(name.c_str(), kOwnMode) != 0 && errno != EEXIST) return wrong(std::strerror(errno));
  const FileDescriptor folder(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid() && (errno == ELOOP || errno == ENOTDIR))
    return wrong("it is a symbolic link or no folder; give the folder itself");
  struct stat status {};
  if (!folder.valid() || ::fstat(folder.get(), &status) != 0) return wrong(std::strerror(errno));
  if (status.st_uid != ::geteuid())
    return wrong(fmt::format("it belongs to user {}, and this server runs as user {}: give a folder of that user",
                             status.st_uid, ::geteuid()));
  const mode_t mode = status.st_mode & kModeBits;
  const mode_t wanted = group ? kGroupMode : kOwnMode;
  if ((mode & kOthersWrite) != 0)
    return wrong(
        fmt::format("others may write there (mode {:04o}, expected {:04o}), and could put something in the "
                    "place of a socket: give a folder of its own, or a name that is not there yet",
                    mode, wanted));
  if (group && ::fchown(folder.get(), static_cast<uid_t>(-1), *group) != 0)
    return wrong(fmt::format("it cannot be given to group {}: {}", *group, std::strerror(errno)));
  if (mode != wanted && ::fchmod(folder.get(), wanted) != 0) return wrong(std::strerror(errno));
  return true;
}

}  // namespace weft::server
