/// What the device sees of the host's memory: ranges of I/O virtual addresses, each backed by a part of a shared file
/// or reached by messages to the host.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "model/chip/shared_files.hpp"

namespace weft::chip {

enum class Access : uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

/// The way to host memory that is not shared.
class MessageMemory {
 public:
  virtual ~MessageMemory() = default;
  /// Return when the host has answered. False: it has not, or refused.
  [[nodiscard]] virtual bool read(uint64_t iova, std::span<std::byte> out) = 0;
  [[nodiscard]] virtual bool write(uint64_t iova, std::span<const std::byte> data) = 0;
};

/// One function's IOVA space. The host may truncate a file under its mapping: an access then fails, and nothing else.
/// Owner: the chip; not thread-safe. Accesses copy at once, so none is in flight when unmap() returns.
class HostMemory {
 public:
  static constexpr uint64_t kPageBytes = 4096;  ///< in which clients count; a range may begin and end at any byte

  HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// What this function may take of the process; the default is a process of its own. Before the first map().
  void share(std::shared_ptr<HostMemoryShares> shares, size_t tenant) { files_.share(std::move(shares), tenant); }
  /// The way to ranges of map_messages(); nullptr: there is none, and accesses of these ranges fail. Not owned.
  void set_messages(MessageMemory* messages) { messages_ = messages; }

  /// Maps `bytes` of `fd` from `offset` at `iova`. The descriptor stays the caller's. A range that goes on in address,
  /// file and rights where its neighbour ends becomes one with it. 0 or an errno: EINVAL (zero, wrapping, reaching the HBM flag of addresses, or the file is too small), EEXIST (overlaps),
  /// ENOSPC (tenant_limits::kRanges), EFBIG (kMappedBytes), or what SharedFiles::cover() says. Nothing changes on an
  /// error. Throws std::bad_alloc, and nothing has changed then.
  [[nodiscard]] int map(int fd, uint64_t offset, uint64_t iova, uint64_t bytes, Access access);
  /// The same for memory that is reached by messages.
  [[nodiscard]] int map_messages(uint64_t iova, uint64_t bytes, Access access);

  /// Removes what is mapped between `iova` and `iova` + `bytes`: nothing, parts of ranges, or many. 0, or EINVAL (zero or
  /// wrapping), or ENOSPC (a range would become two, and there are kRanges). Throws as map().
  [[nodiscard]] int unmap(uint64_t iova, uint64_t bytes);

  /// The client has left, and no memory of it is reached from now on: reads of what it had mapped give zeros, writes go
  /// nowhere. So what the device still does for the client goes on and ends as it would. Until clear().
  void abandon() { abandoned_ = true; }

  void clear();
  /// Ranges.
  [[nodiscard]] size_t size() const { return ranges_.size(); }

  /// May cross from one range into an adjacent one. False: a byte is not mapped for this access, and nothing was
  /// copied; or the host has truncated the file, or did not answer a message, and a part of it was copied.
  [[nodiscard]] bool read(uint64_t iova, std::span<std::byte> out) const;
  [[nodiscard]] bool write(uint64_t iova, std::span<const std::byte> data);
  /// read() for an observer: sends no message, so what is reached by messages counts as not mapped.
  [[nodiscard]] bool peek(uint64_t iova, std::span<std::byte> out) const;

  /// write() of which the last 8 bytes land after all others, by one release store; pairs with the host's acquire load
  /// of a completion's phase. Their address and their place in the file must be multiples of 8, else (or below 8 bytes) it
  /// is a plain write().
  [[nodiscard]] bool write_last_word_after(uint64_t iova, std::span<const std::byte> data);

 private:
  struct Range {
    uint64_t bytes;
    std::shared_ptr<SharedFile> file;  ///< nullptr: by messages
    uint64_t offset;                   ///< in the file
    Access access;
  };
  using Ranges = std::map<uint64_t, Range>;

  /// A place in a range, and how many bytes follow it there.
  struct Place {
    const Range* range = nullptr;
    uint64_t offset = 0;
    uint64_t bytes_left = 0;
  };

  [[nodiscard]] int check_new(uint64_t iova, uint64_t bytes) const;
  /// Puts `range` at `iova`, joined with its neighbours where it goes on from them.
  [[nodiscard]] int insert(uint64_t iova, Range range);
  void erase(Ranges::iterator at);
  /// The range is empty if `iova` is not mapped for `access`.
  [[nodiscard]] Place locate(uint64_t iova, Access access) const;
  [[nodiscard]] bool mapped(uint64_t iova, uint64_t bytes, Access access) const;
  [[nodiscard]] bool read_by(MessageMemory* messages, uint64_t iova, std::span<std::byte> out) const;

  SharedFiles files_;
  Ranges ranges_;
  uint64_t file_bytes_ = 0;  // of ranges that are backed by files
  MessageMemory* messages_ = nullptr;
  bool abandoned_ = false;
};

}  // namespace weft::chip
