/// Injected faults where they meet the manager: its memory accesses, completions, copies, the core, and its own
/// firmware.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "firmware/hal.hpp"
#include "model/chip/core_host.hpp"
#include "model/chip/function.hpp"

namespace weft::chip {

/// How the processor can fail. Loops: spins in its next step for ever, awake and without a heartbeat. Dead: does not
/// wake from its next sleep. Deaf: sees no doorbell, no interrupt and no end of a copy, and never sleeps: beats without
/// progress.
enum class Ailment : uint8_t { kNone, kLoops, kDead, kDeaf };

/// The manager asks at each occasion; here stands what the fault does. Faults of a function act on what the firmware
/// does for it; those of the core, of HBM and of the firmware itself act whichever function armed them. Owner: Manager.
class ManagerFaults {
 public:
  ManagerFaults(std::span<const std::unique_ptr<Function>> functions, CoreHost& core)
      : functions_(functions), core_(core) {}

  /// After a device reset: what a fault had left behind is gone; what is armed stays.
  void restart();

  /// The firmware has read `data`; `ok` is how. Changes the data, or returns false: a bus error.
  [[nodiscard]] bool read(fw::Location from, std::span<std::byte> data, bool ok);
  /// True: a bus error answers the write.
  [[nodiscard]] bool write_fails(fw::Location to);
  /// Changes the completion that is about to be written.
  enum class CompletionWrite : uint8_t { kWhole, kLastWord, kNone };
  [[nodiscard]] CompletionWrite completion(uint32_t function, uint32_t queue, weft_completion_entry& entry);

  /// True: the copy engine is not to be started, and copy_result() answers in its place.
  [[nodiscard]] bool copy_swallowed();
  /// Result of the swallowed copy as hal::copy_result(); a stalled one never has one.
  [[nodiscard]] uint32_t copy_result();
  [[nodiscard]] bool copy_pending() const { return copy_ != Copy::kNone; }
  void copy_aborted() { copy_ = Copy::kNone; }

  /// The firmware resets the core.
  void core_resets();
  /// The core's STATUS is to read as busy.
  [[nodiscard]] bool core_stuck() const { return core_stuck_; }
  /// The firmware gives the core commands, by a push or a fetch: the first ones after a reset begin a launch, and core
  /// faults are armed.
  void core_fed();

  /// The firmware enters a boot stage; true: it stops there.
  [[nodiscard]] bool boot_stops(uint32_t function, uint32_t stage);
  /// The firmware sleeps. Raises spurious interrupts; returns what it falls ill with.
  [[nodiscard]] Ailment sleeps();

 private:
  enum class Copy : uint8_t { kNone, kFails, kStalls };

  [[nodiscard]] const InjectedFault* anywhere(weft_injected_fault kind);
  void arm_core(uint32_t core_kind, const InjectedFault& fault);

  std::span<const std::unique_ptr<Function>> functions_;
  CoreHost& core_;
  std::array<std::array<weft_completion_entry, Function::kQueues>, WEFT_LIMIT_FUNCTIONS> last_completion_{};
  Copy copy_ = Copy::kNone;
  bool core_stuck_ = false;
  bool core_fresh_ = false;  // reset, and no command given since
};

}  // namespace weft::chip
