// HBM and host memory behind the DMA engine's memory port.
#include "testbench/rtl/dma/memory_model.hpp"

#include <algorithm>
#include <cstring>

namespace weft::bench {

void MemoryModel::begin_cycle(uint64_t cycle) {
  cycle_ = cycle;
  const bool congested = booked_until_ > static_cast<double>(cycle + timing_.booked_ahead_cycles);
  read_ready_ = !congested && !chance();
  write_ready_ = !congested && !chance();
  const auto pick = [&](const std::array<std::deque<Answer>, 4>& queues) {
    // any channel whose oldest answer is due, at random
    const unsigned first = static_cast<unsigned>(random_() % 4);
    for (unsigned i = 0; i < 4; i++) {
      const unsigned c = (first + i) % 4;
      if (!queues[c].empty() && queues[c].front().ready_cycle <= cycle) return static_cast<int>(c);
    }
    return -1;
  };
  if (shown_ < 0 && !chance()) shown_ = pick(reads_);
  acked_ = chance() ? -1 : pick(writes_);
}

uint8_t* MemoryModel::find(const Request& request) {
  Space& s = spaces_[request.space];
  if (poisoned_.first == request.space && poisoned_.second - request.address < request.bytes) return nullptr;
  if (request.address < s.base || request.address - s.base > s.bytes.size()) return nullptr;
  if (s.bytes.size() - (request.address - s.base) < request.bytes) return nullptr;
  return s.bytes.data() + (request.address - s.base);
}

uint64_t MemoryModel::book(unsigned bytes) {
  booked_until_ = std::max(booked_until_, static_cast<double>(cycle_)) + bytes / timing_.bytes_per_cycle;
  return static_cast<uint64_t>(booked_until_) + timing_.latency_cycles;
}

void MemoryModel::accept_read(const Request& request) {
  if (read_bytes == 0) first_read_cycle = cycle_;
  last_read_cycle = cycle_;
  read_bytes += request.bytes;
  Answer answer{.channel = request.channel, .error = false, .ready_cycle = book(request.bytes), .data = {}};
  if (const uint8_t* from = find(request))
    answer.data.assign(from, from + request.bytes);
  else
    answer.error = true;
  reads_[request.channel].push_back(std::move(answer));
}

void MemoryModel::take_read_answer() {
  reads_[static_cast<unsigned>(shown_)].pop_front();
  shown_ = -1;
}

void MemoryModel::accept_write(const Request& request, const uint8_t* data) {
  write_bytes += request.bytes;
  Answer answer{.channel = request.channel, .error = false, .ready_cycle = book(request.bytes), .data = {}};
  if (uint8_t* to = find(request))
    std::memcpy(to, data, request.bytes);
  else
    answer.error = true;
  writes_[request.channel].push_back(std::move(answer));
}

void MemoryModel::accept_remote(unsigned channel) {
  writes_[channel].push_back({.channel = channel, .error = false, .ready_cycle = cycle_ + 1, .data = {}});
}

void MemoryModel::take_write_answer() { writes_[static_cast<unsigned>(acked_)].pop_front(); }

}  // namespace weft::bench
