/// What the device sees of the host's memory: ranges of I/O virtual addresses, each backed by a shared file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace weft::chip {

enum class Access : uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

/// One function's IOVA space. A file is only mapped if it cannot shrink under the mapping, so no access can fault.
/// Owner: the chip; not thread-safe. Accesses copy at once, so none is in flight when unmap() returns.
class HostMemory {
 public:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr size_t kMaxMaps = 16384;

  HostMemory() = default;
  ~HostMemory() { clear(); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// Maps `bytes` of `fd` from `offset` at `iova`; all multiples of kPageBytes. The descriptor stays the caller's. 0 or
  /// an errno: EINVAL (zero, unaligned, wrapping, reaching the HBM flag of addresses, or the file is too small), EPERM
  /// (not sealed against shrinking), EEXIST (overlaps), ENOSPC (kMaxMaps), or what the system says. Nothing changes on
  /// an error.
  [[nodiscard]] int map(int fd, uint64_t offset, uint64_t iova, uint64_t bytes, Access access);

  /// Removes a range that was mapped by one map(). 0, or ENOENT if none has exactly this address and size.
  [[nodiscard]] int unmap(uint64_t iova, uint64_t bytes);

  /// The client has left, and no memory of it is reached from now on: reads of what it had mapped give zeros, writes go
  /// nowhere. So what the device still does for the client goes on and ends as it would. Until clear().
  void abandon() { abandoned_ = true; }

  void clear();
  [[nodiscard]] size_t size() const { return maps_.size(); }

  /// May cross from one range into an adjacent one. False: a byte is not mapped for this access; nothing was copied.
  [[nodiscard]] bool read(uint64_t iova, std::span<std::byte> out) const;
  [[nodiscard]] bool write(uint64_t iova, std::span<const std::byte> data);

  /// write() of which the last 8 bytes land after all others, by one release store; pairs with the host's acquire load
  /// of a completion's phase. Their address must be a multiple of 8, else (or below 8 bytes) it is a plain write().
  [[nodiscard]] bool write_last_word_after(uint64_t iova, std::span<const std::byte> data);

 private:
  struct Mapping {
    uint64_t bytes;
    std::byte* data;
    Access access;
  };

  /// The place of `iova` and how many bytes follow it in its range; nullptr if it is not mapped for `access`.
  [[nodiscard]] std::byte* locate(uint64_t iova, Access access, uint64_t& bytes_left) const;
  [[nodiscard]] bool mapped(uint64_t iova, uint64_t bytes, Access access) const;

  std::map<uint64_t, Mapping> maps_;
  bool abandoned_ = false;
};

}  // namespace weft::chip
