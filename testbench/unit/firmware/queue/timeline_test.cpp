// Timeline semaphores: waits and signals between queues and host, failure with its root cause, bounds.
#include "firmware/queue/timeline.hpp"

#include <cstring>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;
using E = weft_submission_entry;

namespace {

constexpr uint64_t kMirror = kHostBase + 0x280000;
constexpr uint16_t kSemaphore = 5;

E admin(uint8_t opcode, uint64_t value, uint64_t id = kSemaphore, uint64_t mirror = 0) {
  E e = entry(opcode);
  e.arg0 = value;
  e.arg1 = mirror;
  e.size = id;
  return e;
}
E create(uint64_t value, uint64_t id = kSemaphore, uint64_t mirror = 0) {
  return admin(WEFT_ADMIN_OPCODE_CREATE_TIMELINE, value, id, mirror);
}
E host_signal(uint64_t value, uint64_t id = kSemaphore) { return admin(WEFT_ADMIN_OPCODE_SIGNAL_TIMELINE, value, id); }
/// For a command that the host has ended with `error`, and which owed the value.
E host_fail(uint64_t value, uint64_t root, uint64_t error = WEFT_ERROR_ABORTED_BY_RESET, uint64_t id = kSemaphore) {
  return admin(WEFT_ADMIN_OPCODE_SIGNAL_TIMELINE, value, id | error << 32, root);
}
constexpr uint64_t command(uint16_t id, uint64_t queue, uint64_t tag) { return id | queue << 16 | tag << 32; }

E wait(uint16_t command, uint64_t value, uint16_t id = kSemaphore) {
  E e = entry(WEFT_QUEUE_OPCODE_WAIT, command);
  e.wait_id = id;
  e.wait_value = value;
  return e;
}
E signal(uint16_t command, uint64_t value, uint16_t id = kSemaphore, uint8_t opcode = WEFT_QUEUE_OPCODE_SIGNAL) {
  E e = entry(opcode, command);
  e.signal_id = id;
  e.signal_value = value;
  return e;
}
weft_timeline_mirror mirror() {
  weft_timeline_mirror m;
  std::memcpy(&m, machine().find(WEFT_ADDRESS_SPACE_HOST, kMirror, sizeof m), sizeof m);
  return m;
}

/// Queues 1 and 2 of 16 entries, semaphore 5 at 10 with its mirror.
struct Bench {
  Host host = boot();
  Bench() {
    machine().script = {[&] {
                          host.create(1, 16, 16);
                          host.create(2, 16, 16);
                          host.submit(0, create(10, kSemaphore, kMirror));
                        },
                        [&] { check_admin(3, WEFT_ERROR_OK); }};
  }
  void check_admin(size_t count, weft_error error) {
    const auto done = host.drain(0);
    assert_int_equal(done.size(), count);
    for (const auto& c : done) assert_int_equal(CODE(c), error);
  }
  void step(std::function<void()> act) { machine().script.push_back(std::move(act)); }
  void run() {
    const size_t steps = machine().script.size();
    run_firmware();
    assert_int_equal(machine().script_next, steps);
    assert_false(machine().hung);
  }
};

}  // namespace

static void a_wait_holds_its_queue_until_another_queue_signals(void**) {
  Bench b;
  b.step([&] {
    b.host.put(1, wait(1, 12));
    b.host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 2));
    b.host.ring(1);
  });
  b.step([&] {
    assert_int_equal(b.host.drain(1).size(), 0);
    b.host.put(2, signal(3, 11));
    b.host.ring(2);
  });
  b.step([&] {
    assert_int_equal(b.host.drain(1).size(), 0);  // 11 is not enough
    assert_int_equal(b.host.drain(2).size(), 1);
    assert_int_equal(mirror().value, 11);
    b.host.submit(2, signal(4, 1000, kSemaphore, WEFT_QUEUE_OPCODE_NOP));  // any opcode signals
  });
  b.step([&] {
    const auto one = b.host.drain(1), two = b.host.drain(2);
    assert_int_equal(one.size(), 2);
    assert_int_equal(CODE(one[0]), WEFT_ERROR_OK);
    assert_true(one[0].end_cycle > two.at(0).end_cycle);
    assert_int_equal(mirror().value, 1000);
    assert_int_equal(mirror().failed, 0);
  });
  b.run();
}

