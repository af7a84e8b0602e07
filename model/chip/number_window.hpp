/// Things by number, where numbers are given one after the other and taken back in nearly the same order.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace weft::chip {

/// Costs memory from the oldest thing that is still there to the newest one.
template <typename T>
class NumberWindow {
 public:
  /// Its number: that of the one before and 1, from 0 on.
  uint64_t add(T thing) {
    things_.emplace_back(std::move(thing));
    return first_ + things_.size() - 1;
  }
  /// The thing, which stays; nullptr if it is not there.
  [[nodiscard]] const T* find(uint64_t number) const {
    if (number < first_ || number - first_ >= things_.size()) return nullptr;
    const auto& thing = things_[number - first_];
    return thing ? &*thing : nullptr;
  }
  /// The thing, which is not there any more afterwards; nothing if it was not.
  [[nodiscard]] std::optional<T> take(uint64_t number) {
    if (number < first_ || number - first_ >= things_.size()) return std::nullopt;
    auto thing = std::exchange(things_[number - first_], std::nullopt);
    while (!things_.empty() && !things_.front()) {
      things_.pop_front();
      first_++;
    }
    return thing;
  }

 private:
  uint64_t first_ = 0;
  std::deque<std::optional<T>> things_;
};

}  // namespace weft::chip
