// What a fault record says of the core: the fault, its queues, its semaphores; and semaphores left behind.
#include "firmware/core/core_fault.hpp"

#include "check.hpp"
#include "mock_hal.hpp"

using namespace weft::fw;
using mock::machine;

namespace {

mock::Command signal(uint16_t tag) {
  mock::Command command{WEFT_OPCODE_SIGNAL};
  command[2] = static_cast<uint8_t>(tag);
  command[3] = static_cast<uint8_t>(tag >> 8);
  return command;
}

void push(uint32_t queue, uint16_t tag) { assert_true(machine().core.push(queue, signal(tag).data(), machine().now)); }

}  // namespace

static int fresh(void**) {
  mock::reset();
  return 0;
}

static void no_fault_is_all_zero(void**) {
  const core::Fault fault = core::read_fault();
  assert_int_equal(fault.code, 0);
  assert_int_equal(fault.cycle, 0);
}

static void a_fault_is_read_with_unit_queue_tag_address_and_cycle(void**) {
  machine().core.fault_code = WEFT_FAULT_SEGMENT;
  machine().core.fault_queue = WEFT_QUEUE_VPU;
  machine().core.fault_address = 0xabcd'0000'1234;
  push(WEFT_QUEUE_VPU, 0x8765);
  machine().spend(10);
  const core::Fault fault = core::read_fault();
  assert_int_equal(fault.code, WEFT_FAULT_SEGMENT);
  assert_int_equal(fault.queue, WEFT_QUEUE_VPU);
  assert_int_equal(fault.tag, 0x8765);
  assert_true(fault.address == 0xabcd'0000'1234);
  assert_true(fault.cycle != 0 && fault.cycle <= machine().now);
}

static void a_record_holds_levels_retirements_tags_and_semaphores_of_the_moment(void**) {
  machine().core.service_cycles[WEFT_QUEUE_MXU] = 1'000'000;
  for (uint16_t tag = 1; tag <= 4; tag++) push(WEFT_QUEUE_MXU, tag);  // one runs, three wait
  push(WEFT_QUEUE_SYNC, 9);
  machine().spend(500);
  const core::Fault fault{WEFT_FAULT_RANGE, 2, 3, 4, 5, 6};
  weft_fault_record record{};
  core::describe(fault, record);
  assert_int_equal(record.fault_code, WEFT_FAULT_RANGE);
  assert_int_equal(record.fault_unit, 2);
  assert_int_equal(record.fault_queue, 3);
  assert_int_equal(record.fault_tag, 4);
  assert_int_equal(record.fault_address, 5);
  assert_int_equal(record.fault_cycle, 6);
  assert_int_equal(record.queue_level[WEFT_QUEUE_MXU], 3);
  assert_int_equal(record.queue_retired[WEFT_QUEUE_MXU], 0);
  assert_int_equal(record.queue_retired[WEFT_QUEUE_SYNC], 1);
  assert_int_equal(record.queue_tag[WEFT_QUEUE_MXU], 2);
}

static void the_first_semaphore_that_is_not_zero_is_the_leak_and_is_found_by_one_read(void**) {
  assert_int_equal(core::find_leak(), WEFT_SEMAPHORES);
  assert_int_equal(machine().csr_reads, 1);
  machine().core.leftover[63] = 3;
  assert_int_equal(core::find_leak(), 63);
  for (const uint32_t s : {32, 31, 7, 0}) {
    machine().core.leftover[s] = 0x100;
    assert_int_equal(core::find_leak(), s);
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(no_fault_is_all_zero, fresh),
      cmocka_unit_test_setup(a_fault_is_read_with_unit_queue_tag_address_and_cycle, fresh),
      cmocka_unit_test_setup(a_record_holds_levels_retirements_tags_and_semaphores_of_the_moment, fresh),
      cmocka_unit_test_setup(the_first_semaphore_that_is_not_zero_is_the_leak_and_is_found_by_one_read, fresh),
  };
  return cmocka_run_group_tests_name("firmware/core/core_fault", tests, nullptr, nullptr);
}
