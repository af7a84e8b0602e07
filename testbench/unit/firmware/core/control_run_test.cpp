// Control lists through the whole firmware: what runs in which order with which segments, and every way to stop.
#include <cstdio>
#include <cstring>

#include "check.hpp"
#include "control_launch.hpp"
#include "firmware/core/arguments.hpp"
#include "firmware/core/control.hpp"

using namespace mock;

namespace {

/// BIND, WHILE the word of argument 1 is less than `value`, run, END.
void add_while(Run& r, uint32_t value, uint32_t turns = 0) {
  r.list.arguments = 2;
  r.list.add_block(0, 7, 1);
  r.list.add_binding(kSegment, 0);
  r.list.add_binding(0, 1);
  r.list.add(WEFT_CONTROL_OPCODE_BIND, 0, 1);
  const uint16_t loop = r.list.add_condition(WEFT_CONTROL_OPCODE_WHILE, 1, WEFT_CONTROL_CONDITION_LESS, value, turns);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
  r.list.end(loop);
}

}  // namespace

static void blocks_run_one_after_the_other_with_their_segments(void**) {
  Run r;
  r.list.arguments = 2;
  r.list.constants = 64;
  r.list.add_block(0, 0, 3);
  r.list.add_block(3, 10, 2);
  r.list.add_binding(kSegment, 0, 32);
  r.list.add_binding(kSegment, 1);
  r.list.bindings[1].access = 3;
  r.list.add(WEFT_CONTROL_OPCODE_BIND, 0, 1);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 1);
  r.list.add(WEFT_CONTROL_OPCODE_BIND, 1, 1);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
  uint64_t attributes = 0, limit = 0, constants = 0, latest_busy = 0;
  r.launch([&](uint32_t) {
    attributes = machine().core.attributes(kSegment);
    limit = machine().core.limit(kSegment);
    constants = machine().core.attributes(1);
    latest_busy = machine().core.accepted[0].size() + machine().core.accepted[3].size();
  });
  assert_int_equal(CODE(r.completion), WEFT_ERROR_OK);
  r.expect({{0, kData + 32},
            {1, kData + 32},
            {2, kData + 32},
            {10, kData + 32},
            {11, kData + 32},
            {0, kData + 256},
            {1, kData + 256},
            {2, kData + 256}});
  assert_int_equal(attributes, WEFT_ADDRESS_SPACE_HBM | 4 | 8);
  assert_int_equal(limit, 16);
  assert_int_equal(constants, WEFT_ADDRESS_SPACE_HBM | 4);
  assert_int_equal(latest_busy, 7);  // all before it had been accepted
  assert_int_equal(r.completion.start_cycle, machine().core.accepted_cycle[0][0]);
  assert_true(r.completion.end_cycle > machine().core.accepted_cycle[0][5]);
}

static void windows_move_with_the_turns_of_their_loops(void**) {
  Run r;
  r.list.arguments = 1;
  r.list.add_block(0, 1, 1);
  r.list.add_block(0, 2, 1);
  r.list.add_binding(kSegment, 0, 64, 32, 1);
  r.list.bindings[0].stride_bytes[1] = static_cast<uint64_t>(-16);
  r.list.bindings[0].stride_loop[1] = 3;
  r.list.add(WEFT_CONTROL_OPCODE_BIND, 0, 1);
  const uint16_t outer = r.list.add(WEFT_CONTROL_OPCODE_LOOP, 0, 2);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
  const uint16_t inner = r.list.add(WEFT_CONTROL_OPCODE_LOOP, 0, 3);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 1);
  r.list.end(inner);
  r.list.end(outer);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
  r.launch();
  assert_int_equal(CODE(r.completion), WEFT_ERROR_OK);
  constexpr uint64_t at = kData + 64;
  r.expect({{1, at}, {2, at}, {2, at - 16}, {2, at - 32}, {1, at + 32}, {2, at + 32}, {2, at + 16}, {2, at}, {1, at}});
}

