/// Data of beats on their way from memory to VMEM.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::core::fast {

/// Slots of 64 bytes to a whole beat, each twice as large as those before it: short beats lie close together, so a chip
/// that moves small pieces costs little host memory.
class BeatSlots {
 public:
  /// `beats`: as many are out at once, of `bytes` at most.
  BeatSlots(size_t beats, uint32_t bytes) : beats_(beats), sizes_(order(bytes) + 1) {}

  /// A slot for so many bytes.
  [[nodiscard]] size_t take(uint32_t bytes) {
    const size_t of = order(bytes);
    Size& size = sizes_[of];
    if (size.data == nullptr) size.data = std::make_unique_for_overwrite<std::byte[]>(beats_ * (kLeast << of));
    size_t place = size.used;
    if (size.free.empty()) {
      size.used++;
    } else {
      place = size.free.back();
      size.free.pop_back();
    }
    return place * sizes_.size() + of;
  }
  [[nodiscard]] std::byte* data(size_t slot) {
    const size_t of = slot % sizes_.size();
    return sizes_[of].data.get() + slot / sizes_.size() * (kLeast << of);
  }
  void give_back(size_t slot) { sizes_[slot % sizes_.size()].free.push_back(slot / sizes_.size()); }
  /// None is out: what many of them have touched goes back to the system.
  void let_go() {
    for (size_t of = 0; of < sizes_.size(); of++)
      if (sizes_[of].used * (kLeast << of) >= kMuch) sizes_[of] = {};
  }
  /// Bytes that have been touched since they were last let go.
  [[nodiscard]] size_t touched() const {
    size_t bytes = 0;
    for (size_t of = 0; of < sizes_.size(); of++) bytes += sizes_[of].used * (kLeast << of);
    return bytes;
  }
  /// All are free.
  void clear() {
    for (Size& size : sizes_) {
      size.free.clear();
      size.used = 0;
    }
  }

 private:
  static constexpr size_t kLeast = 64;
  static constexpr size_t kMuch = 16 << 10;
  struct Size {
    std::unique_ptr<std::byte[]> data;  // of slots side by side
    std::vector<size_t> free;           // given back; the last one is taken first, so few are ever touched
    size_t used = 0;                    // those beyond have never been taken
  };
  static size_t order(uint32_t bytes) {
    return static_cast<size_t>(std::bit_width((std::max<size_t>(bytes, 1) - 1) / kLeast));
  }

  size_t beats_;
  std::vector<Size> sizes_;
};

}  // namespace weft::core::fast
