// Launches through the whole firmware: results, profile, faults, budget, watchdog.
#include "firmware/core/launch.hpp"

#include <cstring>
#include <memory>

#include "check.hpp"
#include "firmware/core/arguments.hpp"
#include "firmware/errors.hpp"
#include "host_side.hpp"

using namespace mock;

namespace {

/// A booted host whose first steps create queue 1 and load a program.
struct Fixture {
  Host host = boot();
  uint64_t program = 0;

  explicit Fixture(const std::array<uint32_t, WEFT_CORE_QUEUES>& counts, uint32_t arguments = 2, uint64_t scratch = 0,
                   uint64_t constants = 0) {
    const auto image = make_image(counts, arguments, scratch, constants);
    place_image(image);
    machine().script = {
        [this] { host.create(1, 16, 16); },
        [this, size = image.size()] { host.submit(0, load_entry(size)); },
        [this] {
          const auto done = host.drain(0);
          assert_int_equal(done.size(), 2);
          assert_int_equal(CODE(done[0]), WEFT_ERROR_OK);
          assert_int_equal(CODE(done[1]), WEFT_ERROR_OK);
          program = done[1].start_cycle;
        },
    };
  }
  void then(std::function<void()> step) { machine().script.push_back(std::move(step)); }
  weft_completion_entry only() {
    const auto done = host.drain(1);
    assert_int_equal(done.size(), 1);
    return done[0];
  }
  weft_launch_profile profile(uint32_t entries) const {
    weft_launch_profile p;
    std::memcpy(&p, machine().find(WEFT_ADDRESS_SPACE_HOST, kLists + weft::fw::list_bytes(entries), sizeof p),
                sizeof p);
    return p;
  }
};

}  // namespace

static void a_launch_maps_its_segments_runs_and_completes_with_the_cores_cycles(void**) {
  Fixture f({200, 150, 20, 20, 3}, 2, 512, 256);
  uint64_t attributes[6] = {};
  f.then([&] {
    make_list(0, 3);
    argument(0, 1).address = kHostBase + 0x100;
    argument(0, 1).space = WEFT_ADDRESS_SPACE_HOST;
    argument(0, 2).size_bytes = 512;
    seal_list(0);
    auto e = launch_entry(f.program, kLists, 7);
    e.flags = WEFT_SUBMISSION_FLAG_INTERRUPT | WEFT_SUBMISSION_FLAG_PROFILE;
    f.host.submit(1, e);
    machine().at_cycle[machine().now + 8000] = [&] {
      for (uint32_t i = 0; i < 6; i++) attributes[i] = machine().core.attributes(i);
    };
    machine().interrupts.clear();
  });
  f.then([&] {
    const auto c = f.only();
    assert_int_equal(CODE(c), WEFT_ERROR_OK);
    assert_int_equal(c.command_id, 7);
    assert_int_equal(c.tag, 0x1007);
    assert_int_equal(c.queue_id, 1);
    assert_int_equal(c.queue_head, 1);
    assert_int_equal(c.start_cycle, machine().core.accepted_cycle[0][0]);
    assert_true(c.end_cycle > c.start_cycle);
    const auto p = f.profile(3);
    assert_true(p.doorbell < p.fetched && p.fetched < p.validated && p.validated < p.first_command);
    assert_true(p.first_command < p.last_write && p.last_write < p.completion);
    assert_int_equal(p.first_command, c.start_cycle);
    assert_int_equal(p.last_write, c.end_cycle);
    std::printf(
        "  launch of 393 commands: doorbell to fetched %llu, validated %llu, first command %llu; last write to "
        "completion %llu cycles\n",
        (unsigned long long)(p.fetched - p.doorbell), (unsigned long long)(p.validated - p.doorbell),
        (unsigned long long)(p.first_command - p.doorbell), (unsigned long long)(p.completion - p.last_write));
    assert_int_equal(machine().interrupts.size(), 1);
    assert_int_equal(machine().interrupts[0], 1);
  });
  run_firmware();
  assert_int_equal(attributes[1], WEFT_ADDRESS_SPACE_HBM | 4);       // constants: read
  assert_int_equal(attributes[2], WEFT_ADDRESS_SPACE_HBM | 4 | 8);   // scratch
  assert_int_equal(attributes[3], WEFT_ADDRESS_SPACE_HBM | 4);       // argument 0: read
  assert_int_equal(attributes[4], WEFT_ADDRESS_SPACE_HOST | 4 | 8);  // argument 1: read, write
  assert_int_equal(attributes[5], 0);
  assert_int_equal(machine().core.base(4), kHostBase + 0x100);
  assert_int_equal(machine().core.limit(2), 512);
  for (uint32_t s = 1; s < WEFT_SEGMENTS; s++)
    assert_int_equal(machine().core.attributes(s), 0);  // nothing is left mapped
  const std::array<uint32_t, WEFT_CORE_QUEUES> counts{200, 150, 20, 20, 3};
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    assert_int_equal(machine().core.accepted[q].size(), counts[q]);
    for (uint32_t i = 0; i < counts[q]; i++) {  // every command once, in order, in its own queue
      assert_int_equal(machine().core.accepted[q][i][2] | machine().core.accepted[q][i][3] << 8, i);
      assert_int_equal(machine().core.accepted[q][i][20], q);
    }
  }
  assert_false(machine().hung);
}

