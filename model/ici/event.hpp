/// What happens in the interconnect, and when.
#pragma once
#include <cstdint>

#include "model/ici/time.hpp"

namespace weft::ici {

struct Event {
  Femtoseconds time;
  uint32_t number;   ///< order among events of one time
  uint32_t subject;  ///< what it happens to
  uint32_t object;
  uint16_t kind;
};

/// Stands where there is no event: later than all others.
inline constexpr Event kNoEvent{kNever, 0, 0, 0, 0};

/// By time, those of one time in the order of their numbers. These wrap: what matters is who was first within half of
/// their range.
constexpr bool is_earlier(const Event& a, const Event& b) {
  return a.time != b.time ? a.time < b.time : static_cast<int32_t>(a.number - b.number) < 0;
}

}  // namespace weft::ici
