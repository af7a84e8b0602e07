// RESET_QUEUE and RESET_ENGINE: refused targets, idle and busy queues, guilty and innocent, bystanders, the same bits
// and cycles afterwards.
#include "firmware/admin/reset.hpp"

#include <cstring>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;
using E = weft_submission_entry;

namespace {

constexpr uint64_t kRecord = kHostBase + 0x390000;

E reset_entry(uint8_t opcode, uint64_t target, uint64_t record = kRecord) {
  E e = entry(opcode, 0x2fff);
  e.arg0 = record;
  e.size = target;
  return e;
}
E reset_queue(uint64_t queue) { return reset_entry(WEFT_ADMIN_OPCODE_RESET_QUEUE, queue); }
E reset_engine(uint64_t engine) { return reset_entry(WEFT_ADMIN_OPCODE_RESET_ENGINE, engine); }

weft_reset_record record() {
  weft_reset_record r;
  std::memcpy(&r, machine().find(WEFT_ADDRESS_SPACE_HOST, kRecord, sizeof r), sizeof r);
  return r;
}

E fill(uint16_t id, uint64_t bytes = 4096) {
  E e = entry(WEFT_QUEUE_OPCODE_FILL, id);
  e.arg1 = kData | UINT64_C(1) << 63;
  e.size = bytes;
  return e;
}

/// Queues 1 and 2, and a program of 8 MXU commands; the host's admin answers are taken.
struct Fixture {
  Host host = boot();
  uint64_t program = 0;
  Fixture() {
    const auto image = make_image({0, 8, 0, 0, 0});
    place_image(image);
    machine().script = {[this] { host.create(1, 16, 16); }, [this] { host.create(2, 16, 16); },
                        [this, size = image.size()] { host.submit(0, load_entry(size)); },
                        [this] { program = host.drain(0).back().start_cycle; }};
  }
  void then(std::function<void()> step) { machine().script.push_back(std::move(step)); }
  E launch(uint32_t list, uint16_t id) { return launch_entry(program, make_list(list, 0), id); }
  static void at(uint64_t cycles, std::function<void()> act) {
    machine().at_cycle[machine().now + cycles] = std::move(act);
  }
};

uint32_t code_of(const std::vector<weft_completion_entry>& done, uint16_t id) {
  uint32_t code = UINT32_MAX, found = 0;
  for (const auto& c : done) {
    if (c.command_id != id) continue;
    code = CODE(c);
    found++;
  }
  assert_true(found <= 1);  // never twice
  return code;
}

}  // namespace

static void targets_that_cannot_be_reset_are_refused_with_the_state_met(void**) {
  Host host = boot();
  const E bad[] = {reset_queue(0),
                   reset_queue(17),
                   reset_queue(UINT64_MAX),
                   reset_engine(2),
                   reset_entry(WEFT_ADMIN_OPCODE_RESET_QUEUE, 1, kRecord + 4),
                   reset_queue(5)};
  for (const E& e : bad) machine().script.push_back([&host, &e] { host.submit(0, e); });
  std::vector<weft_completion_entry> done;
  machine().script.push_back([&] { done = host.drain(0); });
  run_firmware();
  assert_int_equal(done.size(), 6);
  for (size_t i = 0; i < 5; i++) assert_int_equal(CODE(done[i]), WEFT_ERROR_INVALID_ARGUMENT);
  assert_int_equal(CODE(done[5]), WEFT_ERROR_INVALID_STATE);
  assert_int_equal(host.fault(6).detail1, WEFT_QUEUE_STATE_DELETED);
}

static void an_idle_queue_goes_and_can_be_created_again(void**) {
  Fixture f;
  f.then([&] { f.host.submit(0, reset_queue(1)); });
  f.then([&] { f.host.create(1, 16, 16); });
  f.then([&] { f.host.submit(1, entry(WEFT_QUEUE_OPCODE_NOP, 0x1001)); });
  f.then([&] {
    for (const auto& c : f.host.drain(0)) assert_int_equal(CODE(c), WEFT_ERROR_OK);
    assert_int_equal(code_of(f.host.drain(1), 0x1001), WEFT_ERROR_OK);
  });
  run_firmware();
  assert_int_equal(record().level, WEFT_RESET_LEVEL_QUEUE);
  assert_int_equal(record().target, 1);
  assert_int_equal(record().error, WEFT_ERROR_OK);
  assert_int_equal(record().failed_step, 0);
  assert_true(record().end_cycle > record().start_cycle);
}

