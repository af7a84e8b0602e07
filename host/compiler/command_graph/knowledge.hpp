/// What is known for certain when a command starts. Of synchronizer.hpp alone.
#pragma once
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "weft/spec/spec.h"

namespace weft::compiler::command_graph {

inline constexpr uint32_t kQueues = WEFT_CORE_QUEUES;
inline constexpr size_t kMaxMissing = 2048;

/// Which commands have retired for certain, by queue: the first `all` of it but some.
struct Knowledge {
  std::array<uint32_t, kQueues> all{};
  std::array<std::vector<uint32_t>, kQueues> missing;  ///< ascending; of DMA queues

  [[nodiscard]] bool has(uint32_t queue, uint32_t index) const {
    return index < all[queue] && !std::ranges::binary_search(missing[queue], index);
  }
  void add(uint32_t queue, uint32_t index) {
    if (const auto at = std::ranges::lower_bound(missing[queue], index); at != missing[queue].end() && *at == index)
      missing[queue].erase(at);
    for (; all[queue] <= index; all[queue]++)
      if (all[queue] != index) missing[queue].push_back(all[queue]);
    forget(queue);
  }
  void add_all(uint32_t queue, uint32_t count) { all[queue] = std::max(all[queue], count); }
  void merge(const Knowledge& other) {
    for (uint32_t q = 0; q < kQueues; q++) {
      std::vector<uint32_t> both;
      for (const uint32_t i : missing[q])
        if (!other.has(q, i)) both.push_back(i);
      for (const uint32_t i : other.missing[q])
        if (i >= all[q]) both.push_back(i);
      missing[q] = std::move(both);
      add_all(q, other.all[q]);
      forget(q);
    }
  }

 private:
  /// Costs a wait more and breaks nothing.
  void forget(uint32_t queue) {
    if (missing[queue].size() <= kMaxMissing) return;
    all[queue] = missing[queue].front();
    missing[queue].clear();
  }
};

}  // namespace weft::compiler::command_graph
