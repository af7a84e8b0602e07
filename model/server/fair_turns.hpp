/// Who is served when, and for how long, of those that have messages.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "model/chip/tenant_limits.hpp"

namespace weft::server {

/// Half of the time of the server's loop is the device's, and tenants share the other half. Each earns its part of the
/// time that passes, saves up to one turn of it, and spends what its messages take; a message that takes longer than
/// that puts its tenant into debt, and it waits until that is paid. Where nobody else wants the time, debts of those
/// that want it are forgiven. One thread.
class FairTurns {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::duration;

  explicit FairTurns(size_t tenants) : credit_(tenants, kMost) {}

  /// A turn begins. `waiting`: the tenants that have messages. `present`: how many tenants there are. `contended`: the
  /// device has work to do as well.
  void begin(std::span<const size_t> waiting, size_t present, bool contended, Clock::time_point now) {
    const Time earned = (now - last_) / (2 * std::max<size_t>(present, 1));
    last_ = now;
    for (Time& credit : credit_) credit = std::min(credit + earned, kMost);
    part_ = kMost / std::max<size_t>(waiting.size(), 1);
    if (contended || waiting.empty()) return;
    Time most = Time::min();
    for (const size_t i : waiting) most = std::max(most, credit_[i]);
    if (most > Time::zero()) return;
    for (const size_t i : waiting) credit_[i] += part_ - most;
  }

  /// How long the tenant may be served in this turn; zero: not at all.
  [[nodiscard]] Time time_for(size_t tenant) const { return std::clamp(credit_[tenant], Time::zero(), part_); }

  void spend(size_t tenant, Time time) { credit_[tenant] -= time; }

 private:
  static constexpr Time kMost = chip::tenant_limits::kTurn;

  std::vector<Time> credit_;
  Time part_ = kMost;
  Clock::time_point last_ = Clock::now();
};

}  // namespace weft::server
