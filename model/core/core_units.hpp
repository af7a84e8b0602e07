/// The units of a core: which queue feeds each, which of them are MXUs.
#pragma once
#include <array>

#include "weft/spec/spec.h"

namespace weft::core {

/// The queue that feeds a unit (spec/commands.toml).
[[nodiscard]] constexpr unsigned queue_of_unit(unsigned unit) {
  constexpr std::array<unsigned, WEFT_CORE_UNITS> kQueues{
      WEFT_QUEUE_DMA_IN, WEFT_QUEUE_DMA_IN, WEFT_QUEUE_DMA_OUT, WEFT_QUEUE_DMA_OUT, WEFT_QUEUE_MXU,
      WEFT_QUEUE_VPU,    WEFT_QUEUE_SYNC,   WEFT_QUEUE_MXU,     WEFT_QUEUE_MXU,     WEFT_QUEUE_MXU};
  return kQueues[unit];
}
/// The first unit of a queue: whom a fault of its header names.
[[nodiscard]] constexpr weft_unit_index first_unit(unsigned queue) {
  constexpr std::array<weft_unit_index, WEFT_CORE_QUEUES> kUnits{WEFT_UNIT_DMA0, WEFT_UNIT_MXU, WEFT_UNIT_VPU,
                                                                 WEFT_UNIT_DMA2, WEFT_UNIT_SYNC};
  return kUnits[queue];
}
/// MXU 0, 1, ... by their numbers among the units, and back.
[[nodiscard]] constexpr weft_unit_index unit_of_mxu(unsigned mxu) {
  return static_cast<weft_unit_index>(mxu == 0 ? WEFT_UNIT_MXU : WEFT_UNIT_MXU1 + mxu - 1);
}
[[nodiscard]] constexpr unsigned mxu_of_unit(unsigned unit) {
  return unit == WEFT_UNIT_MXU ? 0 : unit - WEFT_UNIT_MXU1 + 1;
}
[[nodiscard]] constexpr bool is_mxu(unsigned unit) { return unit == WEFT_UNIT_MXU || unit >= WEFT_UNIT_MXU1; }

}  // namespace weft::core
