/// One client's socket: bytes and descriptors in, whole messages out, replies back; and commands to the client.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "model/chip/tenant_limits.hpp"
#include "model/server/file_descriptor.hpp"
#include "weft/spec/vfio_user.hpp"

struct msghdr;

namespace weft::server {

namespace vfio_user = spec::vfio_user;

inline constexpr size_t kMaxMessageBytes =
    sizeof(vfio_user::Header) + sizeof(vfio_user::RegionAccess) + chip::tenant_limits::kTransferBytes;

/// A message as it came. `error` is not 0 if its frame is wrong: its payload is then empty.
struct Message {
  vfio_user::Header header{};
  std::vector<std::byte> payload;
  /// In the order in which they were sent. One that is neither memory nor an eventfd is closed when it comes, and
  /// invalid here: a socket of the client's, kept by the server, would hide the client's end.
  std::vector<FileDescriptor> fds;
  int error = 0;  ///< EINVAL: shorter than a header; EMSGSIZE: longer than kMaxMessageBytes; EMFILE: more than
                  ///< tenant_limits::kMessageDescriptors; ENOMEM: the server has no memory for it
};

/// The process at the other end, as the system knows it from its connect().
struct Peer {
  pid_t pid = 0;  ///< 0: of another process namespace
  uid_t uid = static_cast<uid_t>(-1);
};

/// Never blocks but in ask(), whatever the descriptor's own flags say. Not thread-safe.
///
/// A header is read by itself before its payload, because descriptors belong to the bytes with which they were sent.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Received : uint8_t { kMessage, kNothing, kClosed };

  explicit Connection(FileDescriptor socket);

  /// Gives the socket away, before anything was received.
  [[nodiscard]] FileDescriptor take_socket() { return std::move(socket_); }

  /// Takes the memory for all replies that the client may leave unread, so that none fails for want of it. Throws
  /// std::bad_alloc.
  void reserve();

  /// The next whole message, if it is there: first those that ask() has kept. After a message with EINVAL the stream
  /// has lost its frame: the caller ends the connection.
  [[nodiscard]] Received receive(Message& message);
  /// Messages that ask() has kept.
  [[nodiscard]] bool keeps_messages() const { return !kept_.empty(); }

  /// Answers `request` with `payload`, or with an error (payload is then ignored). Nothing if the request asked for no
  /// reply. `descriptor` goes with the reply; -1: none. It is the caller's, and at most one is on its way at a time: a
  /// further one takes the place of one that the client has not read yet.
  void reply(const vfio_user::Header& request, int error, std::span<const std::byte> payload, int descriptor = -1);

  /// Sends a command of the server's, `body` and `data` behind its header, and waits for its reply until `deadline`.
  /// Messages that come before the reply are kept for receive(), as many as tenant_limits say. False: no such reply has
  /// come, and the connection is at its end. An error reply is a reply.
  [[nodiscard]] bool ask(vfio_user::Command command, std::span<const std::byte> body, std::span<const std::byte> data,
                         Clock::time_point deadline, Message& reply);

  /// The connection is at its end: receive() says so when it has given what was kept.
  void give_up() { broken_ = true; }
  [[nodiscard]] bool given_up() const { return broken_; }

  /// Sends what is left. False: the client is gone.
  [[nodiscard]] bool flush();
  [[nodiscard]] bool has_output() const { return sent_ < output_.size(); }
  /// More replies are unread than tenant_limits::kBacklogBytes: no message is to be taken.
  [[nodiscard]] bool backlogged() const { return output_.size() - sent_ > chip::tenant_limits::kBacklogBytes; }
  /// When a backlogged client is to be let go, unless it reads.
  [[nodiscard]] Clock::time_point patience_ends() const { return progress_ + chip::tenant_limits::kStall; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] Peer peer() const { return peer_; }
  /// The other end will send nothing more; messages of it may still be unread.
  [[nodiscard]] bool peer_closed() const;

 private:
  enum class Fill : uint8_t { kFull, kNothing, kClosed };
  [[nodiscard]] Received receive_new(Message& message);
  [[nodiscard]] bool keep(Message&& message);
  [[nodiscard]] Fill fill(std::span<std::byte> place, size_t& got);
  [[nodiscard]] Fill skip();
  void take_fds(msghdr& message);
  void start_payload();
  void append(std::span<const std::byte> bytes);
  /// Bytes of output_ from sent_ on, as many as the socket takes at once; as sendmsg().
  [[nodiscard]] ssize_t send_some();

  FileDescriptor socket_;
  Peer peer_;
  vfio_user::Header header_{};
  size_t header_got_ = 0;
  std::vector<std::byte> payload_;
  size_t payload_got_ = 0;
  uint64_t skip_bytes_ = 0;  // of a message that cannot be taken
  std::vector<FileDescriptor> fds_;
  int error_ = 0;
  bool broken_ = false;
  std::vector<std::byte> output_;
  size_t sent_ = 0;
  FileDescriptor passed_;  // goes with the byte of output_ at passed_at_
  size_t passed_at_ = 0;
  Clock::time_point progress_ = Clock::now();  // the client has read, or had read everything
  std::deque<Message> kept_;
  size_t kept_bytes_ = 0;
  uint16_t next_id_ = 0;
};

}  // namespace weft::server
