/// A listening UNIX socket with a path.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "model/server/file_descriptor.hpp"

namespace weft::server {

/// Binds the path and removes it, and the owner's file beside it, at the end. A path left over by a server that died is
/// taken over; one that is served is not. Only the server's own user may connect (mode 0600), or also its `group`
/// (0660).
class Listener {
 public:
  using Clock = std::chrono::steady_clock;

  /// nullptr and a message in `error`.
  static std::unique_ptr<Listener> make(const std::string& path, std::string& error,
                                        std::optional<gid_t> group = std::nullopt);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Invalid if no connection waits. It does too if the process has no descriptor for it; then the listener rests.
  [[nodiscard]] FileDescriptor accept();
  [[nodiscard]] int fd() const { return socket_.get(); }
  /// It is not to be polled: a connection that cannot be accepted would wake the loop again and again.
  [[nodiscard]] bool resting() const { return Clock::now() < rest_ends_; }
  /// Clock::time_point::max(): it does not rest.
  [[nodiscard]] Clock::time_point rest_ends() const { return resting() ? rest_ends_ : Clock::time_point::max(); }

  /// Tells who is served: <path>.owner holds the process id while there is one, for the message of a refused client and
  /// for tools. 0: nobody. The file is a new one each time, so that no link is followed; one that cannot be made is
  /// only not there.
  void publish_owner(pid_t pid) const;

 private:
  Listener(FileDescriptor socket, std::string path, std::optional<gid_t> group)
      : socket_(std::move(socket)), path_(std::move(path)), group_(group) {}

  FileDescriptor socket_;
  std::string path_;
  std::optional<gid_t> group_;
  Clock::time_point rest_ends_{};
};

}  // namespace weft::server
