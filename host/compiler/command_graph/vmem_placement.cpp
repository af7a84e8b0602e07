// First fit, or next fit, over what is free at the moment.
#include "host/compiler/command_graph/vmem_placement.hpp"

#include <algorithm>
#include <map>
#include <numeric>

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

constexpr uint64_t kUnused = UINT64_MAX;

/// By buffer, the positions of its first and its last command; kUnused: none, or its place is not to be found.
struct Lifetimes {
  std::vector<uint64_t> first, last;
};

Lifetimes lifetimes(const CommandGraph& graph, const std::vector<uint32_t>& order) {
  const size_t buffers = graph.buffers().size();
  Lifetimes of{std::vector<uint64_t>(buffers, kUnused), std::vector<uint64_t>(buffers)};
  const auto note = [&](BufferId buffer, uint64_t position) {
    if (buffer == kNoBuffer || graph.buffers()[index_of(buffer)].space != BufferSpace::kVmem) return;
    if (graph.buffers()[index_of(buffer)].word) return;
    of.first[index_of(buffer)] = std::min(of.first[index_of(buffer)], position);
    of.last[index_of(buffer)] = position;
  };
  for (uint64_t position = 0; position < order.size(); position++) {
    const auto& command = graph.commands()[order[position]];
    for (const BufferId buffer : {command.a, command.b, command.d, command.kept}) note(buffer, position);
  }
  return of;
}

/// Groups of two-word rows then begin in the same banks, whatever lies before them.
uint64_t room(const CommandGraph& graph, size_t buffer) {
  return round_up(uint64_t{graph.buffers()[buffer].size}, 2 * uint64_t{graph.chip().vpu_sublanes});
}

/// Behind the buffers whose place is given.
uint64_t first_free_word(const CommandGraph& graph) {
  uint64_t words = 0;
  for (const Buffer& buffer : graph.buffers())
    if (buffer.word) words = std::max(words, (*buffer.word + buffer.size + 1) / 2 * 2);
  return round_up(words, 2 * uint64_t{graph.chip().vpu_sublanes});
}

}  // namespace

std::optional<VmemPlacement> place_vmem(const CommandGraph& graph, const std::vector<uint32_t>& order, uint64_t rest,
                                        Fit fit) {
  const size_t buffers = graph.buffers().size();
  const auto [first, last] = lifetimes(graph, order);
  std::vector<uint8_t> computed(buffers);  ///< 1: yes
  for (const GraphCommand& command : graph.commands())
    if (command.queue == WEFT_QUEUE_VPU && command.d != kNoBuffer) computed[index_of(command.d)] = 1;
  std::vector<size_t> by_start;
  std::multimap<uint64_t, size_t> by_end;  ///< from this position on its words are free
  for (size_t b = 0; b < buffers; b++)
    if (first[b] != kUnused) by_start.push_back(b);
  std::ranges::stable_sort(by_start, {}, [&first = first](size_t b) { return first[b]; });
  VmemPlacement placement{BufferBases(buffers), first_free_word(graph)};
  for (size_t b = 0; b < buffers; b++)
    if (graph.buffers()[b].word) placement.bases[b] = *graph.buffers()[b].word;
  if (placement.words >= graph.chip().vmem_words) return std::nullopt;
  FreeWords free(placement.words, graph.chip().vmem_words - placement.words);
  for (const size_t b : by_start) {
    while (!by_end.empty() && by_end.begin()->first <= first[b]) {
      const size_t done = by_end.begin()->second;
      free.give(placement.bases[done], room(graph, done));
      by_end.erase(by_end.begin());
    }
    const uint64_t words = room(graph, b);
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

VmemPeak vmem_peak(const CommandGraph& graph) {
  std::vector<uint32_t> order(graph.commands().size());
  std::iota(order.begin(), order.end(), 0u);
  const auto [first, last] = lifetimes(graph, order);
  std::vector<int64_t> change(order.size() + 1);  // of words, at each position
  for (size_t b = 0; b < first.size(); b++) {
    if (first[b] == kUnused) continue;
    change[first[b]] += static_cast<int64_t>(room(graph, b));
    change[last[b] + 1] -= static_cast<int64_t>(room(graph, b));
  }
  VmemPeak peak;
  auto words = static_cast<int64_t>(first_free_word(graph));
  for (uint32_t command = 0; command < order.size(); command++) {
    words += change[command];
    if (static_cast<uint64_t>(words) > peak.words) peak = {command, static_cast<uint64_t>(words)};
  }
  return peak;
}

}  // namespace weft::compiler::command_graph