static void a_launch_costs_the_firmware_the_same_whatever_its_commands_are(void**) {
  uint64_t reads[2], csr_reads[2], waits[2];
  for (uint32_t large = 0; large < 2; large++) {
    Fixture f(large != 0 ? std::array<uint32_t, WEFT_CORE_QUEUES>{2000, 2000, 300, 300, 20}
                         : std::array<uint32_t, WEFT_CORE_QUEUES>{1, 1, 1, 1, 1});
    for (uint64_t& cycles : machine().core.service_cycles) cycles = 10;
    f.then([&] {
      make_list(0, 2);
      reads[large] = machine().dma_reads, csr_reads[large] = machine().csr_reads, waits[large] = machine().waits;
      f.host.submit(1, launch_entry(f.program, kLists));
    });
    f.then([&] {
      assert_int_equal(CODE(f.only()), WEFT_ERROR_OK);
      reads[large] = machine().dma_reads - reads[large], csr_reads[large] = machine().csr_reads - csr_reads[large];
      waits[large] = machine().waits - waits[large];
    });
    run_firmware();
    assert_int_equal(machine().core.refused_fetches, 0);
    assert_int_equal(machine().core.accepted[1].size(), large != 0 ? 2000 : 1);
  }
  assert_int_equal(reads[0], reads[1]);
  assert_int_equal(csr_reads[0], csr_reads[1]);
  assert_int_equal(waits[0], waits[1]);
}

static void a_command_that_cannot_be_read_ends_the_launch_with_its_address(void**) {
  Fixture f({5, 40, 3, 3, 1});
  constexpr uint64_t lost =
      kImage + sizeof(weft_program_header) + sizeof(weft_program_kernel) + (5 + 20) * WEFT_COMMAND_BYTES;
  machine().core.read_command = [](uint64_t address) {
    return address == lost ? nullptr : machine().find(WEFT_ADDRESS_SPACE_HBM, address, WEFT_COMMAND_BYTES);
  };
  f.then([&] {
    make_list(0, 2);
    f.host.submit(1, launch_entry(f.program, kLists, 3));
  });
  f.then([&] {
    assert_int_equal(CODE(f.only()), WEFT_ERROR_DMA_FAULT);
    const auto r = f.host.fault(1);
    assert_int_equal(r.fault_code, WEFT_FAULT_COMMAND_FETCH);
    assert_int_equal(r.fault_queue, WEFT_QUEUE_MXU);
    assert_int_equal(r.fault_address, lost);
    assert_int_equal(r.queue_total[WEFT_QUEUE_MXU], 40);
    assert_int_equal(r.queue_pushed[WEFT_QUEUE_MXU], 20);
    assert_int_equal(r.queue_pushed[WEFT_QUEUE_DMA_IN], 5);
    f.host.submit(1, launch_entry(f.program, kLists, 4));
    machine().core.read_command = [](uint64_t address) {
      return machine().find(WEFT_ADDRESS_SPACE_HBM, address, WEFT_COMMAND_BYTES);
    };
  });
  f.then([&] { assert_int_equal(CODE(f.only()), WEFT_ERROR_OK); });
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
  assert_int_equal(machine().core.refused_fetches, 0);
}

