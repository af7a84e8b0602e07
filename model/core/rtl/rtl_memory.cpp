// The memory side of a Verilated core.
#include "model/core/rtl/rtl_memory.hpp"

#include <algorithm>

namespace weft::core {

void RtlMemory::read(unsigned channel, weft_address_space space, uint64_t address, uint32_t bytes, uint64_t cycle) {
  Answer& answer = reads_[channel].push();
  answer.data.resize(bytes);
  answer.error = !bus_.read(space, address, answer.data);
  if (answer.error) std::fill(answer.data.begin(), answer.data.end(), std::byte{0});
  answer.cycle = std::max(bus_.schedule_read(space, bytes, cycle), cycle + 1);
  answer.sequence = sequence_++;
  outstanding_reads_++;
  if (tap_ != nullptr && channel != WEFT_CORE_PREFETCH_CHANNEL)
    tap_->memory_read(channel, space, address, answer.data, !answer.error);
}

void RtlMemory::write(unsigned channel, weft_address_space space, uint64_t address, std::span<const std::byte> data,
                      uint64_t cycle) {
  Answer& answer = writes_[channel].push();
  answer.error = !bus_.write(space, address, data);
  answer.cycle = std::max(bus_.schedule_write(space, data.size(), cycle), cycle + 1);
  answer.sequence = sequence_++;
  outstanding_writes_++;
  if (tap_ != nullptr) tap_->memory_written(channel, space, address, data, !answer.error);
}

void RtlMemory::depart(unsigned channel, uint64_t offset, std::span<const std::byte> data, uint64_t cycle) {
  Answer& answer = writes_[channel].push();
  answer.error = false;
  answer.cycle = cycle + 1;
  answer.sequence = sequence_++;
  outstanding_writes_++;
  if (tap_ != nullptr) tap_->memory_written(channel, WEFT_ADDRESS_SPACE_NONE, offset, data, true);
}

int RtlMemory::earliest(const Channels& channels, uint64_t cycle) {
  int best = -1;
  for (size_t i = 0; i < channels.size(); i++) {
    if (channels[i].empty() || channels[i].front().cycle > cycle) continue;
    if (best >= 0) {
      const Answer& other = channels[static_cast<size_t>(best)].front();
      const Answer& mine = channels[i].front();
      if (mine.cycle > other.cycle || (mine.cycle == other.cycle && mine.sequence > other.sequence)) continue;
    }
    best = static_cast<int>(i);
  }
  return best;
}

int RtlMemory::answer_due(uint64_t cycle) {
  if (outstanding_reads_ == 0) return -1;
  if (offered_ < 0) offered_ = earliest(reads_, cycle);
  return offered_;
}

void RtlMemory::take_answer(int channel) {
  reads_[static_cast<size_t>(channel)].pop();
  outstanding_reads_--;
  offered_ = -1;
}

int RtlMemory::take_acknowledgement(uint64_t cycle, bool& error) {
  if (outstanding_writes_ == 0) return -1;
  const int channel = earliest(writes_, cycle);
  if (channel < 0) return -1;
  auto& queue = writes_[static_cast<size_t>(channel)];
  error = queue.front().error;
  queue.pop();
  outstanding_writes_--;
  return channel;
}

void RtlMemory::clear() {
  for (auto& channel : reads_) channel.clear();
  for (auto& channel : writes_) channel.clear();
  outstanding_reads_ = 0;
  outstanding_writes_ = 0;
  offered_ = -1;
}

}  // namespace weft::core
