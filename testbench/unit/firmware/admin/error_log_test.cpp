// GET_LOG: what the device counts of errors, also when the rings in host memory are gone.
#include "firmware/admin/error_log.hpp"

#include <cstring>
#include <initializer_list>
#include <vector>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;
using E = weft_submission_entry;

namespace {

constexpr uint64_t kPlace = kRings + 0x80000;
constexpr uint64_t kBytes = sizeof(weft_error_log) + WEFT_LIMIT_ERROR_LOG_ENTRIES * sizeof(weft_error_log_entry);

E get_log(uint64_t place = kPlace, uint64_t bytes = kBytes) {
  E e = entry(WEFT_ADMIN_OPCODE_GET_LOG, 50);
  e.arg0 = place;
  e.size = bytes;
  return e;
}

weft_error_log page() {
  weft_error_log log;
  std::memcpy(&log, machine().find(WEFT_ADDRESS_SPACE_HOST, kPlace, kBytes), sizeof log);
  return log;
}

weft_error_log_entry of(weft_error error) {
  weft_error_log_entry entry;
  std::memcpy(&entry,
              machine().find(WEFT_ADDRESS_SPACE_HOST, kPlace, kBytes) + sizeof(weft_error_log) + error * sizeof entry,
              sizeof entry);
  return entry;
}

}  // namespace

static void errors_are_counted_by_code_and_the_newest_is_named(void**) {
  Host host = boot();
  machine().script = {
      [&] { host.create(1, 16, 16); },
      [&] {
        E bad = entry(WEFT_QUEUE_OPCODE_NOP, 5);
        bad.arg0 = 1;
        bad.tag = 77;
        host.put(1, bad);
        host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 6));
        bad.tag = 78;
        host.put(1, bad);
        host.ring(1);
      },
      [&] { machine().ring(1, 100); },
      [&] { host.submit(0, get_log()); },
  };
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
  const weft_error_log log = page();
  assert_int_equal(log.completed, 4);  // CREATE_QUEUE and three on queue 1; the page is written before its own end
  assert_int_equal(log.failed, 2);
  assert_int_equal(log.halted, 1);
  assert_int_equal(log.unknown, 0);
  assert_int_equal(log.fault_records, 3);
  assert_int_equal(log.log_lost + log.fault_lost, 0);
  assert_int_equal(log.events, 2);
  assert_int_equal(log.events_waiting, 1u << WEFT_ASYNC_EVENT_QUEUE_HALTED | 1u << WEFT_ASYNC_EVENT_UNIT_ERROR);
  const weft_error_log_entry bad = of(WEFT_ERROR_BAD_DESCRIPTOR);
  assert_int_equal(bad.count, 2);
  assert_int_equal(bad.tag, 78);
  assert_int_equal(bad.command_id, 5);
  assert_int_equal(bad.queue_id, 1);
  assert_true(bad.cycle != 0 && bad.cycle < log.cycle);
  assert_int_equal(of(WEFT_ERROR_BAD_DOORBELL).count, 1);
  assert_int_equal(of(WEFT_ERROR_BAD_DOORBELL).command_id, 0);
  for (const auto never : {WEFT_ERROR_OK, WEFT_ERROR_DMA_FAULT, WEFT_ERROR_INTERNAL}) {
    const weft_error_log_entry none = of(never);
    assert_int_equal(none.count + none.cycle + none.tag + none.command_id + none.queue_id, 0);
  }
}

static void a_log_that_cannot_be_written_is_told_and_what_it_loses_is_counted(void**) {
  Host host = boot();
  machine().script = {
      [&] { host.create(1, 4, 4); },
      [&] {
        host.drain(0);
        machine().fail_dma_after = 1;  // the fetch, then the log record
        host.create(2, 4, 4);
      },
      [&] { host.create(3, 4, 4); },
      [&] { host.submit(0, entry(WEFT_ADMIN_OPCODE_ASYNC_EVENT, 60)); },
      [&] {
        const auto done = host.drain(0);
        assert_int_equal(done.size(), 3);
        assert_int_equal(done[2].command_id, 60);
        assert_int_equal(done[2].start_cycle & 0xffff, WEFT_ASYNC_EVENT_LOG_OFF);
        host.submit(0, get_log());
      },
  };
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
  assert_int_equal(page().log_lost, 2);
  assert_int_equal(page().log_records, 4);  // three boot stages and queue 1
  assert_int_equal(page().fault_lost, 0);
}

static void a_place_that_is_too_small_unaligned_or_nobodys_is_refused(void**) {
  for (const E& e : {get_log(kPlace + 32), get_log(kPlace, kBytes - 1), get_log(~UINT64_C(63)), get_log(kPlace, 0)}) {
    Host host = boot();
    machine().script = {[&] { host.submit(0, e); },
                        [&] { assert_int_equal(CODE(host.drain(0).at(0)), WEFT_ERROR_INVALID_ARGUMENT); }};
    run_firmware();
    assert_int_equal(machine().script_next, 2);
  }
}

static void a_bus_error_under_the_page_ends_the_command_with_dma_fault(void**) {
  for (const int failing : {1, 2}) {  // after the fetch: the head, then the entries
    Host host = boot();
    machine().script = {[&] {
                          machine().fail_dma_after = failing;
                          host.submit(0, get_log());
                        },
                        [&] { assert_int_equal(CODE(host.drain(0).at(0)), WEFT_ERROR_DMA_FAULT); }};
    run_firmware();
    assert_int_equal(machine().script_next, 2);
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(errors_are_counted_by_code_and_the_newest_is_named),
      cmocka_unit_test(a_log_that_cannot_be_written_is_told_and_what_it_loses_is_counted),
      cmocka_unit_test(a_place_that_is_too_small_unaligned_or_nobodys_is_refused),
      cmocka_unit_test(a_bus_error_under_the_page_ends_the_command_with_dma_fault),
  };
  return cmocka_run_group_tests_name("firmware/error_log", tests, nullptr, nullptr);
}
