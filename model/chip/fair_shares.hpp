/// A resource of the whole process that several tenants draw on.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::chip {

/// Half of the resource is divided equally and kept for each tenant; the other half goes to the tenants that ask first.
/// So whatever one tenant takes, each other tenant still gets its part of the first half. Not thread-safe.
class FairShares {
 public:
  /// `total`: units of the resource. `most`: what one tenant can have of it.
  FairShares(uint64_t total, size_t tenants, uint64_t most)
      : kept_(total / 2 / std::max<size_t>(tenants, 1)), free_(total - kept_ * tenants), most_(most), used_(tenants) {}

  /// False: the tenant cannot have so much; nothing changes.
  [[nodiscard]] bool take(size_t tenant, uint64_t amount) {
    const uint64_t used = used_[tenant];
    if (used > most_ || amount > most_ - used) return false;
    const uint64_t from_free = beyond(used + amount) - beyond(used);
    if (from_free > free_) return false;
    free_ -= from_free;
    used_[tenant] += amount;
    return true;
  }

  /// Gives back what take() got.
  void give(size_t tenant, uint64_t amount) {
    const uint64_t used = used_[tenant];
    free_ += beyond(used) - beyond(used - amount);
    used_[tenant] -= amount;
  }

  /// What each tenant can have whatever the others have.
  [[nodiscard]] uint64_t kept() const { return std::min(kept_, most_); }

 private:
  [[nodiscard]] uint64_t beyond(uint64_t used) const { return used > kept_ ? used - kept_ : 0; }

  uint64_t kept_;
  uint64_t free_;
  uint64_t most_;
  std::vector<uint64_t> used_;
};

}  // namespace weft::chip
