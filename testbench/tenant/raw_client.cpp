// sendmsg and recv on a socket that does not block, poll for the rest.
#include "testbench/tenant/raw_client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>

namespace weft::tenant {

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Descriptor make_memory(uint64_t bytes, int seals) {
  Descriptor file(::memfd_create("tenant", MFD_CLOEXEC | (seals != 0 ? MFD_ALLOW_SEALING : 0)));
  if (!file.valid() || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return {};
  if (seals != 0) (void)::fcntl(file.get(), F_ADD_SEALS, seals);
  return file;
}

SharedMemory::SharedMemory(uint64_t bytes, int seals) : file_(make_memory(bytes, seals)) {
  void* place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (place == MAP_FAILED) std::abort();
  bytes_ = {static_cast<std::byte*>(place), bytes};
}

Bytes message(uint16_t command, const Bytes& payload, uint32_t flags, uint16_t id) {
  return joined(bytes_of(Header{id, command, static_cast<uint32_t>(sizeof(Header) + payload.size()), flags, 0}),
                payload);
}

Bytes region_write(uint32_t region, uint64_t offset, uint64_t value, uint32_t count, uint32_t flags) {
  Bytes data = bytes_of(value);
  data.resize(count);
  return message(kRegionWrite, joined(bytes_of(RegionAccess{offset, region, count}), data), flags);
}

RawClient::RawClient(const std::string& path) : path_(path), socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) std::abort();
  std::memcpy(address.sun_path, path.data(), path.size());
  (void)::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) socket_.reset();
}

void RawClient::half_close(int how) {
  if (socket_.valid()) ::shutdown(socket_.get(), how);
}

size_t RawClient::send(std::span<const std::byte> bytes, std::span<const int> fds, int patience_ms) {
  const int64_t deadline = now_ms() + patience_ms;
  size_t sent = 0;
  while (sent < bytes.size() && valid()) {
    iovec piece{const_cast<std::byte*>(&bytes[sent]), bytes.size() - sent};
    msghdr m{};
    m.msg_iov = &piece;
    m.msg_iovlen = 1;
    Bytes control(CMSG_SPACE(fds.size_bytes()));
    if (!fds.empty() && sent == 0) {
      m.msg_control = control.data();
      m.msg_controllen = control.size();
      cmsghdr* c = CMSG_FIRSTHDR(&m);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(c), fds.data(), fds.size_bytes());
    }
    const ssize_t count = ::sendmsg(socket_.get(), &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      sent += static_cast<size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EBADF || errno == ETOOMANYREFS || errno == EINVAL) break;  // of the descriptors: nothing was sent
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      ended_ = true;
      break;
    }
    pollfd p{socket_.get(), POLLOUT, 0};
    const int64_t left = deadline - now_ms();
    if (left <= 0 || ::poll(&p, 1, static_cast<int>(left)) == 0) break;
  }
  return sent;
}

bool RawClient::fill(size_t bytes, int64_t deadline_ms) {
  while (received_.size() < bytes && socket_.valid() && !ended_) {
    std::byte piece[65536];
    const ssize_t got = ::recv(socket_.get(), piece, sizeof piece, MSG_DONTWAIT);
    if (got > 0) {
      received_.insert(received_.end(), piece, piece + got);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
      ended_ = true;
      break;
    }
    pollfd p{socket_.get(), POLLIN, 0};
    const int64_t left = deadline_ms - now_ms();
    if (left <= 0 || ::poll(&p, 1, static_cast<int>(left)) == 0) break;
  }
  return received_.size() >= bytes;
}

std::optional<Answer> RawClient::receive(int patience_ms) {
  const int64_t deadline = now_ms() + patience_ms;
  for (;;) {
    Answer answer;
    if (!fill(sizeof answer.header, deadline)) return std::nullopt;
    std::memcpy(&answer.header, received_.data(), sizeof answer.header);
    const size_t size = std::max<size_t>(answer.header.size, sizeof answer.header);
    if (!fill(size, deadline)) return std::nullopt;
    const auto begin = received_.begin();
    answer.payload.assign(begin + sizeof answer.header, begin + static_cast<ptrdiff_t>(size));
    received_.erase(begin, begin + static_cast<ptrdiff_t>(size));
    if ((answer.header.flags & kReplyFlag) != 0) return answer;
    server_commands_++;
  }
}

std::optional<Answer> RawClient::request(uint16_t command, const Bytes& payload, std::initializer_list<int> fds,
                                         int patience_ms) {
  id_ = static_cast<uint16_t>((id_ + 1) | 0x8000);
  if (!send_all(message(command, payload, 0, id_), fds)) return std::nullopt;
  const int64_t deadline = now_ms() + patience_ms;
  for (;;) {
    auto answer = receive(static_cast<int>(std::max<int64_t>(0, deadline - now_ms())));
    if (!answer || (answer->header.id == id_ && answer->header.command == command)) return answer;
  }
}

int RawClient::negotiate(int patience_ms) {
  constexpr char kText[] = R"({"capabilities":{"max_msg_fds":8,"max_data_xfer_size":1048576}})";
  Bytes payload = bytes_of(uint32_t{0});  // major 0, minor 0
  const auto text = std::as_bytes(std::span(kText));
  payload.insert(payload.end(), text.begin(), text.end());
  const auto answer = request(kVersion, payload, {}, patience_ms);
  return answer ? answer->error() : -1;
}

std::optional<uint64_t> RawClient::read(uint32_t region, uint64_t offset, uint32_t count) {
  const auto answer = request(kRegionRead, bytes_of(RegionAccess{offset, region, count}));
  if (!answer || answer->error() != 0 || answer->payload.size() != sizeof(RegionAccess) + count) return std::nullopt;
  uint64_t value = 0;
  std::memcpy(&value, &answer->payload[sizeof(RegionAccess)], std::min<size_t>(count, sizeof value));
  return value;
}

int RawClient::write(uint32_t region, uint64_t offset, uint64_t value, uint32_t count) {
  const Bytes whole = region_write(region, offset, value, count, 0);
  const auto answer = request(kRegionWrite, Bytes(whole.begin() + sizeof(Header), whole.end()));
  return answer ? answer->error() : -1;
}

int RawClient::map(int fd, uint64_t offset, uint64_t address, uint64_t bytes, uint32_t flags) {
  const Bytes payload = bytes_of(DmaMap{.flags = flags, .offset = offset, .address = address, .bytes = bytes});
  const auto answer = fd < 0 ? request(kDmaMap, payload) : request(kDmaMap, payload, {fd});
  return answer ? answer->error() : -1;
}

int RawClient::unmap(uint64_t address, uint64_t bytes, uint32_t flags) {
  const auto answer = request(kDmaUnmap, bytes_of(DmaUnmap{.flags = flags, .address = address, .bytes = bytes}));
  return answer ? answer->error() : -1;
}

}  // namespace weft::tenant
