/// Files of a tenant that the device reaches into, each mapped once.
#pragma once
#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "model/chip/fair_shares.hpp"

namespace weft::chip {

/// What the tenants of a process share of its address space.
struct HostMemoryShares {
  /// `tenants`: functions of the process.
  explicit HostMemoryShares(size_t tenants);
  FairShares bytes;
  FairShares files;
};

/// The mapped part of one file. Its end unmaps it.
class SharedFile {
 public:
  /// A file that is written is another one than the same file when it is only read: it is mapped with other rights.
  struct Key {
    dev_t device;
    ino_t inode;
    bool writable;
    auto operator<=>(const Key&) const = default;
  };

  SharedFile(const Key& key, std::shared_ptr<HostMemoryShares> shares, size_t tenant)
      : key_(key), shares_(std::move(shares)), tenant_(tenant) {}
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  [[nodiscard]] bool covers(uint64_t offset, uint64_t bytes) const {
    return data_ != nullptr && offset >= first_ && offset + bytes <= first_ + bytes_;
  }
  /// The byte at `offset` of the file, which is covered.
  [[nodiscard]] std::byte* at(uint64_t offset) const { return data_ + (offset - first_); }

 private:
  friend class SharedFiles;

  /// Maps `bytes` from `first` instead of what is mapped; that much must cover it. 0 or an errno; nothing changes then.
  [[nodiscard]] int remap(int fd, uint64_t first, uint64_t bytes);
  /// Lets the mapping cover `bytes` from `offset` of a file of `size` bytes as well, in pages of `page` bytes.
  [[nodiscard]] int grow(int fd, uint64_t offset, uint64_t bytes, uint64_t size, uint64_t page);

  Key key_;
  std::shared_ptr<HostMemoryShares> shares_;
  size_t tenant_;
  std::byte* data_ = nullptr;
  uint64_t first_ = 0;
  uint64_t bytes_ = 0;
  bool counted_ = false;  // in shares_->files
};

/// Files by inode: a file that is sent many times takes one mapping and no descriptor. Owner: HostMemory; not
/// thread-safe.
class SharedFiles {
 public:
  SharedFiles();

  /// Draws on `shares` from now on, as `tenant`. Before the first cover().
  void share(std::shared_ptr<HostMemoryShares> shares, size_t tenant);

  /// The file behind `fd`, with `bytes` from `offset` mapped, in `file`. The descriptor stays the caller's. No call
  /// waits, whatever `fd` is. 0 or an errno: EPERM (not a file of tmpfs or hugetlbfs: accesses of others could wait,
  /// for a disk or for another process), EACCES (it cannot be read, or not written if `write`), EINVAL (it ends
  /// before), EFBIG and EMFILE (beyond the tenant's bytes or files), or what mmap() says. Throws std::bad_alloc.
  [[nodiscard]] int cover(int fd, uint64_t offset, uint64_t bytes, bool write, std::shared_ptr<SharedFile>& file);

  /// Gives back what cover() gave.
  void release(std::shared_ptr<SharedFile> file);

 private:
  std::shared_ptr<HostMemoryShares> shares_;
  size_t tenant_ = 0;
  std::map<SharedFile::Key, std::shared_ptr<SharedFile>> files_;
};

}  // namespace weft::chip
