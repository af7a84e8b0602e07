/// What the loop of simulated time would otherwise have to ask every chip of a slice after each step.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::chip {

/// Kept up to date by functions and managers, read by the Simulation that owns it. One thread.
class Attention {
 public:
  /// Of functions 0 to `functions` - 1.
  void watch(size_t functions) { told_.resize(functions); }
  /// What the function's host has of time may have changed or be about to change: its hold, its armed wait, or that it
  /// has left and is being cleared away.
  void claim(size_t function) {
    if (told_[function]) return;
    told_[function] = true;
    changed_.push_back(function);
  }
  /// Calls `look` with each function that has told of a change since the last call.
  template <typename Look>
  void take_claims(Look look) {
    for (const size_t function : changed_) {
      told_[function] = false;
      look(function);
    }
    changed_.clear();
  }

  uint32_t awake_managers = 0;  ///< whose firmware is not in wait_for_event()

 private:
  std::vector<bool> told_;
  std::vector<size_t> changed_;
};

}  // namespace weft::chip
