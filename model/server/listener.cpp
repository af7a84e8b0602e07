// bind, listen, accept.
#include "model/server/listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::server {
namespace {

constexpr const char* kOwnerSuffix = ".owner";

}  // namespace

std::unique_ptr<Listener> Listener::make(const std::string& path, std::string& error) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    error = fmt::format("socket path '{}' has {} characters: 1 to {} are possible", path, path.size(),
                        sizeof address.sun_path - 1);
    return nullptr;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int result = ::bind(socket.get(), generic, sizeof address);
  if (result != 0 && errno == EADDRINUSE) {
    const FileDescriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(probe.get(), generic, sizeof address) != 0 && errno == ECONNREFUSED && ::unlink(path.c_str()) == 0) {
      result = ::bind(socket.get(), generic, sizeof address);
    } else {
      errno = EADDRINUSE;
    }
  }
  constexpr int kBacklog = 16;
  if (result != 0 || ::listen(socket.get(), kBacklog) != 0) {
    error = fmt::format("socket '{}': {}", path, std::strerror(errno));
    return nullptr;
  }
  return std::unique_ptr<Listener>(new Listener(std::move(socket), path));
}

Listener::~Listener() {
  publish_owner(0);
  ::unlink(path_.c_str());
}

void Listener::publish_owner(pid_t pid) const {
  const std::string path = path_ + kOwnerSuffix;
  if (pid == 0) {
    ::unlink(path.c_str());
    return;
  }
  const std::string text = fmt::format("{}\n", pid);
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.valid() && ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    ::unlink(path.c_str());
}

FileDescriptor Listener::accept() {
  return FileDescriptor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

}  // namespace weft::server