static void a_bind_in_a_loop_holds_in_every_turn_also_when_another_came_between(void**) {
  for (const bool other : {false, true}) {
    Run r;
    r.list.arguments = 2;
    r.list.add_block(0, 1, 1);
    r.list.add_binding(kSegment, 0, 0, 16, 0);
    r.list.add_binding(kSegment, 1);
    const uint16_t loop = r.list.add(WEFT_CONTROL_OPCODE_LOOP, 0, 3);
    r.list.add(WEFT_CONTROL_OPCODE_BIND, 0, 1);
    r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
    if (other) {
      r.list.add(WEFT_CONTROL_OPCODE_BIND, 1, 1);
      r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
    }
    r.list.end(loop);
    r.launch();
    assert_int_equal(CODE(r.completion), WEFT_ERROR_OK);
    constexpr uint64_t one = kData + 256;
    if (other) {
      r.expect({{1, kData}, {1, one}, {1, kData + 16}, {1, one}, {1, kData + 32}, {1, one}});
    } else {
      r.expect({{1, kData}, {1, kData + 16}, {1, kData + 32}});
    }
  }
}

static void a_while_ends_when_its_word_says_so_and_at_its_limit(void**) {
  for (const uint32_t limit : {0u, 3u}) {
    Run r;
    add_while(r, 5, limit);
    r.launch([](uint32_t) { Run::word(1)++; });
    assert_int_equal(CODE(r.completion), WEFT_ERROR_OK);
    assert_int_equal(r.seen.size(), limit == 0 ? 5 : 3);
  }
  Run none;
  add_while(none, 0);
  none.launch();
  assert_int_equal(CODE(none.completion), WEFT_ERROR_OK);
  assert_int_equal(none.seen.size(), 0);
  assert_int_equal(none.completion.start_cycle, none.completion.end_cycle);
  assert_true(none.completion.start_cycle != 0);
}

static void conditions_compare_as_they_say(void**) {
  struct Case {
    weft_control_condition condition;
    int32_t word, value;
    bool holds;
  };
  const Case cases[] = {
      {WEFT_CONTROL_CONDITION_EQUAL, 3, 3, true},
      {WEFT_CONTROL_CONDITION_EQUAL, 3, 4, false},
      {WEFT_CONTROL_CONDITION_NOT_EQUAL, 3, 3, false},
      {WEFT_CONTROL_CONDITION_NOT_EQUAL, 0, 1, true},
      {WEFT_CONTROL_CONDITION_LESS, -1, 0, true},
      {WEFT_CONTROL_CONDITION_LESS, 0, 0, false},
      {WEFT_CONTROL_CONDITION_GREATER_EQUAL, 0, 0, true},
      {WEFT_CONTROL_CONDITION_GREATER_EQUAL, -1, 0, false},
      {WEFT_CONTROL_CONDITION_LESS, INT32_MIN, INT32_MAX, true},
      {WEFT_CONTROL_CONDITION_GREATER_EQUAL, INT32_MIN, INT32_MAX, false},
  };
  for (const Case& c : cases) {
    for (const bool otherwise : {false, true}) {
      Run r;
      r.list.arguments = 2;
      r.list.add_block(0, 1, 1);
      r.list.add_block(0, 2, 1);
      r.list.add_block(0, 3, 1);
      r.list.add_binding(0, 1, 12);
      const uint16_t choice =
          r.list.add_condition(WEFT_CONTROL_OPCODE_IF, 0, c.condition, static_cast<uint32_t>(c.value));
      r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
      const uint16_t last = otherwise ? r.list.otherwise(choice) : choice;
      if (otherwise) r.list.add(WEFT_CONTROL_OPCODE_RUN, 1);
      r.list.end(last);
      r.list.add(WEFT_CONTROL_OPCODE_RUN, 2);
      Run::word(1, 12) = static_cast<uint32_t>(c.word);
      r.launch();
      assert_int_equal(CODE(r.completion), WEFT_ERROR_OK);
      std::vector<uint32_t> tags;
      for (const auto& s : r.seen) tags.push_back(s.tag);
      std::vector<uint32_t> expected;
      if (c.holds) expected.push_back(1);
      if (!c.holds && otherwise) expected.push_back(2);
      expected.push_back(3);
      assert_true(tags == expected);
    }
  }
}

