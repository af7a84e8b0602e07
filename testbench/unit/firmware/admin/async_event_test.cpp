// ASYNC_EVENT: listeners wait outside of their queue, news is kept until somebody listens, and cancelling ends them.
#include "firmware/admin/async_event.hpp"

#include <initializer_list>
#include <vector>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;
using E = weft_submission_entry;

namespace {

constexpr uint64_t kAll = 0x10000;

E listener(uint16_t id) {
  E e = entry(WEFT_ADMIN_OPCODE_ASYNC_EVENT, id);
  e.flags = WEFT_SUBMISSION_FLAG_INTERRUPT;
  return e;
}

E cancel(uint64_t id) {
  E e = entry(WEFT_ADMIN_OPCODE_ABORT, 900);
  e.arg1 = id;
  return e;
}

uint64_t news(weft_async_event event, uint64_t queue, uint64_t error) { return event | queue << 16 | error << 32; }

/// Halts queue 1, which has 4 entries.
void halt_queue_1() { machine().ring(1, 100); }

}  // namespace

static void a_listener_ends_with_the_news_and_entries_behind_it_do_not_wait(void**) {
  Host host = boot();
  uint64_t before = 0;
  machine().script = {
      [&] { host.create(1, 4, 4); },
      [&] {
        host.drain(0);
        host.put(0, listener(7));
        E level = entry(WEFT_ADMIN_OPCODE_SET_LOG_LEVEL, 8);
        level.size = 2;
        host.submit(0, level);
      },
      [&] {
        const auto done = host.drain(0);
        assert_int_equal(done.size(), 1);
        assert_int_equal(done[0].command_id, 8);
        before = machine().now;
        machine().interrupts.clear();
        halt_queue_1();
      },
      [&] {
        const auto done = host.drain(0);
        assert_int_equal(done.size(), 1);
        assert_int_equal(done[0].command_id, 7);
        assert_int_equal(CODE(done[0]), WEFT_ERROR_OK);
        assert_true(done[0].start_cycle == news(WEFT_ASYNC_EVENT_QUEUE_HALTED, 1, WEFT_ERROR_BAD_DOORBELL));
        assert_true(done[0].end_cycle >= before && done[0].end_cycle < machine().now);
        assert_false(machine().interrupts.empty());
        assert_int_equal(machine().interrupts.back(), 0);
      },
  };
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
}

static void news_is_kept_for_who_listens_later_the_newest_of_each_kind_once(void**) {
  Host host = boot();
  machine().script = {
      [&] {
        host.create(1, 4, 4);
        host.create(2, 4, 4);
      },
      [&] { halt_queue_1(); },
      [&] { machine().ring(2, 100); },
      [&] {
        host.drain(0);
        for (const uint16_t id : {11, 12, 13}) host.put(0, listener(id));
        host.ring(0);
      },
      [&] {
        const auto done = host.drain(0);
        assert_int_equal(done.size(), 2);
        assert_int_equal(done[0].command_id, 11);
        assert_true(done[0].start_cycle == news(WEFT_ASYNC_EVENT_QUEUE_HALTED, 2, WEFT_ERROR_BAD_DOORBELL));
        assert_int_equal(done[1].command_id, 12);
        assert_true(done[1].start_cycle == news(WEFT_ASYNC_EVENT_UNIT_ERROR, 0, WEFT_ERROR_BAD_DOORBELL));
      },
  };
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
}

static void a_listener_too_many_is_refused_and_the_others_stay(void**) {
  Host host = boot();
  machine().script = {
      [&] { host.create(1, 4, 4); },
      [&] {
        host.drain(0);
        for (uint16_t id = 1; id <= WEFT_LIMIT_ASYNC_EVENTS + 1; id++) host.put(0, listener(id));
        host.ring(0);
      },
      [&] {
        const auto done = host.drain(0);
        assert_int_equal(done.size(), 1);
        assert_int_equal(done[0].command_id, WEFT_LIMIT_ASYNC_EVENTS + 1);
        assert_int_equal(CODE(done[0]), WEFT_ERROR_QUEUE_FULL);
        halt_queue_1();
      },
      [&] { assert_int_equal(host.drain(0).size(), 2); },
  };
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
}

static void abort_ends_one_listener_or_all_and_says_when_there_is_none(void**) {
  Host host = boot();
  std::vector<uint16_t> cancelled;
  const auto take = [&](uint64_t found) {
    for (const auto& c : host.drain(0)) {
      if (c.command_id == 900) {
        assert_int_equal(CODE(c), WEFT_ERROR_OK);
        assert_true(found == 1 ? c.start_cycle == 1 : c.start_cycle == c.end_cycle);
        continue;
      }
      assert_int_equal(CODE(c), WEFT_ERROR_CANCELLED);
      cancelled.push_back(c.command_id);
    }
  };
  machine().script = {
      [&] {
        for (const uint16_t id : {1, 2, 3}) host.put(0, listener(id));
        host.ring(0);
      },
      [&] { host.submit(0, cancel(2)); },
      [&] {
        take(1);
        host.submit(0, cancel(2));
      },
      [&] {
        take(0);
        host.submit(0, cancel(kAll));
      },
      [&] { take(1); },
  };
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
  assert_true((cancelled == std::vector<uint16_t>{2, 1, 3}));
}

static void listeners_go_with_their_function_and_news_with_its_boot(void**) {
  reset();
  machine().functions = 2;
  Host first(0), second(1);
  machine().script = {
      [&] { first.create(1, 4, 4); },
      [&] {
        first.drain(0);
        second.submit(0, listener(21));
      },
      [&] { halt_queue_1(); },  // of function 0: no news of function 1
      [&] {
        assert_int_equal(second.drain(0).size(), 0);
        machine().requests = 1u << 1;
      },
      [&] { second = Host(1); },
      [&] { second.submit(0, listener(22)); },
      [&] { assert_int_equal(second.drain(0).size(), 0); },
  };
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_listener_ends_with_the_news_and_entries_behind_it_do_not_wait),
      cmocka_unit_test(news_is_kept_for_who_listens_later_the_newest_of_each_kind_once),
      cmocka_unit_test(a_listener_too_many_is_refused_and_the_others_stay),
      cmocka_unit_test(abort_ends_one_listener_or_all_and_says_when_there_is_none),
      cmocka_unit_test(listeners_go_with_their_function_and_news_with_its_boot),
  };
  return cmocka_run_group_tests_name("firmware/async_event", tests, nullptr, nullptr);
}
