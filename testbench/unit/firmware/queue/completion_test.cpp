// Completions: phase around every wrap, full rings, doorbells of the host.
#include "firmware/queue/completion.hpp"

#include <initializer_list>
#include <memory>

#include "check.hpp"
#include "firmware/admin/admin.hpp"
#include "host_side.hpp"

using namespace mock;
using namespace weft::fw;

namespace {

struct OneRing {
  std::unique_ptr<State> state = std::make_unique<State>();
  Queue& queue = state->functions[0].queues[2];
  CompletionRing& ring = state->functions[0].rings[2];
  explicit OneRing(uint32_t base, uint32_t entries) {
    reset();
    open_pair(state->functions[0], 2, kRings, entries, kRings + 0x10000, entries);
    ring.doorbell = ring.tail = base;
    machine().completion_doorbell[2] = base;
    machine().writable = {{WEFT_ADDRESS_SPACE_HOST, kRings + 0x10000, entries * sizeof(weft_completion_entry)}};
  }
  const weft_completion_entry& at(uint32_t slot) {
    return *reinterpret_cast<weft_completion_entry*>(
        machine().find(WEFT_ADDRESS_SPACE_HOST, kRings + 0x10000 + slot * 32, 32));
  }
};

bool check_holds(weft_completion_entry c) {
  const uint32_t check = WEFT_STATUS_CHECK(c.status);
  c.status = WEFT_STATUS_WITH_CHECK(c.status, 0);
  return (mock::crc32c(&c, sizeof c) & 0xff) == check;
}

}  // namespace

static void every_field_arrives_and_the_phase_flips_each_lap(void**) {
  for (uint32_t entries : {2u, 8u}) {
    for (uint32_t base : {0u, 1u, UINT32_MAX - 5, UINT32_MAX}) {
      OneRing r(base, entries);
      for (uint32_t i = 0; i < 4 * entries; i++) {
        const uint32_t index = base + i;
        machine().completion_doorbell[2] = index;
        assert_true(completion_room(*r.state, r.queue));
        auto e = entry(WEFT_QUEUE_OPCODE_NOP, static_cast<uint16_t>(i));
        r.queue.head = 77 + i;
        complete(*r.state, r.queue, e, Completion{WEFT_ERROR_BUSY, true, 11, 22});
        const auto& c = r.at(index & (entries - 1));
        assert_int_equal(c.status & 0xffffff,
                         WEFT_STATUS((index & entries) == 0, WEFT_ERROR_CLASS_HOST, WEFT_ERROR_BUSY, 1, 1));
        assert_true(check_holds(c));
        assert_int_equal(c.command_id, i);
        assert_int_equal(c.tag, 0x1000 + i);
        assert_int_equal(c.queue_id, 2);
        assert_int_equal(c.queue_head, 77 + i);
        assert_int_equal(c.start_cycle, 11);
        assert_int_equal(c.end_cycle, 22);
        assert_int_equal(machine().registers[WEFT_REG_PROGRESS], i + 1);
      }
      assert_int_equal(machine().stray_writes, 0);
      assert_int_equal(machine().interrupts.size(), 0);
    }
  }
}

static void a_full_ring_takes_nothing_until_the_host_moves_its_head(void**) {
  for (uint32_t base : {0u, UINT32_MAX - 1}) {
    OneRing r(base, 4);
    const auto e = entry(WEFT_QUEUE_OPCODE_NOP);
    for (int i = 0; i < 4; i++) {
      assert_true(completion_room(*r.state, r.queue));
      complete(*r.state, r.queue, e, Completion{WEFT_ERROR_OK, false, 0, 0});
    }
    assert_false(completion_room(*r.state, r.queue));
    machine().completion_doorbell[2] = base + 1;
    assert_true(completion_room(*r.state, r.queue));
    complete(*r.state, r.queue, e, Completion{WEFT_ERROR_OK, false, 0, 0});
    assert_false(completion_room(*r.state, r.queue));
  }
}

static void a_head_that_goes_backwards_or_past_the_tail_halts_the_queue(void**) {
  for (uint32_t base : {5u, UINT32_MAX}) {
    for (uint32_t bad : {base - 1, base + 3, base + 0x80000000u}) {
      OneRing r(base, 4);
      complete(*r.state, r.queue, entry(WEFT_QUEUE_OPCODE_NOP), Completion{WEFT_ERROR_OK, false, 0, 0});
      complete(*r.state, r.queue, entry(WEFT_QUEUE_OPCODE_NOP), Completion{WEFT_ERROR_OK, false, 0, 0});
      machine().completion_doorbell[2] = bad;
      refresh_completion_head(*r.state, r.queue);
      assert_true(r.queue.state == QueueState::kHalted);
      assert_int_equal(machine().registers[WEFT_REG_FIRST_ERROR], WEFT_ERROR_BAD_DOORBELL);
    }
  }
}

static void the_interrupt_comes_by_flag_after_the_entry(void**) {
  OneRing r(0, 4);
  auto e = entry(WEFT_QUEUE_OPCODE_NOP);
  e.flags = WEFT_SUBMISSION_FLAG_INTERRUPT;
  complete(*r.state, r.queue, e, Completion{WEFT_ERROR_OK, false, 0, 0});
  assert_int_equal(machine().interrupts.size(), 1);
  assert_int_equal(machine().interrupts[0], 2);
}

static void a_ring_that_cannot_be_written_halts_the_queue(void**) {
  OneRing r(0, 4);
  machine().fail_dma_after = 0;
  complete(*r.state, r.queue, entry(WEFT_QUEUE_OPCODE_NOP), Completion{WEFT_ERROR_OK, false, 0, 0});
  assert_true(r.queue.state == QueueState::kHalted);
  assert_int_equal(machine().registers[WEFT_REG_FIRST_ERROR], WEFT_ERROR_DMA_FAULT);
}

static void every_bit_of_a_completion_is_under_its_check(void**) {
  OneRing r(0, 4);
  complete(*r.state, r.queue, entry(WEFT_QUEUE_OPCODE_NOP, 0x1234), Completion{WEFT_ERROR_BUSY, true, 11, 22});
  assert_true(check_holds(r.at(0)));
  for (uint32_t bit = 0; bit < 8 * sizeof(weft_completion_entry); bit++) {
    weft_completion_entry c = r.at(0);
    reinterpret_cast<uint8_t*>(&c)[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    assert_false(check_holds(c));
  }
}

static void nothing_is_written_after_a_panic(void**) {
  OneRing r(0, 4);
  r.state->panicked = true;
  complete(*r.state, r.queue, entry(WEFT_QUEUE_OPCODE_NOP), Completion{WEFT_ERROR_OK, false, 0, 0});
  assert_int_equal(r.ring.tail, 0);
  assert_int_equal(machine().registers[WEFT_REG_PROGRESS], 0);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_field_arrives_and_the_phase_flips_each_lap),
      cmocka_unit_test(a_full_ring_takes_nothing_until_the_host_moves_its_head),
      cmocka_unit_test(a_head_that_goes_backwards_or_past_the_tail_halts_the_queue),
      cmocka_unit_test(the_interrupt_comes_by_flag_after_the_entry),
      cmocka_unit_test(a_ring_that_cannot_be_written_halts_the_queue),
      cmocka_unit_test(every_bit_of_a_completion_is_under_its_check),
      cmocka_unit_test(nothing_is_written_after_a_panic),
  };
  return cmocka_run_group_tests_name("firmware/completion", tests, nullptr, nullptr);
}
