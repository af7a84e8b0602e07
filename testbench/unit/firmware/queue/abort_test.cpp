// ABORT of what runs, waits for its engine, waits in the ring, has ended or never was: exactly one completion each.
#include "firmware/queue/abort.hpp"

#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "check.hpp"
#include "firmware/admin/admin.hpp"
#include "host_side.hpp"

using namespace mock;
using E = weft_submission_entry;

namespace {

constexpr uint64_t kAllBefore = 0x10000;
constexpr uint64_t kHbm = UINT64_C(1) << 63;

E abort_entry(uint64_t queue, uint64_t what, uint64_t index) {
  E e = entry(WEFT_ADMIN_OPCODE_ABORT);
  e.arg0 = queue;
  e.arg1 = what;
  e.size = index;
  return e;
}

/// Completions of the queues and of the admin queue, after one act while a long launch of queue 1 runs.
struct Run {
  Host host = boot();
  std::vector<weft_completion_entry> admin, one, two;
  uint64_t program = 0;

  /// `submit` puts entries; `act` runs 20000 cycles later.
  explicit Run(const std::function<void(Run&)>& submit, const std::function<void(Run&)>& act) {
    const auto image = make_image({500, 0, 0, 0, 0});
    place_image(image);
    make_list(0, 0);
    machine().script = {[&, bytes = image.size()] {
                          host.create(1, 64, 64);
                          host.create(2, 64, 64);
                          host.submit(0, load_entry(bytes));
                        },
                        [&] {
                          program = host.drain(0).at(2).start_cycle;
                          submit(*this);
                          machine().at_cycle[machine().now + 20000] = [&] { act(*this); };
                        },
                        [&] {
                          admin = host.drain(0);
                          one = host.drain(1);
                          two = host.drain(2);
                        }};
    run_firmware();
    assert_int_equal(machine().script_next, 3);
    assert_false(machine().hung);
  }
  void launch(uint16_t id) { host.put(1, launch_entry(program, kLists, id)); }
};

}  // namespace

static void a_running_launch_ends_at_once_and_the_next_one_is_whole(void**) {
  Run r(
      [](Run& run) {
        run.launch(1), run.launch(2);
        run.host.ring(1);
      },
      [](Run& run) { run.host.submit(0, abort_entry(1, 1, 0)); });
  assert_int_equal(r.one.size(), 2);
  assert_int_equal(r.one[0].command_id, 1);
  assert_int_equal(CODE(r.one[0]), WEFT_ERROR_CANCELLED);
  assert_true(r.one[0].end_cycle - r.one[0].start_cycle < 30000);
  assert_int_equal(CODE(r.one[1]), WEFT_ERROR_OK);
  assert_int_equal(r.admin.at(0).start_cycle, 1);
  assert_int_equal(machine().registers[WEFT_REG_FIRST_ERROR], WEFT_ERROR_OK);  // a wish is no error of the device
}

static void an_entry_behind_it_ends_in_its_turn(void**) {
  Run r(
      [](Run& run) {
        run.launch(1);
        for (uint16_t id = 2; id <= 40; id++) run.host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, id));
        run.host.ring(1);
      },
      [](Run& run) {  // one in the batch that was fetched, one far behind it
        run.host.put(0, abort_entry(1, 3, 2));
        run.host.submit(0, abort_entry(1, 38, 37));
      });
  assert_int_equal(r.one.size(), 40);
  for (uint16_t i = 0; i < 40; i++) {
    assert_int_equal(r.one[i].command_id, i + 1);
    assert_int_equal(CODE(r.one[i]), i == 2 || i == 37 ? WEFT_ERROR_CANCELLED : WEFT_ERROR_OK);
  }
}

static void an_entry_that_waits_for_the_core_gives_up_its_place(void**) {
  Run r(
      [](Run& run) {
        run.launch(1);
        run.host.ring(1);
        run.host.put(2, launch_entry(run.program, kLists, 7));
        run.host.submit(2, entry(WEFT_QUEUE_OPCODE_NOP, 8));
      },
      [](Run& run) { run.host.submit(0, abort_entry(2, 7, 0)); });
  assert_int_equal(CODE(r.one.at(0)), WEFT_ERROR_OK);
  assert_int_equal(CODE(r.two.at(0)), WEFT_ERROR_CANCELLED);
  assert_int_equal(CODE(r.two.at(1)), WEFT_ERROR_OK);
  assert_true(r.two[1].end_cycle < r.one[0].end_cycle);
}

