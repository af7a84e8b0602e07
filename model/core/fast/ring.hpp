/// A queue of few elements at one place.
#pragma once
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace weft::core::fast {

/// Holds up to `kRoom` elements, a power of two, oldest first.
template <class T, size_t kRoom>
class Ring {
 public:
  static_assert((kRoom & (kRoom - 1)) == 0);
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return size_ == kRoom; }
  [[nodiscard]] T& front() { return (*this)[0]; }
  [[nodiscard]] const T& front() const { return (*this)[0]; }
  /// The n-th oldest.
  [[nodiscard]] T& operator[](size_t n) { return elements_[(first_ + n) % kRoom]; }
  [[nodiscard]] const T& operator[](size_t n) const { return elements_[(first_ + n) % kRoom]; }
  void push_back(const T& element) {
    assert(!full());
    elements_[(first_ + size_++) % kRoom] = element;
  }
  void pop_front() {
    assert(!empty());
    first_ = (first_ + 1) % kRoom;
    size_--;
  }

 private:
  std::array<T, kRoom> elements_;
  uint32_t first_ = 0, size_ = 0;
};

}  // namespace weft::core::fast