static void a_running_launch_is_innocent_and_the_entries_behind_it_are_dropped(void**) {
  Fixture f;
  machine().core.service_cycles[WEFT_QUEUE_MXU] = 100000;
  std::vector<weft_completion_entry> first, second;
  f.then([&] {
    for (uint16_t i = 0; i < 4; i++) f.host.put(1, f.launch(i, static_cast<uint16_t>(0x1001 + i)));
    f.host.ring(1);
    f.at(30000, [&] { f.host.submit(2, f.launch(7, 0x1009)); });
    f.at(60000, [&] { f.host.submit(0, reset_queue(1)); });
  });
  f.then([&] {
    first = f.host.drain(1);
    second = f.host.drain(2);
  });
  run_firmware();
  assert_int_equal(first.size(), 1);
  assert_int_equal(code_of(first, 0x1001), WEFT_ERROR_ABORTED_BY_RESET);
  assert_int_equal(WEFT_STATUS_RETRYABLE(first[0].status), 1);
  assert_int_equal(code_of(second, 0x1009), WEFT_ERROR_OK);  // the queue that waited for the core gets it
  assert_int_equal(record().dropped, 3);
  assert_int_equal(record().command_id, 0x1001);
  for (const uint64_t cycles : record().step_cycles) assert_true(cycles <= weft::fw::kResetStepCycles);
}

static void a_launch_that_hangs_is_guilty(void**) {
  Fixture f;
  machine().core.hang_queue = WEFT_QUEUE_MXU;
  machine().core.watchdog_dead = true;
  std::vector<weft_completion_entry> done;
  f.then([&] {
    f.host.submit(1, f.launch(0, 0x1001));
    f.at(WEFT_CORE_WATCHDOG_DEFAULT_CYCLES + 100000, [&] { f.host.submit(0, reset_engine(WEFT_ENGINE_CORE)); });
  });
  f.then([&] { done = f.host.drain(1); });
  run_firmware();
  assert_int_equal(code_of(done, 0x1001), WEFT_ERROR_DEVICE_HUNG);
  assert_int_equal(record().error, WEFT_ERROR_DEVICE_HUNG);
  assert_int_equal(record().queue, 1);
  assert_int_equal(WEFT_STATUS_MORE(done[0].status), 1);
}

static void an_engine_reset_leaves_queues_alone_that_had_nothing_on_it(void**) {
  Fixture f;
  machine().core.service_cycles[WEFT_QUEUE_MXU] = 100000;
  std::vector<weft_completion_entry> first, second;
  f.then([&] {
    f.host.put(1, f.launch(0, 0x1001));
    f.host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 0x1002));
    f.host.ring(1);
    f.host.put(2, fill(0x1003, 2u << 20));
    f.host.put(2, entry(WEFT_QUEUE_OPCODE_NOP, 0x1004));
    f.host.ring(2);
    f.at(40000, [&] { f.host.submit(0, reset_engine(WEFT_ENGINE_CORE)); });
  });
  f.then([&] {
    first = f.host.drain(1);
    second = f.host.drain(2);
  });
  run_firmware();
  assert_int_equal(code_of(first, 0x1001), WEFT_ERROR_ABORTED_BY_RESET);
  assert_int_equal(code_of(first, 0x1002), WEFT_ERROR_OK);  // its queue goes on
  assert_int_equal(code_of(second, 0x1003), WEFT_ERROR_OK);
  assert_int_equal(code_of(second, 0x1004), WEFT_ERROR_OK);
  assert_int_equal(machine().copies_aborted, 0);
}

