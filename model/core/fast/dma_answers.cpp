// What memory and other chips have answered, by cycle.
#include <algorithm>
#include <utility>

#include "model/core/fast/dma.hpp"

namespace weft::core::fast {

int DmaDirection::earliest_answer(uint64_t cycle) {
  if (cycle < answers_from_) return -1;
  int best = -1;
  uint64_t first = kNever;
  for (int i = 0; i <= kFetchChannel; i++) {
    const DmaChannel::Answer* answer = first_answer(i);
    if (answer == nullptr) continue;
    first = std::min(first, answer->cycle);
    if (answer->cycle > cycle) continue;
    if (best >= 0) {
      const DmaChannel::Answer* other = first_answer(best);
      if (std::pair(answer->cycle, answer->sequence) > std::pair(other->cycle, other->sequence)) continue;
    }
    best = i;
  }
  answers_from_ = first;
  return best;
}

/// The oldest answer of a channel; nullptr if it has none.
const DmaChannel::Answer* DmaDirection::first_answer(int channel) const {
  if (channel == kFetchChannel) return fetch_answers_.empty() ? nullptr : &fetch_answers_.front().when;
  const auto& answers = channels_[static_cast<size_t>(channel)].answers;
  return answers.empty() ? nullptr : &answers.front();
}

}  // namespace weft::core::fast