static void the_host_signals_too_and_values_have_64_bits(void**) {
  Bench b;
  b.step([&] { b.host.submit(1, wait(1, UINT64_MAX)); });
  b.step([&] { b.host.submit(0, host_signal(UINT64_C(1) << 63)); });
  b.step([&] {
    b.check_admin(1, WEFT_ERROR_OK);
    assert_int_equal(b.host.drain(1).size(), 0);
    b.host.submit(0, host_signal(UINT64_MAX));
  });
  b.step([&] {
    b.check_admin(1, WEFT_ERROR_OK);
    assert_int_equal(CODE(b.host.drain(1).at(0)), WEFT_ERROR_OK);
    b.host.submit(0, host_signal(UINT64_MAX));
  });
  b.step([&] { b.check_admin(1, WEFT_ERROR_INVALID_ARGUMENT); });
  b.run();
}

static void a_value_that_is_there_holds_nobody_back(void**) {
  Bench b;
  b.step([&] {
    for (uint16_t id = 1; id <= 3; id++) b.host.put(1, wait(id, 8 + id - 1));
    b.host.ring(1);
  });
  b.step([&] { assert_int_equal(b.host.drain(1).size(), 3); });
  b.run();
}

static void a_failed_producer_fails_whoever_waits_and_whoever_waits_for_those(void**) {
  Bench b;
  b.step([&] {
    b.host.put(0, create(0, 6));
    b.host.submit(0, create(0, 7));
  });
  b.step([&] {
    E middle = wait(1, 11);  // waits for 5, owes 6
    middle.signal_id = 6;
    middle.signal_value = 1;
    b.host.put(1, middle);
    b.host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 2));
    b.host.ring(1);
    E bad = signal(3, 11, kSemaphore, WEFT_QUEUE_OPCODE_COPY);  // a copy of nothing
    b.host.submit(2, bad);
  });
  b.step([&] {
    assert_int_equal(CODE(b.host.drain(2).at(0)), WEFT_ERROR_INVALID_ARGUMENT);
    const auto one = b.host.drain(1);
    assert_int_equal(CODE(one.at(0)), WEFT_ERROR_DEPENDENCY_FAILED);
    assert_int_equal(CODE(one.at(1)), WEFT_ERROR_OK);
    const auto root =
        weft::fw::root_of({WEFT_ERROR_DEPENDENCY_FAILED, b.host.fault(2).detail0, b.host.fault(2).detail1});
    assert_true(root.queue == 2 && root.command_id == 3 && root.tag == 0x1003);
    assert_int_equal(root.error, WEFT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(mirror().failed, 1);
    assert_int_equal(mirror().value, 10);
    assert_int_equal(mirror().root & 0xffff, 3);
    b.host.put(2, wait(4, 1, 6));  // the second semaphore names the same root
    b.host.put(2, wait(5, 10));    // what was reached before stays reached
    b.host.put(2, signal(6, 50));  // and nothing more is: the signal goes nowhere
    b.host.put(2, wait(7, 50));
    b.host.ring(2);
    b.host.drain(0);
    b.host.submit(0, host_signal(60));
  });
  b.step([&] {
    const auto two = b.host.drain(2);
    const weft_error expected[] = {WEFT_ERROR_DEPENDENCY_FAILED, WEFT_ERROR_OK, WEFT_ERROR_OK,
                                   WEFT_ERROR_DEPENDENCY_FAILED};
    for (size_t i = 0; i < 4; i++) assert_int_equal(CODE(two.at(i)), expected[i]);
    assert_int_equal(b.host.fault(3).detail0 & 0xffff, 3);
    b.check_admin(1, WEFT_ERROR_DEPENDENCY_FAILED);
  });
  b.run();
}