static void a_copy_is_aborted_and_nothing_moves_afterwards(void**) {
  for (const bool overdue : {false, true}) {
    Fixture f;
    machine().copy_never_ends = true;
    std::vector<weft_completion_entry> done;
    f.then([&] {
      f.host.submit(2, fill(0x1003));
      f.at(overdue ? UINT64_C(99'999'000) : 50000, [&] { f.host.submit(0, reset_queue(2)); });
    });
    f.then([&] { done = f.host.drain(2); });
    f.then([&] {
      machine().copy_never_ends = false;
      f.host.submit(1, fill(0x1005));
    });
    f.then([&] { assert_int_equal(code_of(f.host.drain(1), 0x1005), WEFT_ERROR_OK); });
    run_firmware();
    const uint32_t code = code_of(done, 0x1003);
    assert_true(overdue ? code == WEFT_ERROR_DEVICE_HUNG || code == WEFT_ERROR_ABORTED_BY_RESET
                        : code == WEFT_ERROR_ABORTED_BY_RESET);
    assert_int_equal(machine().hbm[kData], 0);
    if (!overdue) assert_int_equal(machine().copies_aborted, 1);
  }
}

static void a_halted_queue_is_reset_too(void**) {
  Fixture f;
  f.then([&] { machine().ring(1, 99); });  // a doorbell too far
  f.then([&] { f.host.submit(0, reset_queue(1)); });
  f.then([&] { f.host.create(1, 16, 16); });
  f.then([&] { f.host.submit(1, entry(WEFT_QUEUE_OPCODE_NOP, 0x1001)); });
  f.then([&] { assert_int_equal(code_of(f.host.drain(1), 0x1001), WEFT_ERROR_OK); });
  run_firmware();
}

static void after_a_reset_a_launch_takes_the_same_cycles(void**) {
  uint64_t cycles[2] = {};
  for (const bool with_reset : {false, true}) {
    Fixture f;
    if (with_reset) {
      f.then([&] {
        machine().core.service_cycles[WEFT_QUEUE_MXU] = 100000;
        f.host.submit(1, f.launch(0, 0x1001));
        f.at(50000, [&] { f.host.submit(0, reset_queue(1)); });
      });
      f.then([&] {
        machine().core.service_cycles[WEFT_QUEUE_MXU] = 100;
        f.host.create(1, 16, 16);
      });
    }
    uint64_t begin = 0;
    f.then([&] {
      begin = machine().now;
      f.host.submit(1, f.launch(0, 0x1002));
    });
    f.then([&] {
      const auto done = f.host.drain(1);
      assert_int_equal(code_of(done, 0x1002), WEFT_ERROR_OK);
      cycles[with_reset] = done.back().end_cycle - begin;
    });
    run_firmware();
  }
  assert_int_equal(cycles[0], cycles[1]);
}

static void a_core_that_does_not_leave_its_reset_is_a_panic(void**) {
  Fixture f;
  machine().core.service_cycles[WEFT_QUEUE_MXU] = 100000;
  f.then([&] {
    f.host.submit(1, f.launch(0, 0x1001));
    f.at(50000, [&] {
      machine().core.reset_stuck = true;
      f.host.submit(0, reset_engine(WEFT_ENGINE_CORE));
    });
  });
  run_firmware();
  assert_int_equal(machine().registers[WEFT_REG_DEVICE_STATE], WEFT_DEVICE_STATE_FAILED);
  assert_false(machine().hung);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(targets_that_cannot_be_reset_are_refused_with_the_state_met),
      cmocka_unit_test(an_idle_queue_goes_and_can_be_created_again),
      cmocka_unit_test(a_running_launch_is_innocent_and_the_entries_behind_it_are_dropped),
      cmocka_unit_test(a_launch_that_hangs_is_guilty),
      cmocka_unit_test(an_engine_reset_leaves_queues_alone_that_had_nothing_on_it),
      cmocka_unit_test(a_copy_is_aborted_and_nothing_moves_afterwards),
      cmocka_unit_test(a_halted_queue_is_reset_too),
      cmocka_unit_test(after_a_reset_a_launch_takes_the_same_cycles),
      cmocka_unit_test(a_core_that_does_not_leave_its_reset_is_a_panic),
  };
  return cmocka_run_group_tests_name("reset", tests, nullptr, nullptr);
}
