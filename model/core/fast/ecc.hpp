/// Flipped bits in VMEM and ACC as the fast core keeps them: a sparse map of the codewords that are not what was
/// written. Where it is empty, memory costs what it costs without ECC.
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "model/golden/secded.hpp"

namespace weft::core::fast {

/// Bits of one codeword.
struct EccBits {
  uint64_t data = 0;
  uint8_t check = 0;
};

/// What reading some codewords met.
struct EccRead {
  uint64_t corrected = 0, poisoned = 0;  ///< codewords
  std::optional<uint64_t> first_poison;  ///< the lowest place of those that were used
};

/// Flips of one memory by place: the number of an 8-byte granule of VMEM, or row N + column of ACC. A value type: the
/// MXU's walk runs ahead on copies.
template <const auto& Code>
class EccFlips {
 public:
  /// Nothing is flipped and nothing is going to be: no call below has anything to do.
  [[nodiscard]] bool idle() const { return flips_.empty() && !armed_; }
  [[nodiscard]] bool armed() const { return armed_; }

  /// Flips now. Returns what that changes in the data as a decoder shows them.
  uint64_t flip(uint64_t place, const EccBits& bits) {
    EccBits& stored = flips_[place];
    const uint64_t before = shown(stored);
    stored.data ^= bits.data;
    stored.check = static_cast<uint8_t>(stored.check ^ bits.check);
    const uint64_t after = shown(stored);
    if (stored.data == 0 && stored.check == 0) flips_.erase(place);
    return before ^ after;
  }
  /// Flips with the n-th write of the place from now on.
  void arm(uint64_t place, const EccBits& bits, uint64_t n) {
    armed_ = true;
    armed_place_ = place;
    armed_bits_ = bits;
    writes_left_ = n;
  }
  void disarm() { armed_ = false; }

  /// Places [first, end) were written. If the armed write was among them: the place, and what its flips change in the
  /// data as a decoder shows them.
  struct Flipped {
    uint64_t place, change;
  };
  std::optional<Flipped> written(uint64_t first, uint64_t end) {
    flips_.erase(flips_.lower_bound(first), flips_.lower_bound(end));
    if (!armed_ || armed_place_ < first || armed_place_ >= end || --writes_left_ != 0) return std::nullopt;
    armed_ = false;
    return Flipped{armed_place_, flip(armed_place_, armed_bits_)};
  }

  /// Reads places [first, end), of which [first, used_end) are used.
  void read(uint64_t first, uint64_t end, uint64_t used_end, EccRead& out) const {
    for (auto at = flips_.lower_bound(first); at != flips_.end() && at->first < end; ++at) {
      switch (Code.decode(at->second.data, at->second.check).result) {
        case golden::SecdedResult::kGood:
          break;
        case golden::SecdedResult::kCorrected:
          out.corrected++;
          break;
        case golden::SecdedResult::kPoison:
          out.poisoned++;
          if (at->first < used_end && !out.first_poison) out.first_poison = at->first;
          break;
      }
    }
  }
  /// What a decoder shows at `place` instead of what was written, as a mask.
  [[nodiscard]] uint64_t shown(uint64_t place) const {
    const auto at = flips_.find(place);
    return at == flips_.end() ? 0 : shown(at->second);
  }

 private:
  static uint64_t shown(const EccBits& bits) { return Code.decode(bits.data, bits.check).data; }

  std::map<uint64_t, EccBits> flips_;
  bool armed_ = false;
  uint64_t armed_place_ = 0;
  EccBits armed_bits_;
  uint64_t writes_left_ = 0;
};

using VmemFlips = EccFlips<golden::kSecded64>;
using AccFlips = EccFlips<golden::kSecded32>;

inline constexpr uint64_t kGranuleBytes = 8;
/// Marks a fault's address as an ACC row.
inline constexpr uint64_t kAccAddress = uint64_t{1} << 63;

}  // namespace weft::core::fast