static void the_host_fails_a_semaphore_for_a_command_that_it_has_ended(void**) {
  Bench b;
  constexpr uint64_t kRoot = command(0x3007, 2, 0xabcd1234);
  b.step([&] { b.host.submit(1, wait(1, 12)); });
  b.step([&] {
    b.host.submit(0, host_fail(10, kRoot));  // somebody else has raised it to the value by now
  });
  b.step([&] {
    b.check_admin(1, WEFT_ERROR_OK);
    assert_int_equal(mirror().failed, 0);
    assert_int_equal(b.host.drain(1).size(), 0);
    b.host.submit(0, host_fail(11, kRoot));
  });
  b.step([&] {
    b.check_admin(1, WEFT_ERROR_OK);
    assert_int_equal(mirror().failed, 1);
    assert_int_equal(mirror().value, 10);
    assert_true(mirror().root == kRoot);
    assert_int_equal(mirror().error, WEFT_ERROR_ABORTED_BY_RESET);
    assert_int_equal(CODE(b.host.drain(1).at(0)), WEFT_ERROR_DEPENDENCY_FAILED);
    assert_true(b.host.fault(1).detail0 == kRoot);
    assert_int_equal(b.host.fault(1).detail1, WEFT_ERROR_ABORTED_BY_RESET);
    b.host.submit(0, host_fail(13, command(1, 1, 1), WEFT_ERROR_BAD_DOORBELL));  // the first failure is the root cause
  });
  b.step([&] {
    b.check_admin(1, WEFT_ERROR_OK);
    b.host.submit(1, wait(2, 11));
    b.host.submit(0, host_signal(20));
  });
  b.step([&] {
    b.check_admin(1, WEFT_ERROR_DEPENDENCY_FAILED);
    assert_int_equal(CODE(b.host.drain(1).at(0)), WEFT_ERROR_DEPENDENCY_FAILED);
    assert_true(b.host.fault(2).detail0 == kRoot);
    assert_int_equal(b.host.fault(2).detail1, WEFT_ERROR_ABORTED_BY_RESET);
  });
  b.run();
}

static void a_semaphore_is_failed_by_its_function_alone(void**) {
  reset();
  machine().functions = 2;
  Host first(0), second(1);
  machine().script = {
      [&] { first.submit(0, create(0, kSemaphore, kMirror)); },
      [&] {
        assert_int_equal(CODE(first.drain(0).at(0)), WEFT_ERROR_OK);
        second.submit(0, host_fail(1, command(1, 1, 0)));
      },
      [&] {
        assert_int_equal(CODE(second.drain(0).at(0)), WEFT_ERROR_INVALID_ARGUMENT);
        first.submit(0, host_signal(1));
      },
      [&] {
        assert_int_equal(CODE(first.drain(0).at(0)), WEFT_ERROR_OK);
        assert_int_equal(mirror().value, 1);
        assert_int_equal(mirror().failed, 0);
      },
  };
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
}

static void a_failure_with_wrong_fields_is_refused_and_fails_nothing(void**) {
  Bench b;
  constexpr uint64_t kRoot = command(1, 1, 0);
  E waits = host_fail(11, kRoot);
  waits.wait_id = kSemaphore;
  E raises = host_signal(11);
  raises.arg1 = kRoot;
  const std::vector<std::pair<E, weft_error>> wrong = {
      {host_fail(11, kRoot, WEFT_ERROR_INTERNAL + 1), WEFT_ERROR_INVALID_ARGUMENT},
      {host_fail(11, kRoot, UINT32_MAX), WEFT_ERROR_INVALID_ARGUMENT},
      {host_fail(11, kRoot, WEFT_ERROR_CANCELLED, 0), WEFT_ERROR_INVALID_ARGUMENT},
      {host_fail(11, kRoot, WEFT_ERROR_CANCELLED, 6), WEFT_ERROR_INVALID_ARGUMENT},
      {host_fail(11, kRoot, WEFT_ERROR_CANCELLED, 65), WEFT_ERROR_INVALID_ARGUMENT},
      {host_fail(11, kRoot, WEFT_ERROR_CANCELLED, UINT64_C(0x10005)), WEFT_ERROR_INVALID_ARGUMENT},
      {host_fail(11, command(1, 0, 0)), WEFT_ERROR_INVALID_ARGUMENT},
      {host_fail(11, command(1, weft::fw::kQueues, 0)), WEFT_ERROR_INVALID_ARGUMENT},
      {host_fail(11, command(1, 0x101, 0)), WEFT_ERROR_INVALID_ARGUMENT},
      {raises, WEFT_ERROR_INVALID_ARGUMENT},
      {waits, WEFT_ERROR_BAD_DESCRIPTOR},
  };
  b.step([&] {
    for (const auto& [e, error] : wrong) b.host.put(0, e);
    b.host.ring(0);
  });
  b.step([&] {
    const auto ended = b.host.drain(0);
    assert_int_equal(ended.size(), wrong.size());
    for (size_t i = 0; i < wrong.size(); i++) assert_int_equal(CODE(ended[i]), wrong[i].second);
    assert_int_equal(mirror().failed, 0);
    b.host.submit(0, host_signal(11));
  });
  b.step([&] { b.check_admin(1, WEFT_ERROR_OK); });
  b.run();
}

