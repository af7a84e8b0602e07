// The core between two functions: who finds it clean, what clears it, and a core that does not obey.
#include "firmware/core/core_scrub.hpp"

#include "check.hpp"
#include "firmware/boot.hpp"
#include "host_side.hpp"

using namespace mock;
using namespace weft::fw;

namespace {

State& two_functions() {
  reset();
  machine().functions = 2;
  return make_state();
}

void let_pass(State& state, uint64_t cycles) {
  machine().spend(cycles);
  core_scrub_service(state);
}

uint32_t field(const Command& command, uint32_t offset, uint32_t bytes) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < bytes; i++) value |= uint32_t{command[offset + i]} << (8 * i);
  return value;
}

}  // namespace

static void a_function_that_follows_itself_or_nobody_finds_the_core_clean(void**) {
  State& state = two_functions();
  assert_true(core_clean_for(state, 1));
  assert_true(core_clean_for(state, 1));
  assert_int_equal(machine().core.accepted[WEFT_QUEUE_DMA_IN].size(), 0);
  assert_int_equal(core_scrub_wake_cycle(state), UINT64_MAX);
}

static void another_function_waits_until_vmem_and_both_banks_of_each_acc_are_cleared(void**) {
  State& state = two_functions();
  const auto shape = hal::core_shape();
  assert_true(core_clean_for(state, 0));
  assert_false(core_clean_for(state, 1));
  assert_false(core_clean_for(state, 0));  // neither does the former one come in between
  assert_true(core_scrub_wake_cycle(state) != UINT64_MAX);
  let_pass(state, 10'000);
  assert_true(core_clean_for(state, 1));
  const auto& fills = machine().core.accepted[WEFT_QUEUE_DMA_IN];
  const auto& products = machine().core.accepted[WEFT_QUEUE_MXU];
  assert_int_equal(fills.size(), 1);
  assert_int_equal(products.size(), 2 * shape.mxus);
  assert_int_equal(field(fills[0], WEFT_COMMAND_POST_COUNT0, 2), 2 * shape.mxus);
  assert_int_equal(field(fills[0], WEFT_COMMAND_OPCODE, 1), WEFT_OPCODE_FILL);
  assert_int_equal(field(fills[0], WEFT_COMMAND_DMA_SIZE0, 4), shape.vmem_bytes);
  assert_int_equal(field(fills[0], WEFT_COMMAND_DMA_SRC_OFF, 4), 0);
  for (uint32_t i = 0; i < 2 * shape.mxus; i++) {
    assert_int_equal(field(products[i], WEFT_COMMAND_MXU_MXU, 1), i / 2);
    assert_int_equal(field(products[i], WEFT_COMMAND_MXU_ACC_ROW, 2), i % 2 * shape.acc_bank_rows);
    assert_int_equal(field(products[i], WEFT_COMMAND_MXU_M, 2), shape.acc_bank_rows);
    assert_int_equal(field(products[i], WEFT_COMMAND_WAIT_SEM0, 1), field(fills[0], WEFT_COMMAND_POST_SEM0, 1));
  }
}

static void what_a_process_left_is_cleared_even_for_its_own_function(void**) {
  State& state = two_functions();
  assert_true(core_clean_for(state, 0));
  core_tenant_left(state, 1);  // somebody else's departure changes nothing
  assert_true(core_clean_for(state, 0));
  core_tenant_left(state, 0);
  assert_false(core_clean_for(state, 0));
  let_pass(state, 10'000);
  assert_true(core_clean_for(state, 0));
}

static void a_reset_of_the_core_in_the_middle_does_not_count_as_cleared(void**) {
  State& state = two_functions();
  assert_true(core_clean_for(state, 0));
  assert_false(core_clean_for(state, 1));
  core_scrub_cancel(state);
  let_pass(state, 10'000);
  assert_false(core_clean_for(state, 1));
  assert_false(core_clean_for(state, 0));
  let_pass(state, 10'000);
  assert_true(core_clean_for(state, 1));
  core_scrub_cancel(state);  // nothing was under way
  assert_true(core_clean_for(state, 1));
}

static void a_core_that_does_not_finish_or_faults_or_stays_in_reset_is_a_panic(void**) {
  for (int kind = 0; kind < 3; kind++) {
    State& state = two_functions();
    assert_true(core_clean_for(state, 0));
    if (kind == 0) machine().core.hang_queue = WEFT_QUEUE_MXU;
    if (kind == 0) machine().core.watchdog_dead = true;
    if (kind == 1) machine().core.fault_code = WEFT_FAULT_ECC_UNCORRECTABLE;
    if (kind == 1) machine().core.fault_queue = WEFT_QUEUE_MXU;
    if (kind == 2) machine().core.reset_stuck = true;
    assert_false(core_clean_for(state, 1));
    if (kind == 0) {
      let_pass(state, 10'000);
      assert_false(state.panicked);  // it has time until its deadline
      let_pass(state, core_scrub_wake_cycle(state) - machine().now);
    } else if (kind == 1) {
      let_pass(state, 10'000);
    }
    assert_true(state.panicked);
    assert_false(state.core_tenant.scrubbing);
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_function_that_follows_itself_or_nobody_finds_the_core_clean),
      cmocka_unit_test(another_function_waits_until_vmem_and_both_banks_of_each_acc_are_cleared),
      cmocka_unit_test(what_a_process_left_is_cleared_even_for_its_own_function),
      cmocka_unit_test(a_reset_of_the_core_in_the_middle_does_not_count_as_cleared),
      cmocka_unit_test(a_core_that_does_not_finish_or_faults_or_stays_in_reset_is_a_panic),
  };
  return cmocka_run_group_tests_name("firmware/core_scrub", tests, nullptr, nullptr);
}
