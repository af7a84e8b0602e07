// Interrupt coalescing by count and by time.
#include "firmware/queue/coalesce.hpp"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;
using E = weft_submission_entry;

namespace {

E coalesce(uint64_t count, uint64_t cycles, uint64_t queue = 1) {
  E e = entry(WEFT_ADMIN_OPCODE_SET_COALESCING);
  e.arg0 = count;
  e.arg1 = cycles;
  e.size = queue;
  return e;
}

E loud(uint16_t id) {
  E e = entry(WEFT_QUEUE_OPCODE_NOP, id);
  e.flags = WEFT_SUBMISSION_FLAG_INTERRUPT;
  return e;
}

size_t raised() {
  return static_cast<size_t>(std::count(machine().interrupts.begin(), machine().interrupts.end(), 1u));
}

}  // namespace

static void one_interrupt_stands_for_so_many_completions_and_the_timer_for_the_rest(void**) {
  Host host = boot();
  uint64_t begin = 0, seen_at = 0;
  machine().script = {[&] {
                        host.create(1, 16, 16);
                        host.submit(0, coalesce(4, 100000));
                      },
                      [&] {
                        begin = machine().now;
                        for (uint16_t id = 0; id < 10; id++) host.put(1, loud(id));
                        host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 10));  // asks for none, and counts for none
                        host.ring(1);
                        machine().at_cycle[begin + 50000] = [&] { assert_int_equal(raised(), 2); };
                      },
                      [&] {
                        seen_at = machine().now;
                        assert_int_equal(host.drain(1).size(), 11);
                        assert_int_equal(raised(), 3);
                      }};
  run_firmware();
  assert_int_equal(machine().script_next, 3);
  assert_in_range(seen_at - begin, 100000, 125000);
}

static void without_it_each_completion_raises_its_own(void**) {
  for (const uint64_t count : {0u, 1u}) {
    Host host = boot();
    machine().script = {[&] {
                          host.create(1, 16, 16);
                          host.submit(0, coalesce(count, 100000));
                        },
                        [&] {
                          for (uint16_t id = 0; id < 5; id++) host.put(1, loud(id));
                          host.ring(1);
                        },
                        [&] { assert_int_equal(raised(), 5); }};
    run_firmware();
    assert_int_equal(machine().script_next, 3);
  }
}

static void what_is_held_back_comes_before_a_change_or_the_end_of_the_queue(void**) {
  for (const bool deletes : {false, true}) {
    Host host = boot();
    machine().script = {[&] {
                          host.create(1, 16, 16);
                          host.submit(0, coalesce(8, 1'000'000));
                        },
                        [&] {
                          host.submit(1, loud(1));
                          machine().at_cycle[machine().now + 20000] = [&, deletes] {
                            assert_int_equal(raised(), 0);
                            E gone = entry(WEFT_ADMIN_OPCODE_DELETE_QUEUE);
                            gone.size = 1;
                            host.submit(0, deletes ? gone : coalesce(2, 500000));
                          };
                          machine().at_cycle[machine().now + 40000] = [&] { assert_int_equal(raised(), 1); };
                        },
                        [&] { assert_int_equal(raised(), 1); }};
    run_firmware();
    assert_int_equal(machine().script_next, 3);
  }
}

static void wrong_settings_are_refused(void**) {
  Host host = boot();
  machine().script = {[&] {
                        host.create(1, 16, 16);
                        for (const E& e : {coalesce(2, 0), coalesce(17, 1000), coalesce(2, UINT64_C(1) << 32),
                                           coalesce(2, 1000, 0), coalesce(2, 1000, 17), coalesce(2, 1000, 2)})
                          host.put(0, e);
                        host.put(0, coalesce(16, UINT32_MAX));
                        host.ring(0);
                      },
                      [&] {
                        const auto done = host.drain(0);
                        for (size_t i = 1; i <= 5; i++) assert_int_equal(CODE(done.at(i)), WEFT_ERROR_INVALID_ARGUMENT);
                        assert_int_equal(CODE(done.at(6)), WEFT_ERROR_INVALID_STATE);
                        assert_int_equal(CODE(done.at(7)), WEFT_ERROR_OK);
                      }};
  run_firmware();
  assert_int_equal(machine().script_next, 2);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(one_interrupt_stands_for_so_many_completions_and_the_timer_for_the_rest),
      cmocka_unit_test(without_it_each_completion_raises_its_own),
      cmocka_unit_test(what_is_held_back_comes_before_a_change_or_the_end_of_the_queue),
      cmocka_unit_test(wrong_settings_are_refused),
  };
  return cmocka_run_group_tests_name("firmware/coalesce", tests, nullptr, nullptr);
}