static void two_queues_that_wait_for_each_other_leave_the_device_idle_and_can_be_aborted(void**) {
  Bench b;
  uint64_t waits = 0;
  b.step([&] { b.host.submit(0, create(0, 6)); });
  b.step([&] {
    b.host.put(1, wait(1, 1, 6));
    b.host.put(1, signal(2, 11));
    b.host.put(2, wait(1, 11));
    b.host.put(2, signal(2, 1, 6));
    b.host.ring(1), b.host.ring(2);
  });
  b.step([&] {
    waits = machine().waits;
    assert_int_equal(b.host.drain(1).size() + b.host.drain(2).size(), 0);
    E abort = entry(WEFT_ADMIN_OPCODE_ABORT);
    abort.arg0 = 1;
    abort.arg1 = 1;
    b.host.submit(0, abort);
  });
  b.step([&] {  // the wait is cancelled; its queue's signal frees the other
    const auto one = b.host.drain(1), two = b.host.drain(2);
    assert_int_equal(CODE(one.at(0)), WEFT_ERROR_CANCELLED);
    assert_int_equal(CODE(one.at(1)), WEFT_ERROR_OK);
    assert_int_equal(CODE(two.at(0)), WEFT_ERROR_OK);
    assert_int_equal(CODE(two.at(1)), WEFT_ERROR_OK);
    assert_true(machine().waits < waits + 10);  // it slept, it did not spin
  });
  b.run();
}

static void a_wait_with_a_budget_ends_with_it(void**) {
  Bench b;
  uint64_t begin = 0;
  b.step([&] {
    E e = wait(1, 11);
    e.budget_kcycles = 50;
    begin = machine().now;
    b.host.put(1, e);
    b.host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 2));
    b.host.ring(1);
  });
  b.step([&] {
    const auto one = b.host.drain(1);
    assert_int_equal(CODE(one.at(0)), WEFT_ERROR_BUDGET_EXCEEDED);
    assert_true(one[0].end_cycle - begin > 50000 && one[0].end_cycle - begin < 60000);
    assert_int_equal(CODE(one.at(1)), WEFT_ERROR_OK);
  });
  b.run();
}

static void a_semaphore_that_grew_meanwhile_is_a_semaphore_fault(void**) {
  Bench b;
  b.step([&] {
    machine().copy_never_ends = true;
    E fill = signal(1, 11, kSemaphore, WEFT_QUEUE_OPCODE_FILL);
    fill.arg1 = UINT64_C(1) << 63 | kData;
    fill.size = 64;
    b.host.submit(1, fill);
    b.host.submit(2, signal(2, 20));
    machine().at_cycle[machine().now + 20000] = [] { machine().copy_never_ends = false; };
  });
  b.step([&] {
    assert_int_equal(CODE(b.host.drain(2).at(0)), WEFT_ERROR_OK);
    assert_int_equal(CODE(b.host.drain(1).at(0)), WEFT_ERROR_SEMAPHORE_FAULT);
    assert_int_equal(b.host.fault(1).detail0, kSemaphore);
    assert_int_equal(b.host.fault(1).detail1, 20);
    assert_int_equal(mirror().value, 20);
  });
  b.run();
}

static void wrong_semaphores_are_refused(void**) {
  Bench b;
  b.step([&] {
    for (const E& e : {wait(1, 1, 6), wait(2, 1, 65), signal(3, 1, 65535), signal(4, 10), signal(5, 9)})
      b.host.put(1, e);
    for (E e : {wait(6, 0, 0), signal(7, 0, 0)}) b.host.put(1, e);  // an opcode that needs one
    E value = entry(WEFT_QUEUE_OPCODE_NOP, 8);
    value.wait_value = 1;
    b.host.put(1, value);
    value.wait_value = 0;
    value.signal_value = 1;
    b.host.put(1, value);
    b.host.ring(1);
    for (const E& e :
         {create(0), create(0, 0), create(0, 65), create(0, 6, kMirror + 8), create(0, 6, UINT64_C(1) << 63),
          admin(WEFT_ADMIN_OPCODE_DELETE_TIMELINE, 0, 6), admin(WEFT_ADMIN_OPCODE_DELETE_TIMELINE, 0, 0),
          host_signal(11, 6), host_signal(11, 0), host_signal(10)})
      b.host.put(0, e);
    b.host.ring(0);
  });
  b.step([&] {
    const weft_error entries[] = {WEFT_ERROR_INVALID_ARGUMENT, WEFT_ERROR_INVALID_ARGUMENT, WEFT_ERROR_INVALID_ARGUMENT,
                                  WEFT_ERROR_INVALID_ARGUMENT, WEFT_ERROR_INVALID_ARGUMENT, WEFT_ERROR_BAD_DESCRIPTOR,
                                  WEFT_ERROR_BAD_DESCRIPTOR,   WEFT_ERROR_BAD_DESCRIPTOR,   WEFT_ERROR_BAD_DESCRIPTOR};
    const weft_error admins[] = {WEFT_ERROR_INVALID_STATE,    WEFT_ERROR_INVALID_ARGUMENT, WEFT_ERROR_INVALID_ARGUMENT,
                                 WEFT_ERROR_INVALID_ARGUMENT, WEFT_ERROR_INVALID_ARGUMENT, WEFT_ERROR_INVALID_STATE,
                                 WEFT_ERROR_INVALID_ARGUMENT, WEFT_ERROR_INVALID_ARGUMENT, WEFT_ERROR_INVALID_ARGUMENT,
                                 WEFT_ERROR_INVALID_ARGUMENT};
    const auto one = b.host.drain(1), zero = b.host.drain(0);
    for (size_t i = 0; i < 9; i++) assert_int_equal(CODE(one.at(i)), entries[i]);
    for (size_t i = 0; i < 10; i++) assert_int_equal(CODE(zero.at(i)), admins[i]);
  });
  b.run();
}

