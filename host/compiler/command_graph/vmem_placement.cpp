// First fit, or next fit, over what is free at the moment.
#include "host/compiler/command_graph/vmem_placement.hpp"

#include <algorithm>
#include <map>

#include "base/round_up.hpp"

namespace weft::compiler::command_graph {
namespace {

class FreeWords {
 public:
  FreeWords(uint64_t first, uint64_t words) { free_[first] = words; }

  std::optional<uint64_t> take(uint64_t words) {
    for (auto at = free_.begin(); at != free_.end(); at++) {
      if (at->second < words) continue;
      const auto [first, count] = *at;
      free_.erase(at);
      if (count > words) free_[first + words] = count - words;
      return first;
    }
    return std::nullopt;
  }

  /// Behind what was taken so last, and from the first word on again.
  std::optional<uint64_t> take_next(uint64_t words) {
    if (auto at = free_.upper_bound(next_); at != free_.begin()) {
      at--;
      if (const uint64_t end = at->first + at->second; at->first < next_ && next_ + words <= end) {
        at->second = next_ - at->first;
        if (next_ + words != end) free_[next_ + words] = end - next_ - words;
        next_ += words;
        return next_ - words;
      }
    }
    const auto fits = [&](const auto& place) { return place.second >= words; };
    auto at = std::find_if(free_.lower_bound(next_), free_.end(), fits);
    if (at == free_.end()) at = std::find_if(free_.begin(), free_.end(), fits);
    if (at == free_.end()) return std::nullopt;
    const auto [first, count] = *at;
    free_.erase(at);
    if (count > words) free_[first + words] = count - words;
    next_ = first + words;
    return first;
  }

  std::optional<uint64_t> take_last(uint64_t words) {
    for (auto at = free_.end(); at != free_.begin();) {
      at--;
      if (at->second < words) continue;
      const auto [first, count] = *at;
      if (count > words)
        at->second -= words;
      else
        free_.erase(at);
      return first + count - words;
    }
    return std::nullopt;
  }

  void give(uint64_t first, uint64_t words) {
    auto next = free_.lower_bound(first);
    if (next != free_.end() && next->first == first + words) {
      words += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin())
      if (auto before = std::prev(next); before->first + before->second == first) {
        before->second += words;
        return;
      }
    free_[first] = words;
  }

 private:
  std::map<uint64_t, uint64_t> free_;  ///< first word -> words
  uint64_t next_ = 0;
};

}  // namespace

std::optional<VmemPlacement> place_vmem(const CommandGraph& graph, const std::vector<uint32_t>& order, uint64_t rest,
                                        Fit fit) {
  const size_t buffers = graph.buffers().size();
  constexpr uint64_t kUnused = UINT64_MAX;
  std::vector<uint64_t> first(buffers, kUnused), last(buffers);
  const auto note = [&](BufferId buffer, uint64_t position) {
    if (buffer == kNoBuffer || graph.buffers()[index_of(buffer)].space != BufferSpace::kVmem) return;
    if (graph.buffers()[index_of(buffer)].word) return;
    first[index_of(buffer)] = std::min(first[index_of(buffer)], position);
    last[index_of(buffer)] = position;
  };
  for (uint64_t position = 0; position < order.size(); position++) {
    const auto& command = graph.commands()[order[position]];
    for (const BufferId buffer : {command.a, command.b, command.d, command.kept}) note(buffer, position);
  }
  std::vector<uint8_t> computed(buffers);  ///< 1: yes
  for (const GraphCommand& command : graph.commands())
    if (command.queue == WEFT_QUEUE_VPU && command.d != kNoBuffer) computed[index_of(command.d)] = 1;
  std::vector<size_t> by_start;
  std::multimap<uint64_t, size_t> by_end;  ///< from this position on its words are free
  for (size_t b = 0; b < buffers; b++)
    if (first[b] != kUnused) by_start.push_back(b);
  std::ranges::stable_sort(by_start, {}, [&](size_t b) { return first[b]; });
  // Groups of two-word rows then begin in the same banks, whatever lies before them.
  const uint64_t unit = 2 * uint64_t{graph.chip().vpu_sublanes};
  const auto room = [&](size_t b) { return round_up(uint64_t{graph.buffers()[b].size}, unit); };
  VmemPlacement placement{BufferBases(buffers), 0};
  for (size_t b = 0; b < buffers; b++) {
    const Buffer& buffer = graph.buffers()[b];
    if (!buffer.word) continue;
    placement.bases[b] = *buffer.word;
    placement.words = std::max(placement.words, (*buffer.word + buffer.size + 1) / 2 * 2);
  }
  placement.words = round_up(placement.words, unit);
  if (placement.words >= graph.chip().vmem_words) return std::nullopt;
  FreeWords free(placement.words, graph.chip().vmem_words - placement.words);
  for (const size_t b : by_start) {
    while (!by_end.empty() && by_end.begin()->first <= first[b]) {
      const size_t done = by_end.begin()->second;
      free.give(placement.bases[done], room(done));
      by_end.erase(by_end.begin());
    }
    const uint64_t words = room(b);
    const auto place = fit == Fit::kFirst ? free.take(words)
                       : computed[b] != 0 ? free.take_last(words)
                                          : free.take_next(words);
    if (!place) return std::nullopt;
    placement.bases[b] = *place;
    placement.words = std::max(placement.words, *place + words);
    by_end.emplace(last[b] + 1 + rest, b);
  }
  return placement;
}

}  // namespace weft::compiler::command_graph
