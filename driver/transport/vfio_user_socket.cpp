// Sending and receiving of vfio-user messages.
#include "driver/transport/vfio_user_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace weft::driver {

using vfio_user::Command;
using vfio_user::Header;

namespace {

/// The code for the errno of an error reply.
weft_error reply_error(uint32_t number) {
  switch (number) {
    case EBUSY:
      return WEFT_ERROR_BUSY;
    case ENOMEM:
    case ENOSPC:
    case EFBIG:
    case EMFILE:
      return WEFT_ERROR_NO_HOST_MEMORY;
    case ENOTSUP:
    case ENOSYS:
    case EPERM:
    case EACCES:
      return WEFT_ERROR_UNSUPPORTED;
    default:
      return WEFT_ERROR_INVALID_ARGUMENT;
  }
}

}  // namespace

VfioUserSocket::Deadline VfioUserSocket::reply_deadline() const {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(reply_timeout_ms_);
}

Status VfioUserSocket::closed() {
  const std::lock_guard lock(why_mutex_);
  return Status(WEFT_ERROR_DEVICE_LOST, "the connection to the device is closed: " + why_);
}

void VfioUserSocket::shutdown(std::string_view why) {
  {
    const std::lock_guard lock(why_mutex_);
    if (closed_.exchange(true)) return;
    best_effort([&] { why_ = why; });
  }
  ::shutdown(socket_.get(), SHUT_WR);
}

bool VfioUserSocket::wait_until_closed(int wait_ms) {
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  bool closed = false;
  for (std::array<char, 512> rest; !closed;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd p{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&p, 1, std::max(0, static_cast<int>(left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t got = ::recv(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    closed = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
  }
  ::shutdown(socket_.get(), SHUT_RD);
  return closed;
}

Status VfioUserSocket::broken(std::string why) {
  shutdown(why);
  return closed();
}

Status VfioUserSocket::wait_for(short events, Deadline deadline, const char* what) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return broken(fmt::format("no {} for {} ms", what, reply_timeout_ms_));
    pollfd p{socket_.get(), events, 0};
    const int ready = ::poll(&p, 1, static_cast<int>(left.count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return broken(fmt::format("waiting for {}: {}", what, std::strerror(errno)));
  }
}

Status VfioUserSocket::send(uint16_t id, Command command, uint32_t flags, std::span<const Bytes> payload,
                            std::span<const int> descriptors) {
  constexpr size_t kMaxPieces = 4;
  Header header{id, static_cast<uint16_t>(command), sizeof(Header), vfio_user::kTypeCommand | flags, 0};
  std::array<iovec, kMaxPieces> pieces{};
  size_t count = 0;
  pieces[count++] = {&header, sizeof header};
  for (const Bytes& piece : payload) {
    if (piece.bytes == 0) continue;
    pieces[count++] = {const_cast<void*>(piece.data), piece.bytes};
    header.size += static_cast<uint32_t>(piece.bytes);
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = count;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(c), descriptors.data(), descriptors.size_bytes());
  }
  const Deadline deadline = reply_deadline();
  for (size_t left = header.size; left != 0;) {
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (Status s = wait_for(POLLOUT, deadline, "room for a message: the other end reads nothing"); !s.ok()) return s;
      continue;
    }
    if (sent <= 0) return broken(fmt::format("sending: {}", std::strerror(errno)));
    left -= static_cast<size_t>(sent);
    message.msg_control = nullptr;
    message.msg_controllen = 0;
    for (size_t done = static_cast<size_t>(sent); done != 0;) {
      const size_t step = std::min(done, message.msg_iov->iov_len);
      message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + step;
      message.msg_iov->iov_len -= step;
      done -= step;
      if (message.msg_iov->iov_len == 0 && message.msg_iovlen > 1) {
        message.msg_iov++;
        message.msg_iovlen--;
      }
    }
  }
  return {};
}

Status VfioUserSocket::receive(void* data, size_t bytes, Deadline deadline, const char* what) {
  auto* place = static_cast<char*>(data);
  while (bytes != 0) {
    if (Status s = wait_for(POLLIN, deadline, what); !s.ok()) return s;
    const ssize_t got = ::recv(socket_.get(), place, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return broken(fmt::format("receiving {}: {}", what, std::strerror(errno)));
    if (got == 0) return broken(fmt::format("the other end closed it ({} was due)", what));
    place += got;
    bytes -= static_cast<size_t>(got);
  }
  return {};
}

Status VfioUserSocket::discard(size_t bytes, Deadline deadline) {
  std::array<char, 512> place;
  while (bytes != 0) {
    const size_t step = std::min(bytes, place.size());
    if (Status s = receive(place.data(), step, deadline, "whole reply"); !s.ok()) return s;
    bytes -= step;
  }
  return {};
}

Status VfioUserSocket::post(Command command, std::span<const Bytes> payload) {
  const std::lock_guard lock(send_mutex_);
  if (closed_) return closed();
  return send(next_id_++, command, vfio_user::kFlagNoReply, payload, {});
}

Result<std::vector<unsigned char>> VfioUserSocket::request(Command command, std::span<const Bytes> payload,
                                                           std::span<const int> descriptors) {
  if (descriptors.size() > kMaxDescriptors)
    return failure(WEFT_ERROR_INTERNAL, "{} descriptors in one message", descriptors.size());
  const std::lock_guard request_lock(request_mutex_);
  constexpr size_t kUsualReplyBytes = 512;
  std::vector<unsigned char> reply;
  reply.reserve(kUsualReplyBytes);  // before anything is sent
  uint16_t id = 0;
  {
    const std::lock_guard lock(send_mutex_);
    if (closed_) return closed();
    id = next_id_++;
    if (Status s = send(id, command, 0, payload, descriptors); !s.ok()) return s;
  }
  const Deadline deadline = reply_deadline();  // of the whole reply, however slowly it comes
  Header header;
  if (Status s = receive(&header, sizeof header, deadline, "reply header"); !s.ok()) return s;
  if ((header.flags & vfio_user::kTypeMask) != vfio_user::kTypeReply) {
    return broken(fmt::format("a message of type {} instead of a reply", header.flags & vfio_user::kTypeMask));
  }
  if (header.message_id != id || header.command != static_cast<uint16_t>(command)) {
    return broken(fmt::format("reply to message {} command {}, expected message {} command {}", header.message_id,
                              header.command, id, static_cast<uint16_t>(command)));
  }
  constexpr uint32_t kMaxReplyBytes = kMaxDataBytes + 4096;
  if (header.size < sizeof header || header.size > kMaxReplyBytes) {
    return broken(fmt::format("a reply of {} bytes", header.size));
  }
  const size_t payload_bytes = header.size - sizeof header;
  try {
    reply.resize(payload_bytes);
  } catch (const std::bad_alloc&) {  // the next reply begins behind this one
    if (Status s = discard(payload_bytes, deadline); !s.ok()) return s;
    return Status::without_words(WEFT_ERROR_NO_HOST_MEMORY);
  }
  if (Status s = receive(reply.data(), reply.size(), deadline, "whole reply"); !s.ok()) return s;
  if ((header.flags & vfio_user::kFlagError) != 0) {
    return failure(reply_error(header.error), "the device refused vfio-user command {}: {} (errno {})", header.command,
                   std::strerror(static_cast<int>(header.error)), header.error);
  }
  return reply;
}

}  // namespace weft::driver
