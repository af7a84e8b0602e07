// Small steps on the core's registers: reset within a bound, interrupts taken once, segments mapped and unmapped.
#include "firmware/core/core.hpp"

#include "check.hpp"
#include "mock_hal.hpp"

using namespace weft::fw;
using mock::machine;

static int fresh(void**) {
  mock::reset();
  return 0;
}

static void a_reset_leaves_an_idle_core(void**) {
  const mock::Command command{WEFT_OPCODE_SIGNAL};
  assert_true(machine().core.push(WEFT_QUEUE_SYNC, command.data(), machine().now));
  assert_true(core::reset());
  assert_int_equal(machine().core.resets, 1);
  assert_false(machine().core.busy());
}

static void a_queue_fetches_its_commands_until_a_reset(void**) {
  constexpr uint64_t kCommands = 0x10000;
  constexpr uint32_t kCount = 40;
  for (uint32_t i = 0; i < kCount; i++) machine().hbm.data()[kCommands + i * WEFT_COMMAND_BYTES + 2] = uint8_t(i);
  machine().core.hang_queue = WEFT_QUEUE_VPU;
  core::start_fetch(WEFT_QUEUE_VPU, kCommands, kCount);
  assert_int_equal(core::fetch_left(WEFT_QUEUE_VPU), kCount);
  assert_int_equal(core::fetch_left(WEFT_QUEUE_MXU), 0);
  machine().spend(mock::kHbmReadCycles);
  const auto& taken = machine().core.accepted[WEFT_QUEUE_VPU];
  assert_int_equal(taken.size(), WEFT_CORE_QUEUE_DEPTH + 1);
  for (uint32_t i = 0; i < taken.size(); i++) assert_int_equal(taken[i][2], i);
  assert_int_equal(core::fetch_left(WEFT_QUEUE_VPU), kCount - taken.size());
  assert_true(core::reset());
  assert_int_equal(core::fetch_left(WEFT_QUEUE_VPU), 0);
  assert_false(machine().core.busy());
}

static void a_core_that_stays_busy_after_its_reset_is_given_up_within_a_bound(void**) {
  machine().core.reset_stuck = true;
  const uint64_t before = machine().now;
  assert_false(core::reset());
  assert_true(machine().now - before < 100 * WEFT_CORE_CORE_RESET_CYCLES);
}

static void interrupt_bits_are_taken_once(void**) {
  machine().core.fault_code = WEFT_FAULT_RANGE;
  machine().core.fault_queue = WEFT_QUEUE_SYNC;
  const mock::Command command{WEFT_OPCODE_SIGNAL};
  assert_true(machine().core.push(WEFT_QUEUE_SYNC, command.data(), machine().now));
  machine().spend(1000);
  assert_true((core::take_interrupts() & WEFT_CSR_INTERRUPT_FAULT) != 0);
  assert_int_equal(core::take_interrupts() & WEFT_CSR_INTERRUPT_FAULT, 0);
}

static void a_segment_is_mapped_with_base_limit_space_and_permissions(void**) {
  core::map_segment(31, WEFT_ADDRESS_SPACE_HOST, 0x1000, 0x200,
                    WEFT_CSR_SEGMENT_ATTRIBUTES_READABLE | WEFT_CSR_SEGMENT_ATTRIBUTES_WRITABLE);
  machine().spend(10);
  assert_int_equal(machine().core.base(31), 0x1000);
  assert_int_equal(machine().core.limit(31), 0x200);
  assert_int_equal(machine().core.attributes(31), WEFT_ADDRESS_SPACE_HOST | WEFT_CSR_SEGMENT_ATTRIBUTES_READABLE |
                                                      WEFT_CSR_SEGMENT_ATTRIBUTES_WRITABLE);
  core::unmap_segment(31);
  machine().spend(10);
  assert_int_equal(machine().core.attributes(31), 0);
}

static void semaphores_become_bits_of_both_halves_and_none_becomes_no_bit(void**) {
  for (uint32_t s = 0; s < WEFT_SEMAPHORES; s++) assert_true(core::semaphore_bit(s) == uint64_t{1} << s);
  for (const uint32_t s : {uint32_t{WEFT_SEMAPHORES}, uint32_t{WEFT_NO_SEMAPHORE}, UINT32_MAX})
    assert_int_equal(core::semaphore_bit(s), 0);
  mock::Command command{};
  command[WEFT_COMMAND_POST_SEM0] = 5;
  command[WEFT_COMMAND_POST_SEM1] = 40;
  assert_true(core::posted_by(command.data()) == (uint64_t{1} << 5 | uint64_t{1} << 40));
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_reset_leaves_an_idle_core, fresh),
      cmocka_unit_test_setup(a_queue_fetches_its_commands_until_a_reset, fresh),
      cmocka_unit_test_setup(a_core_that_stays_busy_after_its_reset_is_given_up_within_a_bound, fresh),
      cmocka_unit_test_setup(interrupt_bits_are_taken_once, fresh),
      cmocka_unit_test_setup(a_segment_is_mapped_with_base_limit_space_and_permissions, fresh),
      cmocka_unit_test_setup(semaphores_become_bits_of_both_halves_and_none_becomes_no_bit, fresh),
  };
  return cmocka_run_group_tests_name("firmware/core/core", tests, nullptr, nullptr);
}
