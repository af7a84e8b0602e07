// The firmware's own end: every function is told once, and nothing is done afterwards.
#include "firmware/panic.hpp"

#include <array>

#include "check.hpp"
#include "firmware/main_loop.hpp"
#include "host_side.hpp"

using namespace weft::fw;
using mock::machine;

namespace {

State& two_functions() {
  machine().functions = 2;
  State& state = mock::make_state();
  for (uint32_t i = 0; i < 2; i++) {
    state.functions[i].faults = {mock::kFaults, 0, 0, false};
    state.functions[i].log = {mock::kLog, LogLevel::kError, 0, 0, false};
  }
  return state;
}

const weft_fault_record& record(uint32_t function) {
  return *reinterpret_cast<const weft_fault_record*>(
      machine().find(WEFT_ADDRESS_SPACE_HOST, mock::kFaults, sizeof(weft_fault_record), function));
}

}  // namespace

static int fresh(void**) {
  mock::reset();
  return 0;
}

static void every_function_sees_the_state_the_error_a_record_and_vector_zero(void**) {
  State& state = two_functions();
  state.waypoint = Waypoint::kLaunchRun;
  panic(state, 0x1234);
  for (uint32_t f = 0; f < 2; f++) {
    auto& side = machine().side(f);
    assert_int_equal(side.registers[WEFT_REG_DEVICE_STATE], WEFT_DEVICE_STATE_FAILED);
    assert_int_equal(side.registers[WEFT_REG_FIRST_ERROR], WEFT_ERROR_FIRMWARE_PANIC);
    assert_int_equal(side.interrupts.size(), 1);
    assert_int_equal(side.interrupts[0], completion_vector(kAdminQueue));
    assert_int_equal(record(f).error, WEFT_ERROR_FIRMWARE_PANIC);
    assert_int_equal(record(f).detail0, WEFT_WAYPOINT_LAUNCH_RUN);
    assert_int_equal(record(f).detail1, 0x1234);
    assert_int_equal(state.functions[f].log.sequence, 1);
  }
}

static void the_engines_stand_still_before_anybody_is_told(void**) {
  State& state = two_functions();
  const std::array<uint8_t, WEFT_COMMAND_BYTES> command{};
  assert_true(hal::push_command(WEFT_QUEUE_MXU, command.data()));
  assert_true(hal::copy_start(Location{WEFT_ADDRESS_SPACE_NONE, 0, 1}, hbm_at(mock::kData), 1u << 20));
  uint32_t told = 0;
  machine().before_telling = [&](uint64_t) {
    told++;
    assert_false(machine().core.busy());
    assert_false(machine().copy_running);
  };
  panic(state, 1);
  assert_true(told > 0);
  assert_int_equal(machine().copies_aborted, 1);
}

static void a_second_panic_changes_nothing(void**) {
  State& state = two_functions();
  panic(state, 1);
  panic(state, 2);
  assert_int_equal(state.functions[0].faults.written, 1);
  assert_int_equal(record(0).detail1, 1);
}

static void a_panic_without_rings_still_shows_in_the_registers(void**) {
  State& state = two_functions();
  state.functions[0].faults.iova = state.functions[0].log.iova = 0;
  panic(state, 1);
  assert_int_equal(machine().registers[WEFT_REG_FIRST_ERROR], WEFT_ERROR_FIRMWARE_PANIC);
  assert_int_equal(machine().interrupts.size(), 1);
}

static void a_panicked_firmware_sleeps_and_serves_nobody_until_its_reset(void**) {
  State& state = mock::make_state();
  state.panicked = true;
  mock::Host host;  // asks for a boot
  run(state);
  assert_false(machine().hung);
  assert_true(machine().boot_pending);
  assert_int_equal(machine().dma_reads, 0);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(every_function_sees_the_state_the_error_a_record_and_vector_zero, fresh),
      cmocka_unit_test_setup(the_engines_stand_still_before_anybody_is_told, fresh),
      cmocka_unit_test_setup(a_second_panic_changes_nothing, fresh),
      cmocka_unit_test_setup(a_panic_without_rings_still_shows_in_the_registers, fresh),
      cmocka_unit_test_setup(a_panicked_firmware_sleeps_and_serves_nobody_until_its_reset, fresh),
  };
  return cmocka_run_group_tests_name("firmware/panic", tests, nullptr, nullptr);
}
