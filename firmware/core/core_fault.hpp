/// What the core knows of a fault, and its part of a fault record.
#pragma once
#include <stdint.h>

#include "weft/spec/spec.h"

namespace weft::fw::core {

/// The first fault as the core holds it. All zero: none.
struct Fault {
  uint32_t code;
  uint32_t unit;
  uint32_t queue;
  uint32_t tag;
  uint64_t address;
  uint64_t cycle;
};

Fault read_fault();

/// Fills the record's fault fields, and the core's queues and semaphores as they are now.
void describe(const Fault& fault, weft_fault_record& record);

/// First semaphore of `semaphores` (a bit each) that is not 0; WEFT_SEMAPHORES: all are.
uint32_t find_leak(uint64_t semaphores = UINT64_MAX);

}  // namespace weft::fw::core
