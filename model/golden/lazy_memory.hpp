/// Zero-filled memory that costs only the pages touched.
#pragma once
#include <cstddef>
#include <span>

namespace weft::golden {

/// An anonymous private mapping. Movable, not copyable. Construction throws std::bad_alloc if the system refuses.
class LazyMemory {
 public:
  explicit LazyMemory(size_t bytes);
  ~LazyMemory();
  LazyMemory(LazyMemory&& other) noexcept;
  LazyMemory& operator=(LazyMemory&& other) noexcept;
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() { return {data_, size_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace weft::golden
