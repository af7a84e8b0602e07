// Reading a fault out of the core, before the reset that clears it.
#include "firmware/core/core_fault.hpp"

#include "firmware/hal.hpp"

namespace weft::fw::core {

Fault read_fault() {
  const uint64_t code = hal::csr_read(WEFT_CSR_FAULT_CODE);
  Fault fault{};
  const auto low = static_cast<uint32_t>(code);
  fault.code = WEFT_FIELD(WEFT_CSR_FAULT_CODE_CODE, low);
  fault.unit = WEFT_FIELD(WEFT_CSR_FAULT_CODE_UNIT, low);
  fault.queue = WEFT_FIELD(WEFT_CSR_FAULT_CODE_QUEUE, low);
  fault.tag = static_cast<uint32_t>(WEFT_FIELD(WEFT_CSR_FAULT_CODE_TAG, code));
  fault.address = hal::csr_read(WEFT_CSR_FAULT_ADDRESS);
  fault.cycle = hal::csr_read(WEFT_CSR_FAULT_CYCLE);
  return fault;
}

void describe(const Fault& fault, weft_fault_record& record) {
  record.fault_code = fault.code;
  record.fault_unit = fault.unit;
  record.fault_queue = fault.queue;
  record.fault_tag = fault.tag;
  record.fault_address = fault.address;
  record.fault_cycle = fault.cycle;
  for (uint32_t i = 0; i < WEFT_CORE_QUEUES; i++) {
    record.queue_level[i] =
        static_cast<uint32_t>(hal::csr_read(WEFT_CSR_QUEUE_LEVEL + i * WEFT_CSR_QUEUE_LEVEL_STRIDE));
    record.queue_retired[i] =
        static_cast<uint32_t>(hal::csr_read(WEFT_CSR_QUEUE_RETIRED + i * WEFT_CSR_QUEUE_RETIRED_STRIDE));
    record.queue_tag[i] =
        static_cast<uint32_t>(hal::csr_read(WEFT_CSR_QUEUE_HEAD_TAG + i * WEFT_CSR_QUEUE_HEAD_TAG_STRIDE)) &
        WEFT_CSR_QUEUE_HEAD_TAG_TAG;
  }
  for (uint32_t i = 0; i < WEFT_SEMAPHORES; i++) {
    record.semaphore[i] = static_cast<uint8_t>(hal::csr_read(WEFT_CSR_SEMAPHORE + i * WEFT_CSR_SEMAPHORE_STRIDE));
  }
}

uint32_t find_leak(uint64_t semaphores) {
  uint64_t nonzero = hal::csr_read(WEFT_CSR_SEMAPHORE_NONZERO) & semaphores;
  if (nonzero == 0) return WEFT_SEMAPHORES;
  uint32_t first = 0;
  for (; (nonzero & 1) == 0; nonzero >>= 1) first++;
  return first;
}

}  // namespace weft::fw::core