static void a_semaphore_that_is_waited_for_is_not_deleted_and_an_entry_behind_finds_it_gone(void**) {
  Bench b;
  b.step([&] { b.host.submit(0, create(0, 6)); });
  b.step([&] {
    b.check_admin(1, WEFT_ERROR_OK);
    b.host.put(1, wait(1, 11));
    b.host.put(1, wait(2, 1, 6));
    b.host.ring(1);
  });
  b.step([&] { b.host.submit(0, admin(WEFT_ADMIN_OPCODE_DELETE_TIMELINE, 0)); });
  b.step([&] {
    b.check_admin(1, WEFT_ERROR_BUSY);
    b.host.submit(0, admin(WEFT_ADMIN_OPCODE_DELETE_TIMELINE, 0, 6));
  });
  b.step([&] {
    b.check_admin(1, WEFT_ERROR_OK);
    b.host.submit(0, host_signal(11));
  });
  b.step([&] {
    const auto one = b.host.drain(1);
    assert_int_equal(CODE(one.at(0)), WEFT_ERROR_OK);
    assert_int_equal(CODE(one.at(1)), WEFT_ERROR_INVALID_ARGUMENT);
    b.host.drain(0);
    b.host.submit(0, admin(WEFT_ADMIN_OPCODE_DELETE_TIMELINE, 0));
  });
  b.step([&] { b.check_admin(1, WEFT_ERROR_OK); });
  b.run();
}

static void a_mirror_that_is_not_mapped_stops_nothing(void**) {
  Bench b;
  b.step([&] { b.host.submit(0, create(0, 6, kHostBase + kHostBytes)); });
  b.step([&] {
    b.host.put(1, signal(1, 1, 6));
    b.host.put(1, signal(2, 2, 6));
    b.host.ring(1);
  });
  b.step([&] {
    const auto one = b.host.drain(1);
    assert_int_equal(CODE(one.at(0)), WEFT_ERROR_OK);
    assert_int_equal(CODE(one.at(1)), WEFT_ERROR_OK);
  });
  b.run();
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_wait_holds_its_queue_until_another_queue_signals),
      cmocka_unit_test(the_host_signals_too_and_values_have_64_bits),
      cmocka_unit_test(a_value_that_is_there_holds_nobody_back),
      cmocka_unit_test(a_failed_producer_fails_whoever_waits_and_whoever_waits_for_those),
      cmocka_unit_test(the_host_fails_a_semaphore_for_a_command_that_it_has_ended),
      cmocka_unit_test(a_semaphore_is_failed_by_its_function_alone),
      cmocka_unit_test(a_failure_with_wrong_fields_is_refused_and_fails_nothing),
      cmocka_unit_test(two_queues_that_wait_for_each_other_leave_the_device_idle_and_can_be_aborted),
      cmocka_unit_test(a_wait_with_a_budget_ends_with_it),
      cmocka_unit_test(a_semaphore_that_grew_meanwhile_is_a_semaphore_fault),
      cmocka_unit_test(wrong_semaphores_are_refused),
      cmocka_unit_test(a_semaphore_that_is_waited_for_is_not_deleted_and_an_entry_behind_finds_it_gone),
      cmocka_unit_test(a_mirror_that_is_not_mapped_stops_nothing),
  };
  return cmocka_run_group_tests_name("firmware/timeline", tests, nullptr, nullptr);
}
