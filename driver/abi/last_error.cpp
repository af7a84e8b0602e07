// Thread-local error details and hints.
#include "driver/abi/last_error.hpp"

#include <algorithm>
#include <cstring>

#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

/// What a caller can do. Empty: nothing general.
const char* hint_of(weft_error code) {
  switch (code) {
    case WEFT_ERROR_QUEUE_FULL:
      return "wait for an event of this queue, or create it with more entries";
    case WEFT_ERROR_NO_DEVICE_MEMORY:
      return "release buffers or programs; a largest piece far below what is free means fragmentation";
    case WEFT_ERROR_DEVICE_LOST:
      return "close the device and open it again; what was in HBM is gone";
    case WEFT_ERROR_ABORTED_BY_RESET:
      return "submit it again; after a reset of the device to a new queue";
    case WEFT_ERROR_DEPENDENCY_FAILED:
      return "the message names the command that failed first: mend that, then submit both again";
    case WEFT_ERROR_BAD_DOORBELL:
      return "release the queue and create another";
    case WEFT_ERROR_DEVICE_HUNG:
      return "the hang report tells who waits for whom; if the device has failed: weft_device_reset";
    case WEFT_ERROR_FIRMWARE_PANIC:
    case WEFT_ERROR_BOOT_FAILED:
      return "weft_device_reset, or close the device and open it again";
    case WEFT_ERROR_TIMEOUT_WAIT:
      return "the command may still end: wait again, or reset the device";
    case WEFT_ERROR_BUDGET_EXCEEDED:
      return "raise budget_kcycles, or set it to 0 for no limit";
    case WEFT_ERROR_COMPUTE_FAULT:
    case WEFT_ERROR_DMA_FAULT:
    case WEFT_ERROR_SEMAPHORE_FAULT:
      return "the fault's tag names the command in the executable's debug section; docs/command_checks.md explains the "
             "address";
    case WEFT_ERROR_ICI_FAULT:
      return "the cause and the other chip stand in the message; docs/reference/host_interface.md (ici_cause) explains "
             "them";
    case WEFT_ERROR_EXECUTABLE_INVALID:
      return "compile it for this chip, with tools of this version";
    case WEFT_ERROR_ABI_MISMATCH:
      return "use driver and simulator of one build";
    case WEFT_ERROR_BUSY:
      return "another client has the device, or all queues are in use";
    case WEFT_ERROR_INTERNAL:
      return "this is a defect: please report it";
    default:
      return "";
  }
}

template <size_t Count>
void copy_text(char (&out)[Count], const char* text) {
  const size_t length = std::min(std::strlen(text), Count - 1);
  std::memcpy(out, text, length);
  out[length] = 0;
}

weft_error_class origin_of(std::string_view name) {
  if (name == "FIRMWARE") return WEFT_ERROR_CLASS_FIRMWARE;
  if (name == "UNIT") return WEFT_ERROR_CLASS_UNIT;
  if (name == "LINK") return WEFT_ERROR_CLASS_LINK;
  return WEFT_ERROR_CLASS_HOST;
}

thread_local weft_error_info last{};

/// What the code alone tells.
void set_code(weft_error_info& info, weft_error code) {
  const size_t size = info.size;
  info = weft_error_info{};
  info.size = size;
  info.code = code;
  if (const auto* known = spec::find_error(code); known != nullptr) {
    info.scope = known->scope == "device"  ? WEFT_ERROR_SCOPE_DEVICE
                 : known->scope == "queue" ? WEFT_ERROR_SCOPE_QUEUE
                                           : WEFT_ERROR_SCOPE_COMMAND;
    info.retryable = known->retryable ? 1 : 0;
    info.origin = origin_of(known->origin);
  }
  copy_text(info.hint, hint_of(code));
}

}  // namespace

void describe(const Status& status, weft_error_info& info) {
  set_code(info, status.code());
  if (status.ok()) return;
  const Detail& detail = status.detail();
  info.queue = detail.queue;
  info.command = detail.command_id;
  info.tag = detail.tag;
  info.cycle = detail.cycle;
  info.fault = detail.fault;
  info.fault_unit = detail.fault_unit;
  info.fault_queue = detail.fault_queue;
  info.fault_tag = detail.fault_tag;
  info.fault_address = detail.fault_address;
  copy_text(info.message, detail.message.c_str());
  copy_text(info.report_path, detail.report_path.c_str());
}

weft_status remember(const Status& status) {
  if (status.ok()) return WEFT_ERROR_OK;
  describe(status, last);
  return status.code();
}

weft_status remember(weft_error code, const char* message) {
  set_code(last, code);
  copy_text(last.message, message);
  return code;
}

void copy_last_error(weft_error_info& info) {
  const size_t size = info.size;
  info = last;
  info.size = size;
}

}  // namespace weft::driver
