/// A vfio-user client that sends whatever it is told to, never waits for ever, and expects nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "testbench/tenant/descriptor.hpp"

namespace weft::tenant {

using Bytes = std::vector<std::byte>;

enum Command : uint16_t {
  kVersion = 1,
  kDmaMap = 2,
  kDmaUnmap = 3,
  kGetInfo = 4,
  kGetRegionInfo = 5,
  kGetIrqInfo = 7,
  kSetIrqs = 8,
  kRegionRead = 9,
  kRegionWrite = 10,
  kDmaRead = 11,
  kDmaWrite = 12,
  kReset = 13,
};

struct Header {
  uint16_t id = 0;
  uint16_t command = 0;
  uint32_t size = 0;
  uint32_t flags = 0;
  uint32_t error = 0;
};
static_assert(sizeof(Header) == 16);
inline constexpr uint32_t kReplyFlag = 1, kNoReply = 1 << 4, kErrorFlag = 1 << 5;

struct DmaMap {
  uint32_t argument_bytes = 32, flags = 3;
  uint64_t offset = 0, address = 0, bytes = 0;
};
struct DmaUnmap {
  uint32_t argument_bytes = 24, flags = 0;
  uint64_t address = 0, bytes = 0;
};
inline constexpr uint32_t kUnmapAll = 2;
struct IrqSet {
  uint32_t argument_bytes = 20, flags = 0, index = 2, start = 0, count = 0;
};
inline constexpr uint32_t kTriggerNone = 1 | 1 << 5, kTriggerEventfd = 1 << 2 | 1 << 5;
struct RegionAccess {
  uint64_t offset = 0;
  uint32_t region = 0, count = 0;
};
inline constexpr uint32_t kBar0 = 0, kBar2 = 2, kBar4 = 4, kConfig = 7;

template <typename T>
Bytes bytes_of(const T& value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
inline Bytes joined(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
[[nodiscard]] Bytes message(uint16_t command, const Bytes& payload, uint32_t flags = 0, uint16_t id = 1);
/// REGION_WRITE of the low `count` bytes of `value`.
[[nodiscard]] Bytes region_write(uint32_t region, uint64_t offset, uint64_t value, uint32_t count, uint32_t flags);

struct Answer {
  Header header;
  Bytes payload;
  [[nodiscard]] int error() const { return (header.flags & kErrorFlag) != 0 ? static_cast<int>(header.error) : 0; }
};

/// One connection. Sends and receives give up after a time; a connection that the server has ended stays ended.
class RawClient {
 public:
  /// Not valid().
  RawClient() = default;
  /// Connects; nothing is sent. Not valid() if there is no such socket or its backlog is full.
  explicit RawClient(const std::string& path);

  [[nodiscard]] bool valid() const { return socket_.valid() && !ended_; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  void close() { socket_.reset(); }
  /// shutdown(2).
  void half_close(int how);

  /// Sends as much as the server takes within `patience_ms`; descriptors go with the first byte. Bytes sent.
  size_t send(std::span<const std::byte> bytes, std::span<const int> fds = {}, int patience_ms = 50);
  bool send_all(const Bytes& bytes, std::initializer_list<int> fds = {}) {
    return send(bytes, std::span(fds.begin(), fds.size())) == bytes.size();
  }

  /// The next reply; commands of the server are taken and left unanswered. Nothing: ended, or none in time.
  std::optional<Answer> receive(int patience_ms = kPatienceMs);
  /// Sends a command and waits for the reply with its id, over replies to earlier ones.
  std::optional<Answer> request(uint16_t command, const Bytes& payload, std::initializer_list<int> fds = {},
                                int patience_ms = kPatienceMs);
  /// VERSION with capabilities as clients in use send them. Errno of the reply, 0: negotiated, -1: no reply.
  int negotiate(int patience_ms = kPatienceMs);

  std::optional<uint64_t> read(uint32_t region, uint64_t offset, uint32_t count);
  /// Errno, or -1 without a reply.
  int write(uint32_t region, uint64_t offset, uint64_t value, uint32_t count);
  bool post(uint32_t region, uint64_t offset, uint64_t value, uint32_t count = 4) {
    return send_all(region_write(region, offset, value, count, kNoReply));
  }
  /// Without a descriptor if `fd` is -1. Errno, or -1 without a reply.
  int map(int fd, uint64_t offset, uint64_t address, uint64_t bytes, uint32_t flags = 3);
  int unmap(uint64_t address, uint64_t bytes, uint32_t flags = 0);

  /// Commands of the server that were taken.
  [[nodiscard]] unsigned server_commands() const { return server_commands_; }

  static constexpr int kPatienceMs = 2000;

 private:
  bool fill(size_t bytes, int64_t deadline_ms);

  std::string path_;
  Descriptor socket_;
  bool ended_ = false;
  Bytes received_;
  uint16_t id_ = 0;
  unsigned server_commands_ = 0;
};

/// Milliseconds of a clock that does not go back.
[[nodiscard]] int64_t now_ms();

}  // namespace weft::tenant
