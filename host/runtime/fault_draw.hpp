/// Injected faults drawn from a seed, for soaks.
#pragma once
#include <cstdint>
#include <vector>

#include "weft/spec/chips.hpp"
#include "weft/weft.h"

namespace weft::runtime {

/// What drawn faults may aim at.
struct FaultTargets {
  std::vector<uint32_t> queues;  ///< ids of the queues in use, not empty
  uint32_t occasions = 8;        ///< nth is drawn from 1 to this
  uint32_t core_commands = 4;    ///< n-th command of a queue of the core: from 1 to this
  uint64_t vmem_bytes = 4096;    ///< VMEM that the program uses, a multiple of 8
  bool fatal = false;            ///< also what ends the device for good: device_gone, simulator_exit, reset_stuck
};

/// One fault that the device does not refuse, of any kind but boot_stop (a booted device does not come there). The same
/// for the same seed, chip and targets.
[[nodiscard]] weft_fault_injection draw_fault(uint64_t seed, const spec::Chip& chip, const FaultTargets& targets);

}  // namespace weft::runtime
