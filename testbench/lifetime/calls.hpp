/// The calls of weft.h that programs are made of, and how often each ended how.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "weft/weft.h"

namespace weft::lifetime {

// clang-format off
#define WEFT_LIFETIME_CALLS(X)                                                                                        \
  X(open) X(close) X(device_get_info) X(device_cycle) X(device_counters) X(device_get_statistics) X(device_read_log)  \
  X(device_set_log_level) X(device_set_watchdog) X(device_get_errors) X(device_listen) X(device_reset) X(reset_queue) X(reset_engine)        \
  X(reset_device_level) X(state_dump) X(last_error) X(device_get_descriptor) X(device_process)                         \
  X(buffer_create) X(buffer_release) X(buffer_map) X(buffer_get_info)                                                 \
  X(program_load) X(program_release) X(program_get_kernel) X(kernel_get_info)                                         \
  X(queue_create) X(queue_release) X(queue_cancel) X(queue_get_info)                                                  \
  X(launch) X(copy) X(fill) X(fence) X(nop) X(timestamp) X(wait) X(signal) X(submit)                                  \
  X(event_query) X(event_wait) X(event_set_callback) X(event_cancel) X(event_release) X(event_get_news) X(event_get_error) \
  X(command_buffer_create) X(command_buffer_patch) X(command_buffer_submit) X(command_buffer_release)                 \
  X(semaphore_create) X(semaphore_release) X(semaphore_get_value) X(semaphore_signal) X(semaphore_wait)               \
  X(fault_inject) X(fault_disarm) X(fork)
// clang-format on

enum class Call : uint8_t {
#define WEFT_LIFETIME_NAME(name) k_##name,
  WEFT_LIFETIME_CALLS(WEFT_LIFETIME_NAME)
#undef WEFT_LIFETIME_NAME
};

inline constexpr const char* kCallNames[] = {
#define WEFT_LIFETIME_NAME(name) #name,
    WEFT_LIFETIME_CALLS(WEFT_LIFETIME_NAME)
#undef WEFT_LIFETIME_NAME
};
inline constexpr size_t kCalls = sizeof kCallNames / sizeof *kCallNames;

inline const char* name_of(Call call) { return kCallNames[static_cast<size_t>(call)]; }

/// A set of status codes.
class Statuses {
 public:
  constexpr Statuses() = default;
  constexpr Statuses(std::initializer_list<weft_status> all) {
    for (const weft_status status : all) add(status);
  }
  constexpr void add(weft_status status) { bits_ |= bit(status); }
  constexpr void add(Statuses more) { bits_ |= more.bits_; }
  constexpr void remove(weft_status status) { bits_ &= ~bit(status); }
  [[nodiscard]] constexpr bool has(weft_status status) const { return (bits_ & bit(status)) != 0; }
  /// "OK, CANCELLED"
  [[nodiscard]] std::string text() const;

 private:
  static constexpr uint64_t bit(weft_status status) { return uint64_t{1} << (static_cast<uint32_t>(status) & 63); }
  uint64_t bits_ = 0;
};

/// Counts of a run. Thread-safe.
class Counts {
 public:
  static constexpr size_t kStatuses = 64;
  void add(Call call, weft_status status) {
    counts_[static_cast<size_t>(call)][static_cast<size_t>(status) % kStatuses].fetch_add(1, std::memory_order_relaxed);
  }
  /// The commands' ends, counted apart.
  void add_end(weft_status status) {
    ends_[static_cast<size_t>(status) % kStatuses].fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] uint64_t of(Call call) const;
  [[nodiscard]] uint64_t of(Call call, size_t status) const { return counts_[static_cast<size_t>(call)][status]; }
  [[nodiscard]] uint64_t ends(size_t status) const { return ends_[status]; }
  [[nodiscard]] uint64_t ends() const;
  [[nodiscard]] uint64_t all() const;

 private:
  std::array<std::array<std::atomic<uint64_t>, kStatuses>, kCalls> counts_{};
  std::array<std::atomic<uint64_t>, kStatuses> ends_{};
};

}  // namespace weft::lifetime
