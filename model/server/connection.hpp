/// One client's socket: bytes and descriptors in, whole messages out, replies back.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/server/file_descriptor.hpp"
#include "model/server/message.hpp"

struct msghdr;

namespace weft::server {

/// A message as it came. `error` is not 0 if its frame is wrong: its payload is then empty.
struct Message {
  Header header{};
  std::vector<std::byte> payload;
  std::vector<FileDescriptor> fds;
  int error = 0;  ///< EINVAL: shorter than a header; EMSGSIZE: longer than kMaxMessageBytes; EMFILE: more than
                  ///< kMaxMessageFds descriptors
};

/// Never blocks, whatever the descriptor's own flags say. Not thread-safe.
///
/// A header is read by itself before its payload, because descriptors belong to the bytes with which they were sent.
class Connection {
 public:
  enum class Received : uint8_t { kMessage, kNothing, kClosed };

  /// Bytes of unread replies beyond which no more messages are taken from this client.
  static constexpr size_t kMaxBacklogBytes = 1 << 20;

  explicit Connection(FileDescriptor socket) : socket_(std::move(socket)) {}

  /// The next whole message, if it is there. After a message with EINVAL the stream has lost its frame: the caller ends
  /// the connection.
  [[nodiscard]] Received receive(Message& message);

  /// Answers `request` with `payload`, or with an error (payload is then ignored). Nothing if the request asked for no
  /// reply.
  void reply(const Header& request, int error, std::span<const std::byte> payload);

  /// Sends what is left. False: the client is gone.
  [[nodiscard]] bool flush();
  [[nodiscard]] bool has_output() const { return sent_ < output_.size(); }
  [[nodiscard]] bool backlogged() const { return output_.size() - sent_ > kMaxBacklogBytes; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  /// Process at the other end, as the system knows it from its connect(); 0: unknown.
  [[nodiscard]] pid_t peer() const;
  /// The other end will send nothing more; messages of it may still be unread.
  [[nodiscard]] bool peer_closed() const;

 private:
  enum class Fill : uint8_t { kFull, kNothing, kClosed };
  [[nodiscard]] Fill fill(std::span<std::byte> place, size_t& got);
  [[nodiscard]] Fill skip();
  void take_fds(msghdr& message);
  void start_payload();

  FileDescriptor socket_;
  Header header_{};
  size_t header_got_ = 0;
  std::vector<std::byte> payload_;
  size_t payload_got_ = 0;
  uint64_t skip_bytes_ = 0;  // of a message that is too long
  std::vector<FileDescriptor> fds_;
  int error_ = 0;
  bool broken_ = false;
  std::vector<std::byte> output_;
  size_t sent_ = 0;
};

}  // namespace weft::server
