// sendmsg() with SCM_RIGHTS.
#include "testbench/fuzz/session_socket.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace weft::fuzz {
namespace {

using server::FileDescriptor;

constexpr size_t kMaxDescriptors = 32;

FileDescriptor memory_file(size_t bytes, unsigned seals) {
  FileDescriptor fd(::memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  if (!fd.valid() || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) std::abort();
  if (seals != 0 && ::fcntl(fd.get(), F_ADD_SEALS, seals) != 0) std::abort();
  return fd;
}

}  // namespace

std::array<FileDescriptor, 2> socket_pair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) std::abort();
  return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

SessionDescriptors::SessionDescriptors(size_t memory_bytes) {
  const auto put = [this](Descriptors kind, FileDescriptor fd) { fds_[static_cast<size_t>(kind)] = std::move(fd); };
  put(Descriptors::kMemory, memory_file(memory_bytes, F_SEAL_SHRINK));
  put(Descriptors::kUnsealed, memory_file(memory_bytes, 0));
  put(Descriptors::kEventfd, FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  put(Descriptors::kNull, FileDescriptor(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  auto pair = socket_pair();
  put(Descriptors::kSocket, std::move(pair[0]));
  other_end_ = std::move(pair[1]);
  void* data = ::mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd(Descriptors::kMemory), 0);
  if (data == MAP_FAILED) std::abort();
  memory_ = {static_cast<std::byte*>(data), memory_bytes};
}

void SessionDescriptors::drain() const {
  uint64_t count = 0;
  (void)!::read(fd(Descriptors::kEventfd), &count, sizeof count);
}

bool send_step(int socket, const Step& step, std::span<const uint8_t> bytes, const SessionDescriptors& descriptors) {
  iovec piece{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  if (step.descriptors != Descriptors::kNone && !bytes.empty()) {
    const size_t count = step.descriptor_count;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(count * sizeof(int));
    const int fd = descriptors.fd(step.descriptors);
    for (size_t i = 0; i < count; i++) std::memcpy(CMSG_DATA(c) + i * sizeof fd, &fd, sizeof fd);
  }
  const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent >= 0 || errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace weft::fuzz
