/// Credits on their way back to a link's sender, in the order of their time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/ici/time.hpp"

namespace weft::ici {

struct Credit {
  Femtoseconds time;  ///< when the sender knows
  uint32_t bytes;
  uint8_t channel;
};

/// A ring that grows. Credits of one link nearly come in the order of their time, so that one finds its place after a
/// step or two from the end. One thread.
class CreditReturns {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] const Credit& first() const { return ring_[first_]; }
  void drop_first() {
    first_ = (first_ + 1) & (ring_.size() - 1);
    count_--;
  }
  /// After those of the same time.
  void add(const Credit& credit) {
    if (count_ == ring_.size()) grow();
    size_t place = count_++;
    for (; place > 0 && at(place - 1).time > credit.time; place--) at(place) = at(place - 1);
    at(place) = credit;
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (size_t place = 0; place < count_; place++) visit(ring_[(first_ + place) & (ring_.size() - 1)]);
  }
  /// Fetches what first() and add() will touch.
  void prefetch_first() const { __builtin_prefetch(ring_.data() + first_); }
  void prefetch_last() const { __builtin_prefetch(ring_.data() + ((first_ + count_) & (ring_.size() - 1))); }

 private:
  Credit& at(size_t place) { return ring_[(first_ + place) & (ring_.size() - 1)]; }
  void grow() {
    constexpr size_t kFew = 8;
    std::vector<Credit> larger(ring_.empty() ? kFew : 2 * ring_.size());
    for (size_t place = 0; place < count_; place++) larger[place] = at(place);
    ring_.swap(larger);
    first_ = 0;
  }

  std::vector<Credit> ring_;  // a power of two
  uint32_t first_ = 0, count_ = 0;
};

}  // namespace weft::ici
