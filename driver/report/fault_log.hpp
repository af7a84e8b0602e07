// The ring of fault records in host memory, and what a failed completion means in words.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "driver/status.hpp"

namespace weft::driver {

/// Reader of the fault ring. Any thread may call find(); for_each_new() belongs to one thread at a time.
class FaultLog {
 public:
  /// `memory`: WEFT_LIMIT_FAULT_ENTRIES zeroed records, device-visible, outlives the log.
  explicit FaultLog(const std::byte* memory) : memory_(memory) {}

  /// The newest record of this command.
  std::optional<weft_fault_record> find(uint16_t queue, uint16_t command_id) const;

  /// The newest `count` records at most, oldest first.
  std::vector<weft_fault_record> last(size_t count) const;

  /// Calls with each record that it has not called with yet, oldest first; skips what the device has overwritten. At
  /// most one lap of the ring: a device that writes without end does not hold the caller.
  template <typename Function>
  void for_each_new(Function&& function) {
    for (uint32_t i = 0; i < WEFT_LIMIT_FAULT_ENTRIES; i++) {
      const auto record = next();
      if (!record) return;
      function(*record);
    }
  }
  /// What rewind() takes: for_each_new() then begins again there.
  uint64_t position() const { return read_; }
  void rewind(uint64_t position) { read_ = position; }

 private:
  std::optional<weft_fault_record> read(uint32_t place) const;
  std::optional<weft_fault_record> next();

  const std::byte* memory_;
  uint64_t read_ = 0;  ///< number of the last record that for_each_new() has called with
};

/// What the device may be writing, once two looks in a row agree. Nothing: it was another at each of `kLooks` looks, as
/// with a device that never stops writing it. `look()` copies it.
template <typename T, typename Look>
std::optional<T> settled(Look&& look) {
  constexpr int kLooks = 16;
  T last = look();
  for (int looks = 1; looks < kLooks; looks++) {
    std::atomic_thread_fence(std::memory_order_acquire);
    const T again = look();
    if (std::memcmp(&last, &again, sizeof last) == 0) return last;
    last = again;
  }
  return std::nullopt;
}

/// Status of a failed completion: code, and all that the record knows. `opcode` names the command.
Status describe_failure(const weft_completion_entry& completion, uint8_t opcode,
                        const std::optional<weft_fault_record>& record);

/// The record at a place of a log ring (WEFT_LIMIT_LOG_ENTRIES records, device-visible). Nothing: see settled().
std::optional<weft_log_record> read_log_record(const std::byte* ring, size_t place);

/// The newest `count` records of a log ring at most, oldest first. `ring`: WEFT_LIMIT_LOG_ENTRIES records,
/// device-visible. Leaves them to be read again.
std::vector<weft_log_record> last_log(const std::byte* ring, size_t count);

/// One sentence about a record.
std::string describe_record(const weft_fault_record& record);

}  // namespace weft::driver