static void a_kernel_without_commands_completes_at_once(void**) {
  Fixture f({0, 0, 0, 0, 0}, 0);
  f.then([&] {
    make_list(0, 0);
    auto e = launch_entry(f.program, kLists);
    e.flags = WEFT_SUBMISSION_FLAG_PROFILE;
    f.host.submit(1, e);
  });
  f.then([&] {
    const auto c = f.only();
    assert_int_equal(CODE(c), WEFT_ERROR_OK);
    assert_int_equal(c.start_cycle, c.end_cycle);
    const auto p = f.profile(0);
    std::printf("  empty launch: doorbell to completion %llu core cycles\n",
                (unsigned long long)(p.completion - p.doorbell));
  });
  run_firmware();
  assert_int_equal(machine().core.accepted[0].size(), 0);
}

static void the_same_launch_takes_the_same_cycles_whatever_ran_before(void**) {
  Fixture f({300, 300, 40, 40, 5});
  uint64_t steps[3][5] = {};
  for (int run = 0; run < 3; run++) {
    f.then([&] {
      make_list(0, 2);
      auto e = launch_entry(f.program, kLists);
      e.flags = WEFT_SUBMISSION_FLAG_PROFILE;
      f.host.submit(1, e);
    });
    f.then([&, run] {
      assert_int_equal(CODE(f.only()), WEFT_ERROR_OK);
      const auto p = f.profile(2);
      const uint64_t at[] = {p.fetched, p.validated, p.first_command, p.last_write, p.completion};
      for (int i = 0; i < 5; i++) steps[run][i] = at[i] - p.doorbell;
    });
    // Between the runs: other work, of another length each time.
    f.then([&, run] {
      for (int i = 0; i < 3 * run + 1; i++) f.host.put(1, entry(WEFT_QUEUE_OPCODE_NOP));
      f.host.ring(1);
    });
    f.then([&] { f.host.drain(1); });
  }
  run_firmware();
  assert_memory_equal(steps[0], steps[1], sizeof steps[0]);
  assert_memory_equal(steps[0], steps[2], sizeof steps[0]);
}

static void every_core_fault_reaches_the_host_with_its_record(void**) {
  for (uint32_t code = 1; code <= 14; code++) {
    Fixture f({30, 30, 4, 4, 1});
    machine().core.fault_code = code;
    machine().core.fault_queue = WEFT_QUEUE_MXU;
    machine().core.fault_command = 5;
    machine().core.fault_address = 0xabc0;
    machine().core.leftover[9] = 0x1234;
    f.then([&] {
      make_list(0, 2);
      f.host.submit(1, launch_entry(f.program, kLists, 3));
    });
    f.then([&] {
      const auto c = f.only();
      assert_int_equal(CODE(c), weft::fw::fault_error(code));
      assert_int_equal(WEFT_STATUS_MORE(c.status), 1);
      const auto r = f.host.fault(1);
      assert_int_equal(r.record_number, 1);
      assert_int_equal(r.command_id, 3);
      assert_int_equal(r.queue_id, 1);
      assert_int_equal(r.error, CODE(c));
      assert_int_equal(r.fault_code, code);
      assert_int_equal(r.fault_unit, WEFT_UNIT_MXU);
      assert_int_equal(r.fault_queue, WEFT_QUEUE_MXU);
      assert_int_equal(r.fault_tag, 5);
      assert_int_equal(r.fault_address, 0xabc0);
      assert_true(r.fault_cycle >= c.start_cycle && r.fault_cycle == c.end_cycle);
      assert_int_equal(r.queue_total[0], 30);
      assert_true(r.queue_level[1] > 0 && r.queue_pushed[1] > 5);
      assert_int_equal(r.queue_tag[1], 5);
      assert_int_equal(r.program_id, f.program);
      assert_int_equal(r.kernel, 0);
      assert_int_equal(r.semaphore[9], 0x34);
      assert_int_equal(machine().registers[WEFT_REG_FIRST_ERROR], CODE(c));
      assert_int_equal(machine().registers[WEFT_REG_PENDING_ERRORS], 1);
      // The next launch runs: the core was reset.
      machine().core.fault_code = 0;
      machine().core.leftover[9] = 0;
      f.host.submit(1, launch_entry(f.program, kLists, 4));
    });
    f.then([&] { assert_int_equal(CODE(f.only()), WEFT_ERROR_OK); });
    run_firmware();
    assert_int_equal(machine().script_next, machine().script.size());
  }
}

