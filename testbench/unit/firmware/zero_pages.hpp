/// Memory that is zero and costs only where it is touched: a machine is made anew for every case.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace mock {

/// Bytes that are zero at first. Neither copied nor moved.
class ZeroPages {
 public:
  explicit ZeroPages(size_t bytes) : size_(bytes) {
    void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) std::abort();
    data_ = static_cast<uint8_t*>(pages);
  }
  ~ZeroPages() { ::munmap(data_, size_); }
  ZeroPages(const ZeroPages&) = delete;
  ZeroPages& operator=(const ZeroPages&) = delete;

  /// Keeps what is there; what is new is zero.
  void resize(size_t bytes) {
    void* pages = ::mremap(data_, size_, bytes, MREMAP_MAYMOVE);
    if (pages == MAP_FAILED) std::abort();
    data_ = static_cast<uint8_t*>(pages);
    size_ = bytes;
  }

  size_t size() const { return size_; }
  uint8_t* data() { return data_; }
  uint8_t* begin() { return data_; }
  uint8_t* end() { return data_ + size_; }
  uint8_t& operator[](size_t i) { return data_[i]; }

 private:
  size_t size_;
  uint8_t* data_;
};

}  // namespace mock
