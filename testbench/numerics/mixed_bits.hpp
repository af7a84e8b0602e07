/// Random bits that depend on a seed and an index only.
#pragma once
#include <cstdint>

namespace weft::numerics {

/// splitmix64 from (seed, index). Each call gives new bits. One owner.
class Bits {
 public:
  Bits(uint64_t seed, uint64_t index) : state_(mix(seed * 0x9e3779b97f4a7c15 + index)) {}

  /// The next `count` bits, 1 to 64.
  [[nodiscard]] uint64_t take(unsigned count) {
    if (count > left_) {
      state_ += 0x9e3779b97f4a7c15;
      pool_ = mix(state_);
      left_ = 64;
    }
    const uint64_t out = count == 64 ? pool_ : pool_ & ((uint64_t{1} << count) - 1);
    pool_ = count == 64 ? 0 : pool_ >> count;
    left_ -= count;
    return out;
  }
  /// 0 to limit - 1, limit <= 2^31.
  [[nodiscard]] uint64_t below(uint64_t limit) { return take(32) * limit >> 32; }

 private:
  static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  uint64_t state_;
  uint64_t pool_ = 0;
  unsigned left_ = 0;
};

}  // namespace weft::numerics
