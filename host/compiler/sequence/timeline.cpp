// Queues in order, units that are busy, semaphores that are posted later: an event for each of these.
#include "host/compiler/sequence/timeline.hpp"

#include <algorithm>
#include <map>
#include <queue>

#include "host/compiler/command_graph/unit_times.hpp"
#include "weft/spec/ici.hpp"

namespace weft::compiler {
namespace {

constexpr unsigned kChannels = 2;  // of a DMA queue
constexpr unsigned kMostUnits = 4;

struct Event {
  uint64_t at = 0;
  size_t chip = 0;
  uint8_t semaphore = WEFT_NO_SEMAPHORE;  // none: a unit is free
  uint16_t count = 0;

  bool operator>(const Event& other) const { return at > other.at; }
};

class Run {
 public:
  Run(const spec::Chip& chip, uint64_t link_bytes_per_second, std::span<const Block* const> blocks,
      const std::vector<uint32_t>& numbers)
      : chip_(chip),
        link_bytes_per_second_(link_bytes_per_second),
        hop_cycles_(spec::kIciHopLatencyNs * (chip.clock_hz / 1'000'000) / 1000),
        blocks_(blocks),
        chips_(blocks.size()) {
    for (size_t i = 0; i < numbers.size(); i++) index_[numbers[i]] = i;
    line_.chips.resize(blocks.size());
    line_.work.resize(blocks.size());
    line_.sent.resize(blocks.size());
  }

  std::optional<Timeline> run() {
    for (size_t i = 0; i < chips_.size(); i++) go_on(i, 0);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.semaphore != WEFT_NO_SEMAPHORE) chips_[event.chip].semaphores[event.semaphore] += event.count;
      go_on(event.chip, event.at);
    }
    for (size_t i = 0; i < chips_.size(); i++)
      for (size_t q = 0; q < WEFT_CORE_QUEUES; q++)
        if (line_.chips[i][q].size() != (*blocks_[i])[q].size()) return std::nullopt;
    for (auto& spans : line_.work) join(spans);
    return std::move(line_);
  }

 private:
  struct Chip {
    std::array<uint64_t, WEFT_SEMAPHORES> semaphores{};
    std::array<std::array<uint64_t, kMostUnits>, WEFT_CORE_QUEUES> free{};  // from when on
    uint64_t hbm = 0;                                                       // the same
  };
  struct Times {
    uint64_t busy = 0, end = 0;  // of the unit, and of what it writes
    std::optional<size_t> to;    // chip that semaphore 1 is of
  };

  /// Spans in the order of their beginnings, which may meet.
  static void join(std::vector<CycleSpan>& spans) {
    std::vector<CycleSpan> joined;
    for (const CycleSpan& span : spans) {
      if (!joined.empty() && span.begin <= joined.back().end)
        joined.back().end = std::max(joined.back().end, span.end);
      else
        joined.push_back(span);
    }
    spans = std::move(joined);
  }

  void go_on(size_t number, uint64_t now) {
    for (size_t q = 0; q < WEFT_CORE_QUEUES; q++)
      while (begin(number, q, now)) {
      }
  }

