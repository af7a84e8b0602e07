/// The manager's big copies between HBM and host memory: events, not clock cycles.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <systemc>
#include <vector>

#include "model/chip/chip_bus.hpp"
#include "model/chip/time_base.hpp"

namespace weft::chip {

/// One copy or fill at a time, in chunks that pass through three stages: request the read, book the write when the data
/// has come, move the bytes when the write is visible. Each stage follows its own path's pace, so reads and writes
/// overlap and nobody else waits for more than a chunk. A chunk that cannot be read or written ends the job with a bus
/// error; earlier ones stay done.
class CopyEngine final : public sc_core::sc_module {
 public:
  static constexpr uint64_t kChunkBytes = 4096;
  static constexpr size_t kMaxChunksInFlight = 256;

  /// `finished` is called at the end of a job, at its cycle.
  CopyEngine(sc_core::sc_module_name name, const TimeBase& time, ChipBus& bus, std::function<void()> finished);

  /// As hal::copy_start().
  [[nodiscard]] bool start(Location source, Location destination, uint64_t bytes);
  /// As hal::copy_result().
  [[nodiscard]] uint32_t take_result();
  [[nodiscard]] bool busy() const { return running_; }
  /// Since power-up: cycles in which a job ran (up to now), and bytes moved.
  [[nodiscard]] uint64_t busy_cycles() const;
  [[nodiscard]] uint64_t moved_bytes() const { return total_bytes_; }
  /// Ends the job at once; no byte moves afterwards, and no result is left.
  void reset();

 private:
  enum Result : uint32_t { kNone = 0, kDone = 1, kBusError = 2 };

  void run();
  void request_reads(uint64_t cycle);
  void book_writes(uint64_t cycle);
  void move_data(uint64_t cycle);
  [[nodiscard]] bool move_chunk(uint64_t offset, uint64_t bytes);
  [[nodiscard]] uint64_t chunk_bytes(uint64_t offset) const { return std::min(kChunkBytes, bytes_ - offset); }
  [[nodiscard]] uint64_t next_cycle() const;
  [[nodiscard]] bool fill() const { return source_.space == WEFT_ADDRESS_SPACE_NONE; }
  void finish(Result result);
  [[nodiscard]] uint64_t now() const { return time_.cycle_at(sc_core::sc_time_stamp().value()); }

  const TimeBase& time_;
  ChipBus& bus_;
  std::function<void()> finished_;
  sc_core::sc_event wake_;
  std::vector<std::byte> buffer_;

  uint64_t busy_cycles_ = 0;  // of jobs that have ended
  uint64_t total_bytes_ = 0;
  uint64_t start_cycle_ = 0;
  bool running_ = false;
  Result result_ = kNone;
  Location source_{};
  Location destination_{};
  uint64_t bytes_ = 0;
  uint64_t requested_ = 0;  // bytes whose read was requested
  uint64_t booked_ = 0;     // bytes whose write was booked
  uint64_t moved_ = 0;
  uint64_t read_path_free_cycle_ = 0;
  uint64_t write_path_free_cycle_ = 0;
  std::deque<uint64_t> arrivals_;  // cycles in which requested chunks arrive
  std::deque<uint64_t> visible_;   // cycles in which booked chunks are visible
};

}  // namespace weft::chip
