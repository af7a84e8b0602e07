// Properties of errors and faults, as tables without text. A unit test compares them with the generated name tables.
#include "firmware/errors.hpp"

namespace weft::fw {

weft_error_class error_class(weft_error error) {
  switch (error) {
    case WEFT_ERROR_OK:
      return WEFT_ERROR_CLASS_OK;
    case WEFT_ERROR_INVALID_ARGUMENT:
    case WEFT_ERROR_INVALID_STATE:
    case WEFT_ERROR_UNSUPPORTED:
    case WEFT_ERROR_NO_HOST_MEMORY:
    case WEFT_ERROR_NO_DEVICE_MEMORY:
    case WEFT_ERROR_QUEUE_FULL:
    case WEFT_ERROR_BUSY:
    case WEFT_ERROR_TIMEOUT_WAIT:
    case WEFT_ERROR_CANCELLED:
    case WEFT_ERROR_DEVICE_LOST:
    case WEFT_ERROR_ABI_MISMATCH:
    case WEFT_ERROR_EXECUTABLE_INVALID:
    case WEFT_ERROR_GOLDEN_MISMATCH:
    case WEFT_ERROR_INTERNAL:
      return WEFT_ERROR_CLASS_HOST;
    case WEFT_ERROR_BUDGET_EXCEEDED:
    case WEFT_ERROR_ABORTED_BY_RESET:
    case WEFT_ERROR_DEPENDENCY_FAILED:
    case WEFT_ERROR_BAD_DESCRIPTOR:
    case WEFT_ERROR_BAD_DOORBELL:
    case WEFT_ERROR_FIRMWARE_PANIC:
    case WEFT_ERROR_BOOT_FAILED:
      return WEFT_ERROR_CLASS_FIRMWARE;
    case WEFT_ERROR_DEVICE_HUNG:
    case WEFT_ERROR_DMA_FAULT:
    case WEFT_ERROR_COMPUTE_FAULT:
    case WEFT_ERROR_SEMAPHORE_FAULT:
      return WEFT_ERROR_CLASS_UNIT;
    case WEFT_ERROR_ICI_FAULT:
      return WEFT_ERROR_CLASS_LINK;
  }
  return WEFT_ERROR_CLASS_FIRMWARE;
}

bool error_retryable(weft_error error) {
  return error == WEFT_ERROR_NO_HOST_MEMORY || error == WEFT_ERROR_NO_DEVICE_MEMORY || error == WEFT_ERROR_QUEUE_FULL ||
         error == WEFT_ERROR_BUSY || error == WEFT_ERROR_TIMEOUT_WAIT || error == WEFT_ERROR_CANCELLED ||
         error == WEFT_ERROR_ABORTED_BY_RESET || error == WEFT_ERROR_DEPENDENCY_FAILED || error == WEFT_ERROR_ICI_FAULT;
}

bool error_beyond_command(weft_error error) {
  return error == WEFT_ERROR_BUSY || error == WEFT_ERROR_DEVICE_HUNG || error == WEFT_ERROR_DEVICE_LOST ||
         error == WEFT_ERROR_BAD_DOORBELL || error == WEFT_ERROR_ICI_FAULT || error == WEFT_ERROR_FIRMWARE_PANIC ||
         error == WEFT_ERROR_BOOT_FAILED || error == WEFT_ERROR_ABI_MISMATCH || error == WEFT_ERROR_INTERNAL;
}

weft_error fault_error(uint32_t fault) {
  switch (static_cast<weft_fault>(fault)) {
    case WEFT_FAULT_ILLEGAL_OPCODE:
    case WEFT_FAULT_ILLEGAL_FIELD:
    case WEFT_FAULT_ALIGNMENT:
    case WEFT_FAULT_ECC_UNCORRECTABLE:
    case WEFT_FAULT_ACC_RANGE:
    case WEFT_FAULT_HAZARD:
      return WEFT_ERROR_COMPUTE_FAULT;
    case WEFT_FAULT_RANGE:
    case WEFT_FAULT_SEGMENT:
    case WEFT_FAULT_DMA_BUS:
    case WEFT_FAULT_COMMAND_FETCH:
    case WEFT_FAULT_INDEX:
      return WEFT_ERROR_DMA_FAULT;
    case WEFT_FAULT_SEMAPHORE_OVERFLOW:
    case WEFT_FAULT_SEMAPHORE_LEAK:
      return WEFT_ERROR_SEMAPHORE_FAULT;
    case WEFT_FAULT_WATCHDOG:
      return WEFT_ERROR_DEVICE_HUNG;
    case WEFT_FAULT_ICI:
      return WEFT_ERROR_ICI_FAULT;
    case WEFT_FAULT_NONE:
      break;
  }
  return WEFT_ERROR_INTERNAL;
}

uint32_t completion_status(weft_error error, uint32_t phase, bool more_information) {
  if (error == WEFT_ERROR_OK)
    return WEFT_STATUS(phase, WEFT_ERROR_CLASS_OK, WEFT_ERROR_OK, 0u, more_information ? 1u : 0u);
  return WEFT_STATUS(phase, error_class(error), error, error_retryable(error) ? 1u : 0u, more_information ? 1u : 0u);
}

}  // namespace weft::fw
