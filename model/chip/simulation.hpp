/// Simulated time in slices: what the simulator's loop sees of SystemC.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "model/chip/chip_options.hpp"
#include "model/chip/function.hpp"

namespace weft::chip {

class Chip;

/// The SystemC kernel with one chip. A process can have one in its life (SystemC elaborates once). Single-threaded:
/// whoever calls run_slice() may look at the function between two calls, never from another thread.
class Simulation {
 public:
  /// A slice aims at this much wall-clock time, so that sockets are looked at in between.
  static constexpr std::chrono::microseconds kSliceTarget{300};

  /// Elaborates and lets the firmware run until it sleeps. nullptr and a message in `error` on failure.
  static std::unique_ptr<Simulation> make(const ChipOptions& options, std::string& error);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  [[nodiscard]] size_t functions() const;
  [[nodiscard]] Function& function(size_t index = 0);
  [[nodiscard]] Chip& chip() { return *chip_; }
  [[nodiscard]] uint64_t cycle() const;

  /// True if anything is going to happen by itself.
  [[nodiscard]] bool pending() const;

  /// The first alarm of all functions' armed waits; 0: none is armed.
  [[nodiscard]] uint64_t next_alarm();

  /// Lets time go on for a slice, or until nothing is pending, or to the armed wait's alarm, which then ends. At least
  /// one event happens if one is pending. Where slices begin and end changes no cycle of the device.
  void run_slice();

  /// Nothing is pending and no message of the host is left: an armed wait ends as idle_with_outstanding.
  void end_idle_wait();

  /// run_slice() until nothing is pending.
  void run_until_idle();

  /// The client of a function has gone: the function is as new when it has settled. Time goes on from where it is.
  void disconnect(size_t function = 0);

 private:
  /// The host's messages are taken between slices, and a slice does not end while the firmware works (up to a bound):
  /// so what a launch costs does not depend on the moment at which the wall clock lets its doorbell in.
  void let_firmware_sleep();

  explicit Simulation(std::unique_ptr<Chip> chip);
  void adapt(std::chrono::nanoseconds taken);

  std::unique_ptr<Chip> chip_;
  uint64_t slice_cycles_;
};

}  // namespace weft::chip