static void a_semaphore_left_over_is_a_fault_of_the_launch(void**) {
  Fixture f({3, 3, 3, 3, 0});
  machine().core.leftover[2] = 1;
  machine().core.leftover[50] = 7;  // posted by another chip: what a program does not wait for is a leak all the same
  f.then([&] {
    make_list(0, 2);
    f.host.submit(1, launch_entry(f.program, kLists));
  });
  f.then([&] {
    assert_int_equal(CODE(f.only()), WEFT_ERROR_SEMAPHORE_FAULT);
    const auto r = f.host.fault(1);
    assert_int_equal(r.fault_code, WEFT_FAULT_SEMAPHORE_LEAK);
    assert_int_equal(r.fault_address, 2);
    assert_int_equal(r.semaphore[50], 7);
  });
  run_firmware();
}

static void a_budget_ends_the_launch_in_device_cycles(void**) {
  Fixture f({3, 300, 0, 0, 0});  // most of queue 1 is still to be fetched
  machine().core.hang_queue = 1;
  uint64_t rung = 0;
  f.then([&] {
    make_list(0, 2);
    auto e = launch_entry(f.program, kLists);
    e.budget_kcycles = 40;
    rung = machine().now;
    f.host.submit(1, e);
  });
  f.then([&] {
    const auto c = f.only();
    assert_int_equal(CODE(c), WEFT_ERROR_BUDGET_EXCEEDED);
    assert_in_range(c.end_cycle - rung, 40'000, 48'000);
    assert_int_equal(f.host.fault(1).detail0, 40'000);
    assert_int_equal(f.host.fault(1).fault_code, 0);
    assert_int_equal(f.host.fault(1).queue_total[1], 300);
    assert_int_equal(f.host.fault(1).queue_pushed[1], WEFT_CORE_QUEUE_DEPTH + 1);
  });
  run_firmware();
  assert_false(machine().core.busy());
}

static void a_hang_is_ended_by_the_cores_watchdog_with_the_limit_that_was_set(void**) {
  Fixture f({3, 3, 0, 0, 0});
  machine().core.hang_queue = 0;
  machine().core.hang_command = 1;
  f.then([&] {
    auto e = entry(WEFT_ADMIN_OPCODE_SET_TIMEOUT);
    e.size = 70'000;
    f.host.submit(0, e);
  });
  f.then([&] {
    make_list(0, 2);
    f.host.submit(1, launch_entry(f.program, kLists));
  });
  f.then([&] {
    const auto c = f.only();
    assert_int_equal(CODE(c), WEFT_ERROR_DEVICE_HUNG);
    assert_int_equal(WEFT_STATUS_CLASS(c.status), WEFT_ERROR_CLASS_UNIT);
    assert_int_equal(f.host.fault(1).fault_code, WEFT_FAULT_WATCHDOG);
    assert_int_equal(machine().core.raw(WEFT_CSR_WATCHDOG_LIMIT), 70'000);
    assert_in_range(c.end_cycle - c.start_cycle, 70'000, 72'000);
  });
  run_firmware();
}

static void a_dead_watchdog_is_noticed_by_the_firmware(void**) {
  for (const uint64_t limit : {uint64_t{0}, UINT64_C(1) << 30}) {
    Fixture f({3, 3, 0, 0, 0});
    machine().core.hang_queue = 0;
    machine().core.watchdog_dead = true;
    f.then([&] {
      auto e = entry(WEFT_ADMIN_OPCODE_SET_TIMEOUT);
      e.size = limit;
      f.host.submit(0, e);
    });
    uint64_t began = 0;
    f.then([&] {
      began = machine().now;
      make_list(0, 2);
      f.host.submit(1, launch_entry(f.program, kLists));
    });
    f.then([&] {
      assert_int_equal(CODE(f.only()), WEFT_ERROR_DEVICE_HUNG);
      assert_in_range(machine().now - began, weft::fw::kBackstopCycles + limit,
                      weft::fw::kBackstopCycles + limit + 4'000'000);
    });
    run_firmware();
    assert_int_equal(machine().script_next, machine().script.size());
  }
}

static void lost_interrupts_cost_time_and_nothing_else(void**) {
  Fixture f({100, 40, 0, 0, 0});
  machine().core.deaf = true;
  f.then([&] {
    make_list(0, 2);
    f.host.submit(1, launch_entry(f.program, kLists));
  });
  f.then([&] { assert_int_equal(CODE(f.only()), WEFT_ERROR_OK); });
  run_firmware();
  assert_int_equal(machine().core.accepted[0].size(), 100);
  assert_int_equal(machine().script_next, machine().script.size());
}

static void a_core_that_does_not_leave_reset_is_a_panic(void**) {
  Fixture f({3, 3, 0, 0, 0});
  f.then([&] {
    machine().core.reset_stuck = true;
    make_list(0, 2);
    f.host.submit(1, launch_entry(f.program, kLists));
  });
  f.then([&] {
    assert_int_equal(f.host.drain(1).size(), 0);  // the panic says how the launch ends, and nothing else does
    assert_int_equal(machine().registers[WEFT_REG_DEVICE_STATE], WEFT_DEVICE_STATE_FAILED);
    assert_int_equal(machine().registers[WEFT_REG_FIRST_ERROR], WEFT_ERROR_FIRMWARE_PANIC);
    const auto r = f.host.fault(1);
    assert_int_equal(r.error, WEFT_ERROR_FIRMWARE_PANIC);
    assert_int_equal(r.detail0, static_cast<uint64_t>(weft::fw::Waypoint::kCoreReset));
  });
  run_firmware();
}

static void wrong_launch_entries_name_the_field(void**) {
  struct Case {
    void (*change)(weft_submission_entry&);
    uint64_t offset;
  };
  const Case cases[] = {
      {[](weft_submission_entry& e) { e.arg0 = 0; }, offsetof(weft_submission_entry, arg0)},
      {[](weft_submission_entry& e) { e.arg0 += 64; }, offsetof(weft_submission_entry, arg0)},
      {[](weft_submission_entry& e) { e.arg0 |= UINT64_C(1) << 40; }, offsetof(weft_submission_entry, arg0)},
      {[](weft_submission_entry& e) { e.size = 1; }, offsetof(weft_submission_entry, size)},
      {[](weft_submission_entry& e) { e.arg1 += 4; }, offsetof(weft_submission_entry, arg1)},
      {[](weft_submission_entry& e) { e.arg1 |= UINT64_C(1) << 63; }, offsetof(weft_submission_entry, arg1)},
  };
  for (const Case& c : cases) {
    Fixture f({1, 0, 0, 0, 0});
    f.then([&] {
      make_list(0, 2);
      auto e = launch_entry(f.program, kLists);
      c.change(e);
      f.host.submit(1, e);
    });
    f.then([&] {
      assert_int_equal(CODE(f.only()), WEFT_ERROR_INVALID_ARGUMENT);
      assert_int_equal(f.host.fault(1).detail0, c.offset);
    });
    run_firmware();
    assert_int_equal(machine().core.accepted[0].size(), 0);
  }
}

static void a_launch_for_which_another_function_waits_has_a_bound_to_its_time(void**) {
  using namespace weft::fw;
  mock::reset();
  const auto state = std::make_unique<State>();
  state->function_count = 2;
  state->batch_entries = 1;
  for (uint32_t f = 0; f < 2; f++)
    for (uint32_t id = 0; id < kQueues; id++) {
      state->functions[f].queues[id].function = static_cast<uint8_t>(f);
      state->functions[f].queues[id].id = static_cast<uint8_t>(id);
    }
  Launch& launch = state->launch;
  launch.function = 1;
  launch.queue = 1;
  const uint64_t bound = uint64_t{WEFT_CORE_MAX_HOLD_KCYCLES} * 1000;
  const auto deadline = [&](uint64_t before) {
    launch.deadline_cycle = before;
    launch.entry.budget_kcycles = 7;
    launch_limit_hold(*state);
    return launch.deadline_cycle;
  };
  const auto waits = [&](uint32_t function, uint8_t opcode) {
    Queue& queue = state->functions[function].queues[2];
    queue.ticket = 1;
    batch_of(*state, queue)->opcode = opcode;
  };
  assert_int_equal(deadline(UINT64_MAX), UINT64_MAX);  // nothing runs
  launch.active = true;
  assert_int_equal(deadline(UINT64_MAX), UINT64_MAX);  // nobody waits
  waits(1, WEFT_QUEUE_OPCODE_LAUNCH);
  assert_int_equal(deadline(UINT64_MAX), UINT64_MAX);  // its own function
  waits(0, WEFT_QUEUE_OPCODE_COPY);
  assert_int_equal(deadline(UINT64_MAX), UINT64_MAX);  // for the other engine
  waits(0, WEFT_QUEUE_OPCODE_LAUNCH);
  const uint64_t ends = deadline(UINT64_MAX);
  assert_in_range(ends, bound, machine().now + bound);
  assert_int_equal(launch.entry.budget_kcycles, WEFT_CORE_MAX_HOLD_KCYCLES);
  assert_int_equal(deadline(ends), ends);  // once
  assert_int_equal(deadline(5), 5);        // sooner by its own budget
  assert_int_equal(launch.entry.budget_kcycles, 7);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_launch_maps_its_segments_runs_and_completes_with_the_cores_cycles),
      cmocka_unit_test(a_launch_costs_the_firmware_the_same_whatever_its_commands_are),
      cmocka_unit_test(a_command_that_cannot_be_read_ends_the_launch_with_its_address),
      cmocka_unit_test(a_kernel_without_commands_completes_at_once),
      cmocka_unit_test(the_same_launch_takes_the_same_cycles_whatever_ran_before),
      cmocka_unit_test(every_core_fault_reaches_the_host_with_its_record),
      cmocka_unit_test(a_semaphore_left_over_is_a_fault_of_the_launch),
      cmocka_unit_test(a_budget_ends_the_launch_in_device_cycles),
      cmocka_unit_test(a_launch_for_which_another_function_waits_has_a_bound_to_its_time),
      cmocka_unit_test(a_hang_is_ended_by_the_cores_watchdog_with_the_limit_that_was_set),
      cmocka_unit_test(a_dead_watchdog_is_noticed_by_the_firmware),
      cmocka_unit_test(lost_interrupts_cost_time_and_nothing_else),
      cmocka_unit_test(a_core_that_does_not_leave_reset_is_a_panic),
      cmocka_unit_test(wrong_launch_entries_name_the_field),
  };
  return cmocka_run_group_tests_name("firmware/launch", tests, nullptr, nullptr);
}
