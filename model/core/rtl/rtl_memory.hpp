/// The memory side of a Verilated core: answers in order per channel, each in the cycle for which the bus booked it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/core/memory_bus.hpp"

namespace weft::core {

/// Who wants to see what a core's commands read and write (the lockstep core); not the reads of commands. Called within
/// advance(), in order.
class MemoryTap {
 public:
  virtual ~MemoryTap() = default;
  virtual void memory_read(unsigned channel, weft_address_space space, uint64_t address,
                           std::span<const std::byte> data, bool ok) = 0;
  virtual void memory_written(unsigned channel, weft_address_space space, uint64_t address,
                              std::span<const std::byte> data, bool ok) = 0;
};

/// First in, first out, in a ring that grows when it is full and is never given back.
template <typename T>
class Ring {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] T& front() { return slots_[head_]; }
  [[nodiscard]] const T& front() const { return slots_[head_]; }
  /// The i-th oldest.
  [[nodiscard]] const T& operator[](size_t i) const { return slots_[(head_ + i) & (slots_.size() - 1)]; }
  [[nodiscard]] T& operator[](size_t i) { return slots_[(head_ + i) & (slots_.size() - 1)]; }
  /// Room for one more, which keeps whatever it held before (buffers are used again).
  T& push() {
    if (size_ == slots_.size()) grow();
    return slots_[(head_ + size_++) & (slots_.size() - 1)];
  }
  void pop() {
    head_ = (head_ + 1) & (slots_.size() - 1);
    size_--;
  }
  void clear() { head_ = size_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 16 : 2 * slots_.size());
    for (size_t i = 0; i < size_; i++) larger[i] = std::move(slots_[(head_ + i) & (slots_.size() - 1)]);
    slots_ = std::move(larger);
    head_ = 0;
  }
  std::vector<T> slots_;  // a power of two of them
  size_t head_ = 0;
  size_t size_ = 0;
};

/// Data move when a request is accepted; the answer or acknowledgement waits for its cycle. One answer and one
/// acknowledgement a cycle; among channels the earliest booked goes first, then the oldest request.
class RtlMemory {
 public:
  struct Answer {
    uint64_t cycle = 0;     ///< not before
    uint64_t sequence = 0;  ///< order of requests
    bool error = false;
    std::vector<std::byte> data;  ///< reads: exactly the bytes asked for
  };

  /// `bus` outlives this object.
  explicit RtlMemory(MemoryBus& bus) : bus_(bus) {}

  [[nodiscard]] bool congested(weft_address_space space, uint64_t cycle) const { return bus_.congested(space, cycle); }
  void read(unsigned channel, weft_address_space space, uint64_t address, uint32_t bytes, uint64_t cycle);
  void write(unsigned channel, weft_address_space space, uint64_t address, std::span<const std::byte> data,
             uint64_t cycle);

  /// A beat for another chip has been taken: acknowledged a cycle later, in its channel's order. `offset` is in the
  /// receiver's segment.
  void depart(unsigned channel, uint64_t offset, std::span<const std::byte> data, uint64_t cycle);

  /// The channel whose answer is due in `cycle`, -1: none. Stays the same until it is taken.
  [[nodiscard]] int answer_due(uint64_t cycle);
  [[nodiscard]] const Answer& answer(int channel) const { return reads_[static_cast<size_t>(channel)].front(); }
  void take_answer(int channel);
  /// The channel whose write is acknowledged in `cycle`, -1: none; it is taken at once and its error told.
  [[nodiscard]] int take_acknowledgement(uint64_t cycle, bool& error);

  /// Drops all that is outstanding (the core was reset).
  void clear();
  void set_tap(MemoryTap* tap) { tap_ = tap; }

 private:
  using Channels = std::array<Ring<Answer>, WEFT_CORE_DMA_CHANNELS>;
  [[nodiscard]] static int earliest(const Channels& channels, uint64_t cycle);

  MemoryBus& bus_;
  Channels reads_;
  Channels writes_;
  size_t outstanding_reads_ = 0;
  size_t outstanding_writes_ = 0;
  uint64_t sequence_ = 0;
  int offered_ = -1;  // answer shown to the core and not yet taken
  MemoryTap* tap_ = nullptr;
};

}  // namespace weft::core
