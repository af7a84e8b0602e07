// The firmware's error tables against the generated ones.
#include "firmware/errors.hpp"

#include <string_view>

#include "check.hpp"
#include "weft/spec/names.hpp"

using namespace weft;

static weft_error_class class_of(std::string_view origin) {
  if (origin == "HOST") return WEFT_ERROR_CLASS_HOST;
  if (origin == "FIRMWARE") return WEFT_ERROR_CLASS_FIRMWARE;
  return origin == "UNIT" ? WEFT_ERROR_CLASS_UNIT : WEFT_ERROR_CLASS_LINK;
}

static void every_error_has_the_class_scope_and_retryability_of_the_specification(void**) {
  for (const auto& info : spec::kErrors) {
    const auto error = static_cast<weft_error>(info.code);
    if (error != WEFT_ERROR_OK) assert_int_equal(fw::error_class(error), class_of(info.origin));
    assert_int_equal(fw::error_retryable(error), info.retryable);
    assert_int_equal(fw::error_beyond_command(error), info.scope != "command");
  }
  assert_int_equal(fw::error_class(WEFT_ERROR_OK), WEFT_ERROR_CLASS_OK);
}

static void every_core_fault_becomes_the_error_of_the_specification(void**) {
  for (uint32_t code = 0; code < 256; code++) assert_int_equal(fw::fault_error(code), spec::fault_error(code));
}

static void a_status_word_holds_phase_class_code_retryable_and_more(void**) {
  const uint32_t s = fw::completion_status(WEFT_ERROR_QUEUE_FULL, 1, true);
  assert_int_equal(WEFT_STATUS_PHASE(s), 1);
  assert_int_equal(WEFT_STATUS_CLASS(s), WEFT_ERROR_CLASS_HOST);
  assert_int_equal(WEFT_STATUS_CODE(s), WEFT_ERROR_QUEUE_FULL);
  assert_int_equal(WEFT_STATUS_RETRYABLE(s), 1);
  assert_int_equal(WEFT_STATUS_MORE(s), 1);
  assert_int_equal(fw::completion_status(WEFT_ERROR_OK, 0, false), 0);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_error_has_the_class_scope_and_retryability_of_the_specification),
      cmocka_unit_test(every_core_fault_becomes_the_error_of_the_specification),
      cmocka_unit_test(a_status_word_holds_phase_class_code_retryable_and_more),
  };
  return cmocka_run_group_tests_name("firmware/errors", tests, nullptr, nullptr);
}
