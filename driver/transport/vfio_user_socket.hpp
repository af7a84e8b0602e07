// One vfio-user connection: messages out with descriptors, replies in, every length checked.
#pragma once
#include <atomic>
#include <chrono>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/status.hpp"
#include "driver/transport/file_descriptor.hpp"
#include "weft/spec/vfio_user.hpp"

namespace weft::driver {

namespace vfio_user = spec::vfio_user;

/// Thread-safe: one request at a time waits for its reply, posts go out between. Whatever breaks the protocol (wrong
/// id, wrong size, a command from the server, half a message) ends the connection: after that the stream cannot be
/// trusted.
class VfioUserSocket {
 public:
  static constexpr uint32_t kMaxDataBytes = 1u << 20;
  static constexpr size_t kMaxDescriptors = 32;  ///< of one message

  /// `reply_timeout_ms`: wall-clock bound of one whole reply, and of the time for which the other end may leave a
  /// message untaken.
  VfioUserSocket(FileDescriptor socket, int reply_timeout_ms)
      : socket_(std::move(socket)), reply_timeout_ms_(reply_timeout_ms) {}

  /// A piece of a message.
  struct Bytes {
    const void* data;
    size_t bytes;
  };

  /// Sends a command and waits for its reply, whose payload it returns. An error reply fails with the code for its
  /// errno and leaves the connection up; anything else that fails is DEVICE_LOST and ends it.
  Result<std::vector<unsigned char>> request(vfio_user::Command command, std::span<const Bytes> payload,
                                             std::span<const int> descriptors = {});

  /// Sends a command that asks for no reply.
  Status post(vfio_user::Command command, std::span<const Bytes> payload);

  /// Ends the connection: nothing more is sent, and the other end sees its end.
  void shutdown(std::string_view why);

  /// After shutdown(): waits until the other end has closed too, which it does when it has let go of this process's
  /// memory. False: it has not for `wait_ms`. Then nothing is received any more, either: a request that waits fails.
  /// The descriptor stays open, so that it polls as hung up.
  bool wait_until_closed(int wait_ms);

  int fd() const { return socket_.get(); }

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  Deadline reply_deadline() const;
  /// Until the socket has one of `events`; ends the connection at the deadline.
  Status wait_for(short events, Deadline deadline, const char* what);
  Status send(uint16_t id, vfio_user::Command command, uint32_t flags, std::span<const Bytes> payload,
              std::span<const int> descriptors);
  Status receive(void* data, size_t bytes, Deadline deadline, const char* what);
  Status discard(size_t bytes, Deadline deadline);
  Status broken(std::string why);
  Status closed();

  FileDescriptor socket_;
  int reply_timeout_ms_;
  std::mutex request_mutex_;  ///< taken before send_mutex_
  std::mutex send_mutex_;
  std::mutex why_mutex_;
  std::atomic<bool> closed_{false};
  std::string why_;
  uint16_t next_id_ = 0;  ///< send_mutex_
};

}  // namespace weft::driver
