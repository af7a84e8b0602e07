/// Who hears of the clients' messages.
#pragma once
#include "model/server/connection.hpp"

namespace weft::server {

/// Called at once, on the simulator's thread: a client's messages between connected() and left(), each before it is
/// executed and after.
class MessageLog {
 public:
  virtual ~MessageLog() = default;
  virtual void connected(size_t function) = 0;
  /// The client has gone; what it held is about to be taken away.
  virtual void left(size_t function) = 0;
  virtual void message(size_t function, const Message& message) = 0;
  /// `error`: the errno of the reply. A message that got one has changed nothing.
  virtual void answered(int error, std::span<const std::byte> reply) = 0;
  /// The simulator is about to sleep until a socket has something.
  virtual void sleeps() = 0;
  /// Milliseconds after which sleeps() wants to be called again if nothing happens; -1: never.
  [[nodiscard]] virtual int wake_ms() const = 0;
};

}  // namespace weft::server