static void everything_before_an_index_ends_and_nothing_behind_it(void**) {
  Run r(
      [](Run& run) {
        run.launch(1);
        for (uint16_t id = 2; id <= 40; id++) run.host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, id));
        run.host.ring(1);
      },
      [](Run& run) { run.host.submit(0, abort_entry(1, kAllBefore, 35)); });
  assert_int_equal(r.one.size(), 40);
  for (uint16_t i = 0; i < 40; i++) assert_int_equal(CODE(r.one[i]), i < 35 ? WEFT_ERROR_CANCELLED : WEFT_ERROR_OK);
}

static void a_running_copy_ends_at_once_even_if_its_engine_never_answers(void**) {
  Host host = boot();
  E fill = entry(WEFT_QUEUE_OPCODE_FILL, 1);
  fill.arg1 = kHbm | kData;
  fill.size = 8;
  uint64_t asked = 0, ended = 0;
  machine().script = {[&] { host.create(1, 8, 8); },
                      [&] {
                        machine().copy_never_ends = true;
                        host.submit(1, fill);
                        machine().at_cycle[machine().now + 20000] = [&] {
                          asked = machine().now;
                          host.submit(0, abort_entry(1, 1, 0));
                        };
                      },
                      [&] {
                        ended = machine().now;
                        assert_int_equal(CODE(host.drain(1).at(0)), WEFT_ERROR_CANCELLED);
                        assert_int_equal(machine().copies_aborted, 1);
                        machine().copy_never_ends = false;
                        fill.command_id = 2;
                        host.submit(1, fill);  // the engine is free again
                      },
                      [&] { assert_int_equal(CODE(host.drain(1).at(0)), WEFT_ERROR_OK); }};
  run_firmware();
  assert_int_equal(machine().script_next, 4);
  assert_in_range(ended - asked, 1, 100000);
}

static void a_copy_that_has_moved_its_last_byte_is_not_cancelled(void**) {
  reset();
  const auto state = std::make_unique<weft::fw::State>();
  open_pair(state->functions[0], 1, kRings, 8, kRings + 0x10000, 8);
  weft::fw::Queue& queue = state->functions[0].queues[1];
  queue.in_flight = true;
  queue.head = queue.tail = 1;
  state->copy.active = true;
  state->copy.queue = 1;
  state->copy.remaining_bytes = state->copy.piece_bytes = 64;
  machine().copy_outcome = 1;
  uint64_t found = 9;
  assert_true(weft::fw::abort_command(*state, state->functions[0], abort_entry(1, 0, 0), &found).ok());
  assert_int_equal(found, 0);
  const auto& c =
      *reinterpret_cast<weft_completion_entry*>(machine().find(WEFT_ADDRESS_SPACE_HOST, kRings + 0x10000, 32));
  assert_int_equal(CODE(c), WEFT_ERROR_OK);
}

static void what_has_ended_or_is_another_command_is_left_alone(void**) {
  Run r(
      [](Run& run) {
        run.host.submit(2, entry(WEFT_QUEUE_OPCODE_NOP, 5));
        run.launch(1);
        run.host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 2));
        run.host.ring(1);
      },
      [](Run& run) {
        run.host.put(0, abort_entry(2, 5, 0));      // it has ended
        run.host.put(0, abort_entry(1, 9, 0));      // runs, but is command 1
        run.host.submit(0, abort_entry(1, 99, 1));  // index of command 2
      });
  assert_int_equal(CODE(r.one.at(0)), WEFT_ERROR_OK);
  assert_int_equal(CODE(r.one.at(1)), WEFT_ERROR_OK);
  assert_int_equal(CODE(r.two.at(0)), WEFT_ERROR_OK);
  assert_int_equal(r.two.size(), 1);
  for (const auto& c : r.admin) assert_int_equal(CODE(c), WEFT_ERROR_OK);
  assert_true(r.admin.at(0).start_cycle != 1 && r.admin.at(1).start_cycle != 1);
}

