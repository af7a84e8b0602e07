// Framing on a stream socket, with SCM_RIGHTS.
#include "model/server/connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "model/server/received_file.hpp"

namespace weft::server {
namespace {

namespace limits = chip::tenant_limits;

/// What is sent already is moved out of the way once it is this much.
constexpr size_t kOutputBytes = 2 * limits::kBacklogBytes + 2 * kMaxMessageBytes;

Peer peer_of(int socket) {
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return {};
  return {credentials.pid, credentials.uid};
}

}  // namespace

Connection::Connection(FileDescriptor socket) : socket_(std::move(socket)), peer_(peer_of(socket_.get())) {}

void Connection::reserve() { output_.reserve(kOutputBytes); }

Connection::Received Connection::receive(Message& message) {
  if (kept_.empty()) return receive_new(message);
  message = std::move(kept_.front());
  kept_.pop_front();
  kept_bytes_ -= message.payload.size();
  return Received::kMessage;
}

Connection::Received Connection::receive_new(Message& message) {
  if (broken_) return Received::kClosed;
  const auto result = [&](Fill fill) {
    if (fill == Fill::kClosed) broken_ = true;
    return fill == Fill::kClosed ? Received::kClosed : Received::kNothing;
  };
  if (header_got_ < sizeof header_) {
    const Fill got = fill(std::as_writable_bytes(std::span(&header_, 1)), header_got_);
    if (got != Fill::kFull) return result(got);
    start_payload();
  }
  if (const Fill got = skip(); got != Fill::kFull) return result(got);
  if (const Fill got = fill(payload_, payload_got_); got != Fill::kFull) return result(got);
  message.header = header_;
  message.payload = std::move(payload_);
  message.fds = std::move(fds_);
  message.error = error_;
  payload_.clear();
  fds_.clear();
  header_got_ = payload_got_ = 0;
  error_ = 0;
  return Received::kMessage;
}

bool Connection::peer_closed() const {
  pollfd p{socket_.get(), POLLRDHUP, 0};
  return ::poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Connection::start_payload() {
  payload_got_ = 0;
  payload_.clear();
  if (header_.size < sizeof header_) {
    error_ = EINVAL;
    return;
  }
  const size_t bytes = header_.size - sizeof header_;
  if (header_.size > kMaxMessageBytes) {
    error_ = EMSGSIZE;
    skip_bytes_ = bytes;
    return;
  }
  try {
    payload_.resize(bytes);
  } catch (const std::bad_alloc&) {
    error_ = ENOMEM;
    skip_bytes_ = bytes;
  }
}

Connection::Fill Connection::skip() {
  std::array<std::byte, 4096> discarded;
  while (skip_bytes_ != 0) {
    size_t got = 0;
    const Fill result = fill(std::span(discarded).first(std::min<uint64_t>(skip_bytes_, discarded.size())), got);
    skip_bytes_ -= got;
    if (result != Fill::kFull) return result;
  }
  return Fill::kFull;
}

Connection::Fill Connection::fill(std::span<std::byte> place, size_t& got) {
  while (got < place.size()) {
    iovec piece{&place[got], place.size() - got};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(limits::kMessageDescriptors * sizeof(int))> control;
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t bytes = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Fill::kNothing;
    if (bytes <= 0) return Fill::kClosed;
    take_fds(message);
    got += static_cast<size_t>(bytes);
  }
  return Fill::kFull;
}

void Connection::take_fds(msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      FileDescriptor owned(fd);
      if (!is_memory(fd) && !is_eventfd(fd)) owned.reset();
      if (fds_.size() == limits::kMessageDescriptors) {
        error_ = EMFILE;
        continue;
      }
      try {
        fds_.push_back(std::move(owned));
      } catch (const std::bad_alloc&) {
        error_ = ENOMEM;
      }
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) error_ = EMFILE;
}

void Connection::append(std::span<const std::byte> bytes) {
  if (!has_output()) {
    output_.clear();
    sent_ = 0;
    progress_ = Clock::now();
  } else if (output_.size() + bytes.size() > output_.capacity() && sent_ != 0) {
    output_.erase(output_.begin(), output_.begin() + static_cast<ptrdiff_t>(sent_));
    if (passed_.valid()) passed_at_ -= sent_;
    sent_ = 0;
  }
  output_.insert(output_.end(), bytes.begin(), bytes.end());
}

void Connection::reply(const vfio_user::Header& request, int error, std::span<const std::byte> payload,
                       int descriptor) {
  if ((request.flags & vfio_user::kFlagNoReply) != 0) return;
  if (error != 0) payload = {};
  const vfio_user::Header header{.message_id = request.message_id,
                                 .command = request.command,
                                 .size = static_cast<uint32_t>(sizeof(vfio_user::Header) + payload.size()),
                                 .flags = vfio_user::kTypeReply | (error != 0 ? vfio_user::kFlagError : 0),
                                 .error = static_cast<uint32_t>(error)};
  append(std::as_bytes(std::span(&header, 1)));
  if (error == 0 && descriptor >= 0) {
    passed_ = FileDescriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    passed_at_ = output_.size() - sizeof header;
  }
  append(payload);
  if (!flush()) broken_ = true;
}

ssize_t Connection::send_some() {
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (!passed_.valid()) return ::send(socket_.get(), &output_[sent_], output_.size() - sent_, kFlags);
  if (sent_ < passed_at_) return ::send(socket_.get(), &output_[sent_], passed_at_ - sent_, kFlags);
  iovec piece{&output_[sent_], output_.size() - sent_};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = passed_.get();
  std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  const ssize_t sent = ::sendmsg(socket_.get(), &message, kFlags);
  if (sent > 0) passed_.reset();
  return sent;
}

bool Connection::flush() {
  while (has_output()) {
    const ssize_t sent = send_some();
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    sent_ += static_cast<size_t>(sent);
    progress_ = Clock::now();
  }
  output_.clear();
  sent_ = 0;
  return true;
}

bool Connection::keep(Message&& message) {
  if (kept_.size() == limits::kMessagesKept || message.payload.size() > limits::kBytesKept - kept_bytes_) return false;
  const size_t bytes = message.payload.size();
  kept_.push_back(std::move(message));
  kept_bytes_ += bytes;
  return true;
}

bool Connection::ask(vfio_user::Command command, std::span<const std::byte> body, std::span<const std::byte> data,
                     Clock::time_point deadline, Message& reply) {
  const vfio_user::Header header{.message_id = next_id_++,
                                 .command = static_cast<uint16_t>(command),
                                 .size = static_cast<uint32_t>(sizeof(vfio_user::Header) + body.size() + data.size()),
                                 .flags = vfio_user::kTypeCommand,
                                 .error = 0};
  append(std::as_bytes(std::span(&header, 1)));
  append(body);
  append(data);
  while (!broken_) {
    if (!flush()) break;
    Message message;
    const Received received = receive_new(message);
    if (received == Received::kClosed) break;
    if (received == Received::kMessage) {
      const bool is_reply = (message.header.flags & vfio_user::kTypeMask) == vfio_user::kTypeReply;
      if (is_reply && message.header.message_id == header.message_id && message.header.command == header.command) {
        reply = std::move(message);
        return true;
      }
      if (is_reply || !keep(std::move(message))) break;
      continue;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) break;
    pollfd p{fd(), static_cast<short>(POLLIN | (has_output() ? POLLOUT : 0)), 0};
    (void)::poll(&p, 1, static_cast<int>(left.count()));
  }
  broken_ = true;
  return false;
}

}  // namespace weft::server
