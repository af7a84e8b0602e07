// By the kernel's name of a descriptor, and by what only files in memory have.
#include "model/server/received_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace weft::server {

bool is_eventfd(int fd) {
  if (fd < 0) return false;
  std::array<char, 64> target;
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
  // A file of this name has a path, which begins with a slash.
  return length > 0 && std::string_view(target.data(), static_cast<size_t>(length)) == "anon_inode:[eventfd]";
}

bool is_memory(int fd) { return ::fcntl(fd, F_GET_SEALS) >= 0; }

}  // namespace weft::server
