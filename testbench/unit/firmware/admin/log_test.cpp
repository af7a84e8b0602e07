// The log ring: levels, order, wrapping, and a host whose ring is gone.
#include "firmware/admin/log.hpp"

#include "check.hpp"
#include "host_side.hpp"

using namespace weft::fw;
using mock::machine;

namespace {

Function& function() {
  static State* state = nullptr;
  state = &mock::make_state();
  Function& f = state->functions[0];
  f.log = {mock::kLog, LogLevel::kInfo, 0, 0, false};
  return f;
}

const weft_log_record& record(uint32_t slot) {
  return *reinterpret_cast<const weft_log_record*>(
      machine().find(WEFT_ADDRESS_SPACE_HOST, mock::kLog + slot * sizeof(weft_log_record), sizeof(weft_log_record)));
}

}  // namespace

static int fresh(void**) {
  mock::reset();
  return 0;
}

static void a_record_holds_cycle_event_level_and_arguments(void**) {
  Function& f = function();
  machine().now = 4711;
  log_event(f, LogLevel::kWarning, WEFT_LOG_EVENT_BAD_DOORBELL, 3, UINT64_MAX);
  assert_int_equal(record(0).sequence, 1);
  assert_int_equal(record(0).cycle, 4711);
  assert_int_equal(record(0).event, WEFT_LOG_EVENT_BAD_DOORBELL);
  assert_int_equal(record(0).level, 1);
  assert_int_equal(record(0).arg0, 3);
  assert_true(record(0).arg1 == UINT64_MAX);
}

static void a_level_beyond_the_one_wanted_costs_nothing(void**) {
  Function& f = function();
  f.log.level = LogLevel::kError;
  const uint64_t before = machine().now;
  for (const LogLevel level : {LogLevel::kWarning, LogLevel::kInfo, LogLevel::kDebug})
    log_event(f, level, WEFT_LOG_EVENT_PANIC);
  assert_int_equal(machine().dma_writes, 0);
  assert_int_equal(machine().now, before);
  log_event(f, LogLevel::kError, WEFT_LOG_EVENT_PANIC);
  assert_int_equal(machine().dma_writes, 1);
}

static void without_a_ring_nothing_is_written(void**) {
  Function& f = function();
  f.log.iova = 0;
  log_event(f, LogLevel::kError, WEFT_LOG_EVENT_PANIC);
  assert_int_equal(machine().dma_writes, 0);
}

static void the_ring_overwrites_its_oldest_record_and_the_sequence_goes_on(void**) {
  Function& f = function();
  for (uint32_t i = 0; i < WEFT_LIMIT_LOG_ENTRIES + 2; i++) log_event(f, LogLevel::kInfo, WEFT_LOG_EVENT_PANIC, i);
  assert_int_equal(record(0).sequence, WEFT_LIMIT_LOG_ENTRIES + 1);
  assert_int_equal(record(1).sequence, WEFT_LIMIT_LOG_ENTRIES + 2);
  assert_int_equal(record(2).sequence, 3);
  assert_int_equal(record(WEFT_LIMIT_LOG_ENTRIES - 1).sequence, WEFT_LIMIT_LOG_ENTRIES);
}

static void a_bus_error_switches_the_log_off(void**) {
  Function& f = function();
  machine().fail_dma_after = 0;
  log_event(f, LogLevel::kInfo, WEFT_LOG_EVENT_PANIC);
  log_event(f, LogLevel::kInfo, WEFT_LOG_EVENT_PANIC);
  assert_int_equal(machine().dma_writes, 1);
  assert_int_equal(f.log.iova, 0);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_record_holds_cycle_event_level_and_arguments, fresh),
      cmocka_unit_test_setup(a_level_beyond_the_one_wanted_costs_nothing, fresh),
      cmocka_unit_test_setup(without_a_ring_nothing_is_written, fresh),
      cmocka_unit_test_setup(the_ring_overwrites_its_oldest_record_and_the_sequence_goes_on, fresh),
      cmocka_unit_test_setup(a_bus_error_switches_the_log_off, fresh),
  };
  return cmocka_run_group_tests_name("firmware/admin/log", tests, nullptr, nullptr);
}
