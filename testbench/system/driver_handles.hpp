/// weft.h for tests: handles that release themselves, and a check that shows the driver's message.
#pragma once
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "weft/weft.h"

namespace weft::test {

struct Release {
  void operator()(weft_buffer* b) const { weft_buffer_release(b); }
  void operator()(weft_program* p) const { weft_program_release(p); }
  void operator()(weft_event* e) const { weft_event_release(e); }
  void operator()(weft_semaphore* s) const { weft_semaphore_release(s); }
  void operator()(weft_queue* q) const { (void)!weft_queue_release(q); }
  void operator()(weft_device* d) const { (void)!weft_close(d, nullptr); }
};
template <typename T>
using Handle = std::unique_ptr<T, Release>;

/// "DEVICE_LOST: the simulator ... (hint)"
inline std::string driver_message(weft_status status) {
  weft_error_info info = WEFT_INIT(weft_error_info);
  std::string text = weft_status_name(status);
  if (weft_last_error(&info) == WEFT_ERROR_OK && info.code == status)
    text = text + ": " + info.message + " (" + info.hint + ")";
  return text;
}

/// Fails the test with the driver's message.
inline void require_ok(weft_status status) {
  if (status != WEFT_ERROR_OK) FAIL(driver_message(status));
}

}  // namespace weft::test
