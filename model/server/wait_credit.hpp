/// How long the server may wait for one tenant.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>

#include "model/chip/tenant_limits.hpp"

namespace weft::server {

/// Waiting for a tenant's reply holds up all tenants. Beside others a tenant may use its share of the time for it, and
/// tenant_limits::kDmaCredit in advance; alone it may use all of it. One thread.
class WaitCredit {
 public:
  using Clock = std::chrono::steady_clock;

  /// Instead of tenant_limits::kDmaReply: for a client on the server's own thread, which cannot answer meanwhile.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  /// For one reply.
  [[nodiscard]] std::chrono::milliseconds patience() const { return patience_; }

  /// How many tenants there are, this one included.
  void set_tenants(size_t tenants, Clock::time_point now) {
    refill(now);
    tenants_ = std::max<size_t>(tenants, 1);
  }
  [[nodiscard]] bool allows(Clock::time_point now) {
    refill(now);
    return tenants_ == 1 || left_ > Clock::duration::zero();
  }
  void spend(Clock::duration time) { left_ -= time; }

 private:
  void refill(Clock::time_point now) {
    left_ = std::min<Clock::duration>(left_ + (now - last_) / tenants_, chip::tenant_limits::kDmaCredit);
    last_ = now;
  }

  Clock::duration left_ = chip::tenant_limits::kDmaCredit;
  Clock::time_point last_ = Clock::now();
  size_t tenants_ = 1;
  std::chrono::milliseconds patience_ = chip::tenant_limits::kDmaReply;
};

}  // namespace weft::server
