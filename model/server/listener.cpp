// bind, listen, link, accept.
#include "model/server/listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::server {
namespace {

constexpr const char* kOwnerSuffix = ".owner";
constexpr mode_t kOwnMode = 0600, kGroupMode = 0660, kGroupReadMode = 0640;
constexpr std::chrono::milliseconds kRest{100};
constexpr size_t kPidDigits = 7;  // PID_MAX_LIMIT is 2^22
constexpr size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1 - 1 - kPidDigits;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

bool is_left_over(const std::string& path) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  const sockaddr_un address = address_of(path);
  // A server whose queue is full is there as well: without O_NONBLOCK connect() would wait for it.
  const FileDescriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(probe.get(), generic(address), sizeof address) != 0 && errno == ECONNREFUSED;
}

/// Gives a listening socket its name, in place of what a server that is gone left there. Sets errno if it fails.
bool publish(const std::string& unready, const std::string& path) {
  if (::link(unready.c_str(), path.c_str()) == 0) return true;
  if (errno != EEXIST) return false;
  if (is_left_over(path) && ::unlink(path.c_str()) == 0 && ::link(unready.c_str(), path.c_str()) == 0) return true;
  errno = EADDRINUSE;
  return false;
}

}  // namespace

std::unique_ptr<Listener> Listener::make(const std::string& path, std::string& error, std::optional<gid_t> group) {
  if (path.empty() || path.size() > kMaxPath) {
    error = fmt::format("socket path '{}' has {} characters: 1 to {} are possible", path, path.size(), kMaxPath);
    return nullptr;
  }
  const std::string unready = fmt::format("{}.{}", path, ::getpid());
  // The name appears once connections are taken: who finds a socket that refuses knows that its server is gone.
  const sockaddr_un bound = address_of(unready);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ::unlink(unready.c_str());
  constexpr int kBacklog = 16;
  // The mode of the socket becomes that of its name: at no moment may others connect.
  if (::fchmod(socket.get(), kOwnMode) != 0 || ::bind(socket.get(), generic(bound), sizeof bound) != 0 ||
      (group &&
       (::lchown(unready.c_str(), static_cast<uid_t>(-1), *group) != 0 || ::chmod(unready.c_str(), kGroupMode) != 0)) ||
      ::listen(socket.get(), kBacklog) != 0 || !publish(unready, path)) {
    error = fmt::format("socket '{}': {}", path, std::strerror(errno));
    ::unlink(unready.c_str());
    return nullptr;
  }
  ::unlink(unready.c_str());
  return std::unique_ptr<Listener>(new Listener(std::move(socket), path, group));
}

Listener::~Listener() {
  publish_owner(0);
  ::unlink(path_.c_str());
}

void Listener::publish_owner(pid_t pid) const {
  const std::string path = path_ + kOwnerSuffix;
  ::unlink(path.c_str());
  if (pid == 0) return;
  const std::string text = fmt::format("{}\n", pid);
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnMode));
  if (!file.valid()) return;
  const bool readable = !group_ || (::fchown(file.get(), static_cast<uid_t>(-1), *group_) == 0 &&
                                    ::fchmod(file.get(), kGroupReadMode) == 0);
  if (!readable || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    ::unlink(path.c_str());
}

FileDescriptor Listener::accept() {
  if (resting()) return {};
  FileDescriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid() && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED)
    rest_ends_ = Clock::now() + kRest;
  return socket;
}

}  // namespace weft::server
