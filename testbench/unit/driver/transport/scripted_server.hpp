/// A vfio-user server for tests of the client: it plays by the rules, but for what a script changes in its answers.
#pragma once
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver/transport/transport_vfio_user.hpp"

namespace weft::driver::test {

using namespace vfio_user;

inline constexpr int kReplyTimeoutMs = 200;

using Payload = std::vector<unsigned char>;

template <typename T>
Payload bytes_of(const T& value, const std::string& tail = "") {
  Payload p(sizeof value + tail.size());
  std::memcpy(p.data(), &value, sizeof value);
  std::memcpy(p.data() + sizeof value, tail.data(), tail.size());
  return p;
}

/// What the server answers; a script may change any of it, or close.
struct Answer {
  Header header;
  Payload payload;
  bool send = true;
  bool close_after = false;
  size_t send_bytes = SIZE_MAX;
  std::vector<int> descriptors{};  ///< sent beside it
  int pause_ms = 0;                ///< before each byte of it
  bool deaf_after = false;         ///< reads nothing more
};

struct Request {
  Header header;
  Payload payload;
  size_t descriptors = 0;
};

/// A server on one end of a socket pair, in a thread.
class Server {
 public:
  using Script = std::function<void(const Request&, Answer&)>;

  explicit Server(Script script = {}) : script_(std::move(script)) {
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    client_ = FileDescriptor(pair[0]);
    server_ = FileDescriptor(pair[1]);
    thread_ = std::thread([this] {
      serve();
      if (keeps_open_) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(linger_ms_));
      let_go_ = true;
      stop();  // as a server does when its client has closed
    });
  }
  ~Server() {
    stopped_ = true;
    ::shutdown(server_.get(), SHUT_RDWR);
    thread_.join();
  }
  FileDescriptor client() { return std::move(client_); }
  /// When its client has closed: it closes after so long, or never.
  void linger(int ms) { linger_ms_ = ms; }
  void keep_open() { keeps_open_ = true; }
  /// It has seen the client's end, and is about to close.
  bool let_go() const { return let_go_; }
  const std::vector<Request>& requests() const { return requests_; }
  void stop() { ::shutdown(server_.get(), SHUT_RDWR); }

 private:
  bool receive(void* data, size_t bytes, size_t* descriptors) {
    auto* p = static_cast<char*>(data);
    while (bytes != 0) {
      iovec piece{p, bytes};
      std::array<char, CMSG_SPACE(64 * sizeof(int))> control{};
      msghdr message{};
      message.msg_iov = &piece;
      message.msg_iovlen = 1;
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      const ssize_t got = ::recvmsg(server_.get(), &message, MSG_CMSG_CLOEXEC);
      if (got <= 0) return false;
      for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
          int fd = -1;
          std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
          ::close(fd);
        }
        *descriptors += count;
      }
      p += got;
      bytes -= static_cast<size_t>(got);
    }
    return true;
  }

  static Payload reply_to(const Request& r) {
    switch (static_cast<Command>(r.header.command)) {
      case Command::kVersion:
        return bytes_of(Version{0, 1},
                        std::string(R"({"capabilities":{"max_msg_fds":32,"max_data_xfer_size":1048576}})") + '\0');
      case Command::kDeviceGetInfo:
        return bytes_of(DeviceInfo{sizeof(DeviceInfo), 2, 9, 5});
      case Command::kDeviceGetRegionInfo:
        return bytes_of(RegionInfo{sizeof(RegionInfo), 3, 0, 0, 1 << 16, 0});
      case Command::kDeviceGetIrqInfo:
        return bytes_of(IrqInfo{sizeof(IrqInfo), 1, kIrqMsix, WEFT_PCI_MSIX_VECTORS});
      case Command::kRegionRead: {
        RegionAccess access{};
        std::memcpy(&access, r.payload.data(), sizeof access);
        return bytes_of(access, std::string(access.count, 'x'));
      }
      case Command::kRegionWrite:
        return Payload(r.payload.begin(), r.payload.begin() + sizeof(RegionAccess));
      case Command::kDmaUnmap:
        return r.payload;
      default:
        return {};
    }
  }

  void send(const Payload& bytes, const Answer& a) {
    if (a.pause_ms == 0) return send_piece(bytes.data(), bytes.size(), a.descriptors);
    for (const unsigned char& byte : bytes) {
      if (stopped_) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(a.pause_ms));
      send_piece(&byte, 1, {});
    }
  }
  void send_piece(const unsigned char* data, size_t bytes, const std::vector<int>& descriptors) {
    iovec piece{const_cast<unsigned char*>(data), bytes};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    std::vector<char> control(CMSG_SPACE(descriptors.size() * sizeof(int)));
    if (!descriptors.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(c), descriptors.data(), descriptors.size() * sizeof(int));
    }
    (void)!::sendmsg(server_.get(), &message, MSG_NOSIGNAL);
  }

  void serve() {
    for (;;) {
      Request r;
      if (!receive(&r.header, sizeof r.header, &r.descriptors)) return;
      r.payload.resize(r.header.size - sizeof r.header);
      if (!receive(r.payload.data(), r.payload.size(), &r.descriptors)) return;
      requests_.push_back(r);
      if ((r.header.flags & kFlagNoReply) != 0) continue;
      Answer a{{r.header.message_id, r.header.command, 0, kTypeReply, 0}, reply_to(r)};
      a.header.size = static_cast<uint32_t>(sizeof a.header + a.payload.size());
      if (script_) script_(r, a);
      Payload all = bytes_of(a.header);
      all.insert(all.end(), a.payload.begin(), a.payload.end());
      all.resize(std::min(all.size(), a.send_bytes));
      if (a.send) send(all, a);
      while (a.deaf_after && !stopped_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (a.close_after) {
        stop();
        return;
      }
    }
  }

  Script script_;
  FileDescriptor client_;
  FileDescriptor server_;
  std::vector<Request> requests_;
  std::atomic<bool> stopped_{false}, keeps_open_{false}, let_go_{false};
  std::atomic<int> linger_ms_{0};
  std::thread thread_;
};

inline Result<std::unique_ptr<Transport>> connect(Server& server) {
  return VfioUserTransport::connect(server.client(), nullptr, kReplyTimeoutMs);
}

/// A script that touches only the replies to one command.
inline Server::Script only(Command command, std::function<void(const Request&, Answer&)> change) {
  return [command, change](const Request& r, Answer& a) {
    if (r.header.command == static_cast<uint16_t>(command)) change(r, a);
  };
}

inline void resize(Answer& a, size_t bytes) {
  a.payload.resize(bytes);
  a.header.size = static_cast<uint32_t>(sizeof a.header + bytes);
}

}  // namespace weft::driver::test