static void a_fault_names_entry_block_and_turns(void**) {
  Run r;
  r.list.arguments = 1;
  r.list.add_block(0, 0, 4);
  r.list.add_block(0, 8, 4);
  const uint16_t outer = r.list.add(WEFT_CONTROL_OPCODE_LOOP, 0, 3);
  const uint16_t inner = r.list.add(WEFT_CONTROL_OPCODE_LOOP, 0, 2);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 1);
  r.list.end(inner);
  r.list.end(outer);
  machine().core.fault_code = WEFT_FAULT_RANGE;
  machine().core.fault_command = 8 * 3 + 4 + 2;  // turn 1.1, the second block, its third command
  r.launch();
  assert_int_equal(CODE(r.completion), WEFT_ERROR_DMA_FAULT);
  const auto f = r.host.fault(1);
  assert_int_equal(f.control_entry, 4);
  assert_int_equal(f.control_block, 1);
  assert_int_equal(f.control_turn[0], 1);
  assert_int_equal(f.control_turn[1], 1);
  assert_int_equal(f.control_turn[2], 0);
  assert_int_equal(f.fault_tag, 10);
  assert_int_equal(f.queue_total[0], 4);
  assert_int_equal(f.queue_retired[0], 2);
}

static void a_semaphore_left_over_is_found_before_the_next_block_and_other_chips_post_for_later(void**) {
  Run r;
  r.list.add_block(0, 0, 1);
  const uint16_t loop = r.list.add(WEFT_CONTROL_OPCODE_LOOP, 0, 5);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
  r.list.end(loop);
  uint32_t commands = 0;
  machine().core.leftover[50] = 1;
  r.launch([&](uint32_t) {
    if (++commands == 3) machine().core.leftover[7] = 1;
  });
  assert_int_equal(CODE(r.completion), WEFT_ERROR_SEMAPHORE_FAULT);
  assert_int_equal(commands, 3);
  assert_int_equal(r.host.fault(1).fault_address, 7);
  assert_int_equal(r.host.fault(1).control_turn[0], 2);
  Run end;
  end.list.add_block(0, 0, 1);
  end.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
  machine().core.leftover[50] = 1;
  end.launch();
  assert_int_equal(CODE(end.completion), WEFT_ERROR_SEMAPHORE_FAULT);  // nobody waits for it any more
}

static void a_while_that_never_ends_is_ended_by_budget_default_budget_and_cancel(void**) {
  for (const uint32_t budget : {50u, 0u}) {
    Run r;
    add_while(r, 5);
    r.budget_kcycles = budget;
    uint32_t commands = 0;
    r.launch(
        [&](uint32_t) {  // the default would be reached after millions of turns: in the fifth, that much time passes at once
          if (budget == 0 && ++commands == 5)
            machine().at_cycle[machine().now] = [] {
              machine().now += uint64_t{WEFT_EXECUTABLE_CONTROL_BUDGET_KCYCLES} * 1000;
            };
        });
    if (budget == 0) assert_in_range(commands, 5, 10);
    assert_int_equal(CODE(r.completion), WEFT_ERROR_BUDGET_EXCEEDED);
    const auto f = r.host.fault(1);
    assert_int_equal(f.detail0, uint64_t{budget != 0 ? budget : WEFT_EXECUTABLE_CONTROL_BUDGET_KCYCLES} * 1000);
    assert_int_equal(f.control_entry, 3);
    assert_true(f.control_turn[0] > 2);
    assert_false(machine().core.busy());
  }
  Run r;
  add_while(r, 5);
  r.started = [&r] {
    machine().at_cycle[machine().now + 60'000] = [&r] {
      auto e = entry(WEFT_ADMIN_OPCODE_ABORT);
      e.arg0 = 1;
      e.arg1 = 3;
      e.size = 0;
      r.host.submit(0, e);
    };
  };
  r.launch();
  assert_int_equal(CODE(r.completion), WEFT_ERROR_CANCELLED);
  assert_true(r.seen.size() > 3);
}