  bool begin(size_t number, size_t q, uint64_t now) {
    auto& begun = line_.chips[number][q];
    const auto& queue = (*blocks_[number])[q];
    if (begun.size() == queue.size()) return false;
    const spec::Command& command = queue[begun.size()];
    const auto h = spec::decode_header(command);
    Chip& chip = chips_[number];
    const auto there = [&](uint8_t semaphore, uint16_t count) {
      return semaphore == WEFT_NO_SEMAPHORE || chip.semaphores[semaphore] >= count;
    };
    auto& unit = unit_of(chip, q, command);
    if (unit > now || !there(h.wait_sem0, h.wait_count0) || !there(h.wait_sem1, h.wait_count1)) return false;
    if (h.wait_sem0 != WEFT_NO_SEMAPHORE) chip.semaphores[h.wait_sem0] -= h.wait_count0;
    if (h.wait_sem1 != WEFT_NO_SEMAPHORE) chip.semaphores[h.wait_sem1] -= h.wait_count1;
    begun.push_back(now);
    const Times times = times_of(number, q, command, h, now);
    unit = times.busy;
    if (q == WEFT_QUEUE_MXU || q == WEFT_QUEUE_VPU) line_.work[number].push_back({now, times.busy});
    line_.cycles = std::max(line_.cycles, times.end);
    events_.push({times.busy, number});
    if (h.post_sem0 != WEFT_NO_SEMAPHORE)
      events_.push({times.to ? times.busy : times.end, number, h.post_sem0, h.post_count0});
    if (h.post_sem1 != WEFT_NO_SEMAPHORE)
      events_.push({times.end, times.to.value_or(number), h.post_sem1, h.post_count1});
    return true;
  }

  uint64_t& unit_of(Chip& chip, size_t q, const spec::Command& command) const {
    auto& units = chip.free[q];
    if (q == WEFT_QUEUE_MXU) return units.at(spec::decode_mxu(command).mxu);
    const unsigned count = q == WEFT_QUEUE_DMA_IN || q == WEFT_QUEUE_DMA_OUT ? kChannels : 1;
    return *std::min_element(units.begin(), units.begin() + count);
  }

  Times times_of(size_t number, size_t q, const spec::Command& command, const spec::CommandHeader& h, uint64_t now) {
    if (q == WEFT_QUEUE_MXU) {
      const uint64_t busy = now + command_graph::unit_cycles(chip_, spec::decode_mxu(command));
      return {busy, busy + 2 * uint64_t{chip_.n} * chip_.pe_latency, {}};
    }
    if (q == WEFT_QUEUE_VPU) {
      const uint64_t busy = now + command_graph::unit_cycles(chip_, spec::decode_vpu(command));
      return {busy, busy, {}};
    }
    if (q == WEFT_QUEUE_SYNC) {
      const uint64_t end = now + (h.opcode == WEFT_OPCODE_BARRIER ? 2 * hop_cycles_ : 1);
      return {end, end, {}};
    }
    const auto dma = spec::decode_dma(command);
    uint64_t busy = now + command_graph::unit_cycles(chip_, dma);
    if ((h.flags & WEFT_COMMAND_FLAG_REMOTE) == 0) {
      uint64_t& hbm = chips_[number].hbm;  // channels share it
      hbm = std::max(hbm, now) + command_graph::hbm_cycles(chip_, command_graph::bytes_of(dma));
      busy = std::max(busy, hbm);
      return {
          busy, busy + (q == WEFT_QUEUE_DMA_IN ? chip_.hbm_read_latency_cycles : chip_.hbm_write_latency_cycles), {}};
    }
    uint64_t& link = links_[{number, dma.remote_chip}];
    const uint64_t first = std::max(link, now);
    link = first + command_graph::bytes_of(dma) * (chip_.clock_hz / 1'000'000) /
                       std::max<uint64_t>(1, link_bytes_per_second_ / 1'000'000);
    line_.sent[number].push_back({first, link});
    busy = std::max(busy, link);
    const auto to = index_.find(dma.remote_chip);
    return {busy, busy + hop_cycles_, to == index_.end() ? number : to->second};
  }

  const spec::Chip& chip_;
  const uint64_t link_bytes_per_second_, hop_cycles_;
  const std::span<const Block* const> blocks_;
  std::vector<Chip> chips_;
  std::map<uint32_t, size_t> index_;
  std::map<std::pair<size_t, uint16_t>, uint64_t> links_;  // free from then on
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Timeline line_;
};

}  // namespace

std::optional<Timeline> timeline(const spec::Chip& chip, uint64_t link_bytes_per_second,
                                 std::span<const Block* const> blocks, const std::vector<uint32_t>& numbers) {
  return Run(chip, link_bytes_per_second, blocks, numbers).run();
}

}  // namespace weft::compiler
