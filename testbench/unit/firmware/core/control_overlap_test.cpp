// Blocks of a control list that overlap: the bases that each command sees, what waits, and what a fault names.
#include <cstdio>

#include "control_launch.hpp"

using namespace mock;

/// A loop of `turns` turns of one block of `count` commands with flag overlap. Segment 5 moves by 32 bytes a turn.
static void add_overlapping_loop(Run& r, uint32_t turns, uint32_t count) {
  r.list.arguments = 1;
  r.list.commands = 64;
  r.list.add_block(0, 0, count);
  r.list.add_binding(kSegment, 0, 0, 32, 1);
  r.list.add(WEFT_CONTROL_OPCODE_BIND, 0, 1);
  const uint16_t loop = r.list.add(WEFT_CONTROL_OPCODE_LOOP, 0, turns);
  r.list.entries[r.list.add(WEFT_CONTROL_OPCODE_RUN, 0)].flags = WEFT_EXECUTABLE_CONTROL_OVERLAP;
  r.list.end(loop);
}

static void turns_that_overlap_see_their_own_bases_and_the_core_never_falls_idle_between_them(void**) {
  constexpr uint32_t kTurns = 6, kCommands = 20;
  uint64_t took[2];
  for (const bool overlap : {false, true}) {
    Run r;
    add_overlapping_loop(r, kTurns, kCommands);
    if (!overlap) r.list.entries[2].flags = 0;
    r.service_cycles = 400;
    uint32_t started = 0, idle = 0, both = 0;
    machine().core.on_start = [&](int version, uint16_t tag) {
      const uint32_t turn = started / kCommands;
      assert_int_equal(tag, started % kCommands);
      assert_int_equal(version, overlap ? turn % 2 : 0);
      assert_int_equal(machine().core.base(kSegment, static_cast<unsigned>(version)), kData + turn * 32);
      idle += machine().core.level(0) == 0 ? 1 : 0;  // nothing behind it
      both += machine().core.versions_used() == 3 ? 1 : 0;
      started++;
    };
    r.launch();
    assert_int_equal(CODE(r.completion), WEFT_ERROR_OK);
    assert_int_equal(started, kTurns * kCommands);
    assert_int_equal(idle, 2 * (overlap ? 1 : kTurns));  // the first and the last between two drains
    assert_true(overlap ? both > kTurns : both == 0);
    took[overlap ? 1 : 0] = r.completion.end_cycle - r.completion.start_cycle;
  }
  assert_int_equal(took[1], kTurns * kCommands * 400);
  assert_true(took[0] > took[1] + 300 * (kTurns - 1));  // a drain each
}

static void a_segment_that_moves_in_some_turns_only_has_its_base_in_both_versions(void**) {
  constexpr uint32_t kInner = 3, kOuter = 4, kCommands = 20, kOther = kSegment + 1;
  Run r;
  r.list.arguments = 2;
  r.list.commands = 64;
  r.list.add_block(0, 0, kCommands);
  const uint16_t outer = 1, inner = 2;  // entries
  r.list.add_binding(kSegment, 0, 0, 32, inner);
  r.list.add_binding(kOther, 1, 0, 32, outer);
  r.list.add(WEFT_CONTROL_OPCODE_BIND, 0, 2);
  assert_int_equal(r.list.add(WEFT_CONTROL_OPCODE_LOOP, 0, kOuter), outer);
  assert_int_equal(r.list.add(WEFT_CONTROL_OPCODE_LOOP, 0, kInner), inner);
  r.list.entries[r.list.add(WEFT_CONTROL_OPCODE_RUN, 0)].flags = WEFT_EXECUTABLE_CONTROL_OVERLAP;
  r.list.end(inner);
  r.list.end(outer);
  r.service_cycles = 400;
  uint32_t started = 0;
  machine().core.on_start = [&](int version, uint16_t) {
    const uint32_t turn = started++ / kCommands;
    assert_int_equal(version, turn % 2);
    const auto of = static_cast<unsigned>(version);
    assert_int_equal(machine().core.base(kSegment, of), kData + turn % kInner * 32);
    assert_int_equal(machine().core.base(kOther, of), kData + 256 + turn / kInner * 32);
  };
  r.launch();
  assert_int_equal(CODE(r.completion), WEFT_ERROR_OK);
  assert_int_equal(started, kInner * kOuter * kCommands);
}

