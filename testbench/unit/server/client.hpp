/// A vfio-user client for tests, and a server thread for it to talk to.
#pragma once
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "model/server/server.hpp"
#include "testbench/unit/chip/stand_in_firmware.hpp"
#include "weft/spec/vfio_user.hpp"

namespace weft::test {

using server::FileDescriptor;
using spec::vfio_user::Command;
using spec::vfio_user::Header;

inline constexpr int kReplyTimeoutMs = 10'000;
inline constexpr uint32_t kRegisterBar = 0, kDoorbellBar = 2;  // VFIO's regions of BAR 0 and 2

/// The body as bytes.
template <typename T>
std::vector<std::byte> bytes_of(const T& body) {
  const auto bytes = std::as_bytes(std::span(&body, 1));
  return {bytes.begin(), bytes.end()};
}

struct Answer {
  Header header{};
  std::vector<std::byte> payload;
  int error() const { return (header.flags & spec::vfio_user::kFlagError) != 0 ? static_cast<int>(header.error) : 0; }
  template <typename T>
  T as() const {
    T value;
    REQUIRE(payload.size() >= sizeof value);
    std::memcpy(&value, payload.data(), sizeof value);
    return value;
  }
};

class Client {
 public:
  explicit Client(FileDescriptor socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

  /// Sends raw bytes with descriptors; false if the server has closed.
  bool send_raw(std::span<const std::byte> bytes, std::span<const int> fds = {}) {
    iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    std::vector<char> control(CMSG_SPACE(fds.size_bytes()));
    if (!fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(c), fds.data(), fds.size_bytes());
    }
    return ::sendmsg(fd(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

  bool send(uint16_t command, std::span<const std::byte> payload, uint32_t flags = 0, std::span<const int> fds = {}) {
    const Header header{++id_, command, static_cast<uint32_t>(sizeof(Header) + payload.size()), flags, 0};
    std::vector<std::byte> bytes = bytes_of(header);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return send_raw(bytes, fds);
  }

  /// The next reply; nullopt if the server closed or did not answer in time.
  std::optional<Answer> receive() {
    Answer answer;
    if (!receive_bytes(std::as_writable_bytes(std::span(&answer.header, 1)))) return std::nullopt;
    REQUIRE((answer.header.flags & spec::vfio_user::kTypeMask) == spec::vfio_user::kTypeReply);
    REQUIRE(answer.header.size >= sizeof(Header));
    answer.payload.resize(answer.header.size - sizeof(Header));
    if (!receive_bytes(answer.payload)) return std::nullopt;
    return answer;
  }

  Answer request(Command command, std::span<const std::byte> payload, std::span<const int> fds = {}) {
    REQUIRE(send(static_cast<uint16_t>(command), payload, 0, fds));
    auto answer = receive();
    REQUIRE(answer);
    REQUIRE(answer->header.message_id == id_);
    REQUIRE(answer->header.command == static_cast<uint16_t>(command));
    return *answer;
  }
  template <typename Body>
    requires std::is_trivially_copyable_v<Body>
  Answer request(Command command, const Body& body, std::span<const int> fds = {}) {
    return request(command, std::span<const std::byte>(bytes_of(body)), fds);
  }

  /// VERSION with `json` (nothing: none) behind it.
  Answer version(std::string_view json = {}) {
    auto payload = bytes_of(spec::vfio_user::Version{0, 1});
    for (const char c : json) payload.push_back(static_cast<std::byte>(c));
    if (!json.empty()) payload.push_back(std::byte{0});
    return request(Command::kVersion, std::span<const std::byte>(payload));
  }
  void negotiate() { REQUIRE(version().error() == 0); }

  Answer read(uint32_t region, uint64_t offset, uint32_t count) {
    return request(Command::kRegionRead, spec::vfio_user::RegionAccess{offset, region, count});
  }
  uint64_t read_register(uint64_t offset, uint32_t bytes = 4) {
    const Answer answer = read(0, offset, bytes);
    REQUIRE(answer.error() == 0);
    REQUIRE(answer.payload.size() == sizeof(spec::vfio_user::RegionAccess) + bytes);
    uint64_t value = 0;
    std::memcpy(&value, answer.payload.data() + sizeof(spec::vfio_user::RegionAccess), bytes);
    return value;
  }
  std::vector<std::byte> write_body(uint32_t region, uint64_t offset, uint64_t value, uint32_t bytes) {
    auto body = bytes_of(spec::vfio_user::RegionAccess{offset, region, bytes});
    const auto data = bytes_of(value);
    body.insert(body.end(), data.begin(), data.begin() + bytes);
    return body;
  }
  int write(uint32_t region, uint64_t offset, uint64_t value, uint32_t bytes = 4) {
    return request(Command::kRegionWrite, std::span<const std::byte>(write_body(region, offset, value, bytes))).error();
  }
  void post(uint32_t region, uint64_t offset, uint32_t value) {
    REQUIRE(send(static_cast<uint16_t>(Command::kRegionWrite), write_body(region, offset, value, 4),
                 spec::vfio_user::kFlagNoReply));
  }

  int map(int memory_fd, uint64_t iova, uint64_t bytes, uint64_t offset = 0) {
    return request(Command::kDmaMap, spec::vfio_user::DmaMap{sizeof(spec::vfio_user::DmaMap), 3, offset, iova, bytes},
                   std::array{memory_fd})
        .error();
  }
  int unmap(uint64_t iova, uint64_t bytes, uint32_t flags = 0) {
    return request(Command::kDmaUnmap, spec::vfio_user::DmaUnmap{sizeof(spec::vfio_user::DmaUnmap), flags, iova, bytes})
        .error();
  }
  int listen_to(unsigned first, std::span<const int> eventfds) {
    constexpr uint32_t kEventfdTrigger = 1 << 2 | 1 << 5;
    constexpr uint32_t kMsix = 2;
    return request(Command::kDeviceSetIrqs,
                   spec::vfio_user::IrqSet{sizeof(spec::vfio_user::IrqSet), kEventfdTrigger, kMsix, first,
                                           static_cast<uint32_t>(eventfds.size())},
                   eventfds)
        .error();
  }

 private:
  bool receive_bytes(std::span<std::byte> place) {
    while (!place.empty()) {
      pollfd p{fd(), POLLIN, 0};
      if (::poll(&p, 1, kReplyTimeoutMs) <= 0) return false;
      const ssize_t got = ::recv(fd(), place.data(), place.size(), 0);
      if (got <= 0) return false;
      place = place.subspan(static_cast<size_t>(got));
    }
    return true;
  }

  FileDescriptor socket_;
  uint16_t id_ = 0;
};

inline std::array<FileDescriptor, 2> socket_pair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) std::abort();
  return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

/// A path for a socket of this process.
inline std::string socket_path() {
  return std::filesystem::temp_directory_path() / ("weft_server_test_" + std::to_string(::getpid()));
}

inline sockaddr_un socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) std::abort();
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

inline FileDescriptor connect_to(const std::string& path) {
  const sockaddr_un address = socket_address(path);
  FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int result = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return result == 0 ? std::move(fd) : FileDescriptor();
}

inline FileDescriptor event_fd() { return FileDescriptor(::eventfd(0, EFD_CLOEXEC)); }

/// Count of an eventfd, waited for; 0 if nothing came within `timeout_ms`.
inline uint64_t wait_for(const FileDescriptor& fd, int timeout_ms = kReplyTimeoutMs) {
  pollfd p{fd.get(), POLLIN, 0};
  if (::poll(&p, 1, timeout_ms) != 1) return 0;
  uint64_t count = 0;
  return ::read(fd.get(), &count, sizeof count) == sizeof count ? count : 0;
}

/// How a chip with stand-in core and firmware is served.
struct ServedOptions {
  std::vector<std::unique_ptr<server::Listener>> listeners;  ///< one for each function
  std::unique_ptr<server::Listener> management;
  server::Permissions permissions;
  server::MessageLog* log = nullptr;
};

/// A chip with stand-in core and firmware, served on a thread of its own until its client leaves or stop().
class Served {
 public:
  Served() {
    auto pair = socket_pair();
    client.emplace(std::move(pair[0]));
    thread_ = std::thread([this, socket = std::move(pair[1])]() mutable {
      make_simulation(1);
      server::Server server(*simulation_, signal());
      server.stop_on(stop_.get());
      server.attach(std::move(socket));
      server.run();
    });
  }
  explicit Served(ServedOptions options) {
    thread_ = std::thread([this, options = std::move(options)]() mutable {
      make_simulation(static_cast<unsigned>(options.listeners.size()));
      server::Server server(*simulation_, signal(), options.permissions);
      server.stop_on(stop_.get());
      for (size_t i = 0; i < options.listeners.size(); i++) server.listen(std::move(options.listeners[i]), i);
      if (options.management != nullptr) server.manage(std::move(options.management));
      server.set_log(options.log);
      server.run();
    });
  }
  explicit Served(std::unique_ptr<server::Listener> listener, std::unique_ptr<server::Listener> management = nullptr)
      : Served(options_of(std::move(listener), std::move(management))) {}
  ~Served() { stop(); }

  void stop() {
    const uint64_t one = 1;
    if (thread_.joinable() && ::write(stop_.get(), &one, sizeof one) == sizeof one) thread_.join();
  }
  void join() { thread_.join(); }
  /// Time that the server's thread has worked, in seconds.
  double worked() {
    clockid_t clock{};
    timespec time{};
    if (::pthread_getcpuclockid(thread_.native_handle(), &clock) != 0 || ::clock_gettime(clock, &time) != 0)
      std::abort();
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  std::optional<Client> client;

 private:
  static ServedOptions options_of(std::unique_ptr<server::Listener> listener,
                                  std::unique_ptr<server::Listener> management) {
    ServedOptions options;
    options.listeners.push_back(std::move(listener));
    options.management = std::move(management);
    return options;
  }
  static std::shared_ptr<server::EventSignal> signal() {
    std::string error;
    return server::EventSignal::make(error);
  }
  void make_simulation(unsigned functions) {
    std::string error;
    chip::ChipOptions options = chip_options();
    options.functions = functions;
    simulation_ = chip::Simulation::make(options, error);
  }

  FileDescriptor stop_ = event_fd();
  std::unique_ptr<chip::Simulation> simulation_;
  std::thread thread_;
};

}  // namespace weft::test
