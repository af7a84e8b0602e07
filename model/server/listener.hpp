/// A listening UNIX socket with a path.
#pragma once
#include <sys/types.h>

#include <memory>
#include <string>

#include "model/server/file_descriptor.hpp"

namespace weft::server {

/// Binds the path and removes it, and the owner's file beside it, at the end. A path left over by a server that died is
/// taken over; one that is served is not.
class Listener {
 public:
  /// nullptr and a message in `error`.
  static std::unique_ptr<Listener> make(const std::string& path, std::string& error);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Invalid if nobody waits.
  [[nodiscard]] FileDescriptor accept();
  [[nodiscard]] int fd() const { return socket_.get(); }

  /// Tells who is served: <path>.owner holds the process id while there is one, for the message of a refused client and
  /// for tools. 0: nobody. A file that cannot be written is only not there.
  void publish_owner(pid_t pid) const;

 private:
  Listener(FileDescriptor socket, std::string path) : socket_(std::move(socket)), path_(std::move(path)) {}

  FileDescriptor socket_;
  std::string path_;
};

}  // namespace weft::server
