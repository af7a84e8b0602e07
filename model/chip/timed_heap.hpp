/// Things that wait for their turn, least key first.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace weft::chip {

/// A heap of keys beside the things, which do not move while they wait. Keys differ. Memory is kept for the next ones.
template <typename Key, typename T>
class TimedHeap {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// Of the first; there is one.
  [[nodiscard]] const Key& key() const { return heap_.front().first; }

  void push(const Key& key, T thing) {
    size_t place = things_.size();
    if (free_.empty()) {
      things_.push_back(std::move(thing));
    } else {
      place = free_.back();
      free_.pop_back();
      things_[place] = std::move(thing);
    }
    heap_.emplace_back(key, place);
    std::ranges::push_heap(heap_, std::ranges::greater{});
  }

  /// The first, which waits no longer.
  [[nodiscard]] std::pair<Key, T> pop() {
    std::ranges::pop_heap(heap_, std::ranges::greater{});
    const auto [key, place] = heap_.back();
    heap_.pop_back();
    free_.push_back(place);
    return {key, std::move(things_[place])};
  }

 private:
  std::vector<std::pair<Key, size_t>> heap_;
  std::vector<T> things_;
  std::vector<size_t> free_;
};

}  // namespace weft::chip