static void a_fault_in_turns_that_overlap_names_the_turn_of_its_command(void**) {
  for (const uint32_t command : {0u, 19u, 20u, 43u, 59u}) {
    Run r;
    add_overlapping_loop(r, 6, 20);
    r.service_cycles = 400;
    machine().core.fault_code = WEFT_FAULT_RANGE;
    machine().core.fault_command = command;
    r.launch();
    assert_int_equal(CODE(r.completion), WEFT_ERROR_DMA_FAULT);
    const auto f = r.host.fault(1);
    assert_int_equal(f.control_entry, 3);
    assert_int_equal(f.control_turn[0], command / 20);
    assert_int_equal(f.fault_tag, command % 20);
    assert_int_equal(f.queue_total[0], 20);
    assert_int_equal(f.queue_retired[0], command % 20);
    assert_in_range(f.queue_pushed[0], command % 20, 20);
  }
}

static void a_block_that_overlaps_waits_if_more_of_a_segment_changes_than_its_base(void**) {
  for (const uint64_t bytes : {16u, 48u}) {
    Run r;
    r.list.arguments = 2;
    r.list.add_block(0, 0, 20);
    r.list.add_binding(kSegment, 0);
    r.list.add_binding(kSegment, 1);
    r.list.bindings[1].size_bytes = bytes;
    r.list.add(WEFT_CONTROL_OPCODE_BIND, 0, 1);
    r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
    r.list.add(WEFT_CONTROL_OPCODE_BIND, 1, 1);
    r.list.entries[r.list.add(WEFT_CONTROL_OPCODE_RUN, 0)].flags = WEFT_EXECUTABLE_CONTROL_OVERLAP;
    uint32_t started = 0;
    machine().core.on_start = [&](int version, uint16_t) {
      const bool second = started++ >= 20;
      assert_int_equal(version, second && bytes == 16 ? 1 : 0);
      assert_int_equal(machine().core.base(kSegment, static_cast<unsigned>(version)), kData + (second ? 256 : 0));
      assert_int_equal(machine().core.limit(kSegment), second ? bytes : 16);
    };
    r.launch();
    assert_int_equal(CODE(r.completion), WEFT_ERROR_OK);
    assert_int_equal(started, 40);
  }
}

static void a_semaphore_may_be_left_for_a_block_that_overlaps_and_for_no_other(void**) {
  for (const bool overlap : {false, true}) {
    Run r;
    add_overlapping_loop(r, 4, 3);
    if (!overlap) r.list.entries[2].flags = 0;
    uint32_t commands = 0;
    machine().core.leftover[7] = 1;
    machine().core.on_start = [&](int, uint16_t) {
      if (++commands == 12) machine().core.leftover[7] = 0;
    };
    r.launch();
    assert_int_equal(CODE(r.completion), overlap ? WEFT_ERROR_OK : WEFT_ERROR_SEMAPHORE_FAULT);
  }
}

static void a_semaphore_may_not_be_left_for_a_condition_whose_block_overlaps(void**) {
  for (const bool left : {false, true}) {
    Run r;
    r.list.arguments = 1;
    r.list.commands = 64;
    r.list.add_block(0, 0, 3);
    r.list.add_binding(0, 0);
    const uint16_t loop = r.list.add_condition(WEFT_CONTROL_OPCODE_WHILE, 0, WEFT_CONTROL_CONDITION_LESS, 1);
    r.list.entries[r.list.add(WEFT_CONTROL_OPCODE_RUN, 0)].flags = WEFT_EXECUTABLE_CONTROL_OVERLAP;
    r.list.end(loop);
    uint32_t commands = 0;
    machine().core.leftover[7] = left ? 1 : 0;
    r.started = [&] { Run::word(0) = 0; };
    machine().core.on_start = [&](int, uint16_t) {
      if (++commands == 12) Run::word(0) = 1;
    };
    r.launch();
    assert_int_equal(CODE(r.completion), left ? WEFT_ERROR_SEMAPHORE_FAULT : WEFT_ERROR_OK);
    assert_int_equal(commands, left ? 3 : 12);
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(turns_that_overlap_see_their_own_bases_and_the_core_never_falls_idle_between_them),
      cmocka_unit_test(a_segment_that_moves_in_some_turns_only_has_its_base_in_both_versions),
      cmocka_unit_test(a_fault_in_turns_that_overlap_names_the_turn_of_its_command),
      cmocka_unit_test(a_block_that_overlaps_waits_if_more_of_a_segment_changes_than_its_base),
      cmocka_unit_test(a_semaphore_may_be_left_for_a_block_that_overlaps_and_for_no_other),
      cmocka_unit_test(a_semaphore_may_not_be_left_for_a_condition_whose_block_overlaps),
  };
  return cmocka_run_group_tests_name("firmware/control_overlap", tests, nullptr, nullptr);
}
