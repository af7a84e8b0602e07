/// Latencies of the fast core, in core cycles: the only place where its timing is tuned to the RTL's.
#pragma once
#include <cstdint>

#include "weft/spec/chips.hpp"

namespace weft::core {

/// Cycles as in the RTL's own words (rtl/*/README.md); README.md says how each was found. What is not here follows
/// from structure: one check, one wait and one retirement a cycle, one beat a cycle and port, one group of rows a cycle.
struct FastTiming {
  // DMA (rtl/dma)
  uint32_t dma_check = 4;  ///< command taken to its verdict; the front's first beat is one later
  uint32_t dma_held = 8;   ///< commands a channel holds

  // MXU (rtl/mxu)
  uint32_t mxu_first_weight = 4;  ///< command taken to its first weight word entering the array
  uint32_t mxu_drain = 0;         ///< beyond (L + 1) N: last row of x entering to done
  uint32_t mxu_refuse = 2;  ///< command taken to its fault (one cycle after the command before it is done, if later)
  uint32_t mxu_held = 4;    ///< commands held

  // VPU (rtl/vpu)
  uint32_t vpu_start = 2;     ///< command taken to its start
  uint32_t vpu_function = 6;  ///< stages of exp2 to erf

  // VMEM (rtl/vmem)
  uint32_t vmem_starve_limit = 15;  ///< refusals in a row after which a DMA access goes first

  // Retirement (rtl/core): a unit's lane holds as many commands as the unit, and no more than this
  uint32_t lane_depth = 4;

  /// False: every access takes its time, and no byte moves and no element is computed (CoreOptions::timing_only).
  bool carries_data = true;
};

/// Cycles between two rows of which the second takes the first one's sums as they leave the array: L N.
[[nodiscard]] constexpr uint64_t mxu_depth(const spec::Chip& chip) { return uint64_t{chip.pe_latency} * chip.n; }

/// A row entering to its last result in ACC: (L + 1) N.
[[nodiscard]] constexpr uint64_t mxu_flight(const spec::Chip& chip) { return mxu_depth(chip) + chip.n; }

}  // namespace weft::core
