/// When what is on its way to a chip arrives there.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "model/ici/time.hpp"

namespace weft::ici {

/// Moments, for each chip. A moment that has passed is forgotten. One thread.
class ArrivalTimes {
 public:
  explicit ArrivalTimes(uint32_t chips) : times_(chips) {}

  /// Something arrives at `at`, after `now`, which is never before the last one.
  void note(uint32_t chip, Femtoseconds at, Femtoseconds now) {
    auto& times = times_[chip];
    forget(times, now);
    times.push_back(at);
    std::ranges::push_heap(times, std::ranges::greater{});
  }

  /// The first moment after `now` in which something arrives; kNever: nothing is on its way.
  [[nodiscard]] Femtoseconds next(uint32_t chip, Femtoseconds now) {
    auto& times = times_[chip];
    forget(times, now);
    return times.empty() ? kNever : times.front();
  }

 private:
  static void forget(std::vector<Femtoseconds>& times, Femtoseconds now) {
    while (!times.empty() && times.front() <= now) {
      std::ranges::pop_heap(times, std::ranges::greater{});
      times.pop_back();
    }
  }

  std::vector<std::vector<Femtoseconds>> times_;  // heaps, the first moment in front
};

}  // namespace weft::ici