static void empty_turns_without_end_leave_the_firmware_awake_for_others(void**) {
  Run r;
  r.list.add_block(0, 0, 1);
  const uint16_t a = r.list.add(WEFT_CONTROL_OPCODE_LOOP, 0, UINT32_MAX);
  const uint16_t b = r.list.add(WEFT_CONTROL_OPCODE_LOOP, 0, UINT32_MAX);
  r.list.end(b);
  r.list.end(a);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
  r.budget_kcycles = 400;
  uint64_t answered = 0;
  r.started = [&] {
    const uint64_t rung = machine().now + 60'000;
    machine().at_cycle[rung] = [&r] { r.host.submit(0, entry(WEFT_ADMIN_OPCODE_SET_TIMEOUT)); };
    machine().at_cycle[rung + 20'000] = [&] { answered = r.host.drain(0).size(); };
  };
  r.launch();
  assert_int_equal(CODE(r.completion), WEFT_ERROR_BUDGET_EXCEEDED);
  assert_int_equal(answered, 1);
  assert_int_equal(r.seen.size(), 0);
}

static void reads_that_fail_end_the_launch(void**) {
  // Of the list's parts before anything runs, then of the word.
  for (int dma = 0; dma < 12; dma++) {
    Run r;
    add_while(r, 3);
    bool armed = false;
    r.started = [&] {
      machine().fail_dma_after = dma + 1;  // the first is that of the submission entry
      armed = true;
    };
    r.launch([](uint32_t) { Run::word(1)++; });
    assert_true(armed);
    machine().fail_dma_after = -1;
    if (dma < 6) {
      assert_int_equal(CODE(r.completion), WEFT_ERROR_DMA_FAULT);
      assert_int_equal(r.seen.size(), 0);
    }
    assert_false(machine().core.busy());
  }
}

static void lost_interrupts_cost_time_and_nothing_else(void**) {
  Run r;
  add_while(r, 4);
  machine().core.deaf = true;
  r.launch([](uint32_t) { Run::word(1)++; });
  assert_int_equal(CODE(r.completion), WEFT_ERROR_OK);
  assert_int_equal(r.seen.size(), 4);
}

static void the_same_launch_takes_the_same_cycles_again(void**) {
  uint64_t cycles[2];
  for (uint64_t& each : cycles) {
    Run r;
    add_while(r, 6);
    r.launch([](uint32_t) { Run::word(1)++; });
    each = r.completion.end_cycle - r.completion.start_cycle;
  }
  assert_int_equal(cycles[0], cycles[1]);
  std::printf("  a turn of a while whose block takes 2000 cycles: %llu cycles\n",
              static_cast<unsigned long long>(cycles[0] / 6));
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(blocks_run_one_after_the_other_with_their_segments),
      cmocka_unit_test(windows_move_with_the_turns_of_their_loops),
      cmocka_unit_test(a_bind_in_a_loop_holds_in_every_turn_also_when_another_came_between),
      cmocka_unit_test(a_while_ends_when_its_word_says_so_and_at_its_limit),
      cmocka_unit_test(conditions_compare_as_they_say),
      cmocka_unit_test(a_fault_names_entry_block_and_turns),
      cmocka_unit_test(a_semaphore_left_over_is_found_before_the_next_block_and_other_chips_post_for_later),
      cmocka_unit_test(a_while_that_never_ends_is_ended_by_budget_default_budget_and_cancel),
      cmocka_unit_test(empty_turns_without_end_leave_the_firmware_awake_for_others),
      cmocka_unit_test(reads_that_fail_end_the_launch),
      cmocka_unit_test(lost_interrupts_cost_time_and_nothing_else),
      cmocka_unit_test(the_same_launch_takes_the_same_cycles_again),
  };
  return cmocka_run_group_tests_name("firmware/control_run", tests, nullptr, nullptr);
}
