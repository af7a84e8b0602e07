/// Vectors that lie in huge pages when they are large: who jumps about in them misses the cache, but not the table of
/// pages as well.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace weft::ici {

/// From 2 MiB on asks the kernel for huge pages; it may give small ones. Stateless.
template <typename T>
struct LargeAllocator {
  using value_type = T;
  static constexpr size_t kHugePage = size_t{2} << 20;

  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>& /*of another type*/) {}  // NOLINT: converts, as allocators do

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kHugePage) return static_cast<T*>(::operator new(bytes, std::align_val_t{alignof(T)}));
    const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* memory = std::aligned_alloc(kHugePage, whole);
    if (memory == nullptr) throw std::bad_alloc();
    (void)::madvise(memory, whole, MADV_HUGEPAGE);  // a kernel without them is slower and right
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    if (count * sizeof(T) < kHugePage)
      ::operator delete(memory, std::align_val_t{alignof(T)});
    else
      std::free(memory);
  }
  bool operator==(const LargeAllocator&) const = default;
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace weft::ici
