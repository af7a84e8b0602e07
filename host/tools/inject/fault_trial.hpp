/// One workload under injected faults: what each command's caller saw, how the device came back, and what was broken.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"
#include "host/runtime/fault_draw.hpp"
#include "host/runtime/fault_schedule.hpp"

namespace weft::tools {

/// How a command of the workload ended for its caller.
struct CommandOutcome {
  std::string name;                    ///< "launch", "copy y to host", ...
  weft_status status = WEFT_ERROR_OK;  ///< of its event, after recovery
  bool waited_out = false;             ///< the wait before recovery ended with TIMEOUT_WAIT
  uint32_t completions = 0;            ///< callbacks seen: exactly 1 is right
};

/// What brought the device back.
enum class Recovery : uint8_t { kNone, kReset, kReopened };

struct TrialResult {
  std::vector<CommandOutcome> commands;
  weft_status first_error =
      WEFT_ERROR_OK;    ///< of the first command that did not end with OK, or the call that was refused
  std::string message;  ///< the driver's words about it
  uint32_t acted = 0;   ///< occasions at which a fault acted
  Recovery recovery = Recovery::kNone;
  std::vector<std::string> broken;  ///< invariants that do not hold, a sentence each; empty: all hold
};

/// The workload: on one queue two operands go to HBM, a product runs, its result comes back; on another a fill, a
/// no-op, a timestamp and a copy back. Around every buffer lie guard bytes, beside them a bystander that nothing names.
///
/// After the faults the device is reset if a command did not end or the device says that it is not ready, and opened
/// anew if that fails. Then the four invariants are checked: no wait was longer than its bound; each command ended
/// exactly once; no byte outside of a destination changed, and a command that ended with OK did what it says; what the
/// driver counts adds up. Last, the workload runs once more without faults and must give the reference's bits and
/// device cycles.
///
/// Not thread-safe. One device is kept open between runs.
class FaultTrial {
 public:
  FaultTrial(FaultTrial&&) noexcept;
  FaultTrial& operator=(FaultTrial&&) noexcept;
  ~FaultTrial();

  /// Opens `device` (a name of weft_open) and runs the workload once without faults. Any error of compiler or driver;
  /// GOLDEN_MISMATCH if the result differs from the golden model's. `watchdog_cycles`: after how many cycles without
  /// progress a launch has hung, 0: the device's default, which takes an RTL core seconds for each hang.
  [[nodiscard]] static Result<FaultTrial> open(const std::string& device, uint64_t watchdog_cycles = 0);

  /// What faults of draw_fault() may aim at.
  [[nodiscard]] const runtime::FaultTargets& targets() const;
  [[nodiscard]] const spec::Chip& chip() const;

  /// kOneByOne: each command ends, or its wait does, before the next is submitted, so that nothing depends on the
  /// host's speed. kAtOnce: all are submitted first.
  enum class Pace : uint8_t { kAtOnce, kOneByOne };

  /// Runs the workload under `faults`. An error: the faults could not be armed, or the device could not be opened
  /// again.
  [[nodiscard]] Result<TrialResult> run(const runtime::FaultSchedule& faults, Pace pace = Pace::kAtOnce);

 private:
  struct State;
  explicit FaultTrial(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft::tools