static void wrong_aborts_are_refused(void**) {
  Run r([](Run& run) { run.launch(1), run.host.ring(1); },
        [](Run& run) {
          run.host.put(0, abort_entry(0, 1, 0));  // an admin command that does not wait
          run.host.put(0, abort_entry(17, 1, 0));
          run.host.put(0, abort_entry(3, 1, 0));  // never created
          run.host.put(0, abort_entry(1, 0x20001, 0));
          run.host.put(0, abort_entry(1, 1, UINT64_C(1) << 32));
          run.host.put(0, abort_entry(1, 2, 1));  // the doorbell has not reached it
          run.host.submit(0, abort_entry(1, kAllBefore, 2));
        });
  const weft_error expected[] = {WEFT_ERROR_OK,
                                 WEFT_ERROR_INVALID_ARGUMENT,
                                 WEFT_ERROR_INVALID_STATE,
                                 WEFT_ERROR_INVALID_ARGUMENT,
                                 WEFT_ERROR_INVALID_ARGUMENT,
                                 WEFT_ERROR_INVALID_ARGUMENT,
                                 WEFT_ERROR_INVALID_ARGUMENT};
  for (size_t i = 0; i < 7; i++) assert_int_equal(CODE(r.admin.at(i)), expected[i]);
  assert_int_equal(CODE(r.one.at(0)), WEFT_ERROR_OK);
}

static void marks_run_out_and_come_back(void**) {
  Run r(
      [](Run& run) {
        machine().core.service_cycles[0] = 1000;
        run.launch(1);
        for (uint16_t id = 2; id <= 60; id++) run.host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, id));
        run.host.ring(1);
      },
      [](Run& run) {
        for (uint16_t i = 0; i < 31; i++) run.host.put(0, abort_entry(1, 2 + i, 1 + i));
        run.host.ring(0);
        machine().at_cycle[machine().now + 60000] = [&run] {
          assert_int_equal(run.host.drain(0).size(), 31);
          run.host.put(0, abort_entry(1, 33, 32));
          run.host.submit(0, abort_entry(1, 34, 33));
        };
      });
  assert_int_equal(r.admin.size(), 2);
  assert_int_equal(CODE(r.admin[0]), WEFT_ERROR_OK);
  assert_int_equal(CODE(r.admin[1]), WEFT_ERROR_BUSY);
  for (uint16_t i = 0; i < 60; i++)
    assert_int_equal(CODE(r.one.at(i)), i >= 1 && i <= 32 ? WEFT_ERROR_CANCELLED : WEFT_ERROR_OK);
  const auto function = std::make_unique<weft::fw::Function>();
  function->aborts.marks[3] = {5, 1, 1};
  function->aborts.marks[4] = {6, 1, 1};
  function->aborts.used = 2;
  weft::fw::forget_aborts(*function, 5);
  assert_int_equal(function->aborts.used, 1);
  assert_int_equal(function->aborts.marks[3].queue, 0);
}

static void a_cancelled_entry_breaks_its_chain(void**) {
  Run r(
      [](Run& run) {
        run.launch(1);
        E e = entry(WEFT_QUEUE_OPCODE_NOP, 2);
        e.flags = WEFT_SUBMISSION_FLAG_CHAIN;
        run.host.put(1, e);
        run.host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 3));
        run.host.ring(1);
      },
      [](Run& run) { run.host.submit(0, abort_entry(1, 2, 1)); });
  assert_int_equal(CODE(r.one.at(1)), WEFT_ERROR_CANCELLED);
  assert_int_equal(CODE(r.one.at(2)), WEFT_ERROR_DEPENDENCY_FAILED);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_running_launch_ends_at_once_and_the_next_one_is_whole),
      cmocka_unit_test(an_entry_behind_it_ends_in_its_turn),
      cmocka_unit_test(an_entry_that_waits_for_the_core_gives_up_its_place),
      cmocka_unit_test(everything_before_an_index_ends_and_nothing_behind_it),
      cmocka_unit_test(a_running_copy_ends_at_once_even_if_its_engine_never_answers),
      cmocka_unit_test(a_copy_that_has_moved_its_last_byte_is_not_cancelled),
      cmocka_unit_test(what_has_ended_or_is_another_command_is_left_alone),
      cmocka_unit_test(wrong_aborts_are_refused),
      cmocka_unit_test(marks_run_out_and_come_back),
      cmocka_unit_test(a_cancelled_entry_breaks_its_chain),
  };
  return cmocka_run_group_tests_name("firmware/abort", tests, nullptr, nullptr);
}
