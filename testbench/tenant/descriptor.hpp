/// Descriptors and shared memory with an owner.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace weft::tenant {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

/// A memfd of `bytes`, named "tenant" so that a server's mappings of it can be counted.
/// `seals` are those of fcntl(2); 0: none, and no seal can be added.
[[nodiscard]] Descriptor make_memory(uint64_t bytes, int seals);

/// A memfd that is mapped here as well.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(uint64_t bytes, int seals);
  ~SharedMemory() { reset(); }
  SharedMemory(SharedMemory&& other) noexcept
      : file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, {})) {}
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    reset();
    file_ = std::move(other.file_);
    bytes_ = std::exchange(other.bytes_, {});
    return *this;
  }
  [[nodiscard]] int fd() const { return file_.get(); }
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  void reset() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
    bytes_ = {};
  }

  Descriptor file_;
  std::span<std::byte> bytes_;
};

}  // namespace weft::tenant
