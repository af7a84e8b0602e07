/// Zero-filled memory that costs only the pages touched.
#include "model/golden/lazy_memory.hpp"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace weft::golden {

LazyMemory::LazyMemory(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(mapping);
}

LazyMemory::~LazyMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

LazyMemory::LazyMemory(LazyMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

LazyMemory& LazyMemory::operator=(LazyMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace weft::golden
