// Submission entries: every bit counts. Doorbells: every wrong one halts its queue.
#include "firmware/queue/submission.hpp"

#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

#include "check.hpp"
#include "firmware/admin/admin.hpp"
#include "firmware/queue/ring.hpp"
#include "host_side.hpp"

using namespace mock;
using namespace weft::fw;
using E = weft_submission_entry;

namespace {

/// One queue of 8 entries, its indices starting at `base`, without boot.
struct OneQueue {
  std::unique_ptr<State> state = std::make_unique<State>();
  Queue& queue = state->functions[0].queues[1];
  explicit OneQueue(uint32_t base = 0) {
    reset();
    state->batch_entries = kBatchEntries;
    open_pair(state->functions[0], 1, kRings, 8, kRings + 0x10000, 8);
    state->functions[0].faults.iova = kFaults;
    CompletionRing& completions = state->functions[0].rings[1];
    queue.head = queue.tail = completions.doorbell = completions.tail = base;
    completions.stale_doorbell = false;
    machine().completion_doorbell[1] = base;
  }
  E* ring() { return reinterpret_cast<E*>(machine().find(WEFT_ADDRESS_SPACE_HOST, kRings, 8 * sizeof(E))); }
  void doorbell(uint32_t tail) {
    machine().ring(1, tail);
    accept_doorbell(*state, queue);
  }
};

E launch() { return launch_entry(64, kLists, 5); }

}  // namespace

static void a_good_entry_of_every_built_opcode_passes(void**) {
  reset();
  E semaphore = entry(WEFT_QUEUE_OPCODE_WAIT);
  semaphore.wait_id = 1;
  seal(semaphore);
  assert_true(check_entry(semaphore, false, 0).ok());
  semaphore = entry(WEFT_QUEUE_OPCODE_SIGNAL);
  semaphore.signal_id = 1;
  seal(semaphore);
  assert_true(check_entry(semaphore, false, 0).ok());
  semaphore.opcode = WEFT_ADMIN_OPCODE_DELETE_QUEUE;
  seal(semaphore);
  ASSERT_REFUSED(check_entry(semaphore, true, 0), WEFT_ERROR_BAD_DESCRIPTOR, offsetof(E, signal_id), 1);
  for (uint8_t op : {WEFT_QUEUE_OPCODE_LAUNCH, WEFT_QUEUE_OPCODE_COPY, WEFT_QUEUE_OPCODE_FILL, WEFT_QUEUE_OPCODE_FENCE,
                     WEFT_QUEUE_OPCODE_TIMESTAMP, WEFT_QUEUE_OPCODE_NOP}) {
    assert_true(check_entry(entry(op), false, 0).ok());
  }
  for (uint8_t op :
       {WEFT_ADMIN_OPCODE_CREATE_QUEUE, WEFT_ADMIN_OPCODE_DELETE_QUEUE, WEFT_ADMIN_OPCODE_LOAD_PROGRAM,
        WEFT_ADMIN_OPCODE_UNLOAD_PROGRAM, WEFT_ADMIN_OPCODE_SET_LOG_LEVEL, WEFT_ADMIN_OPCODE_SET_TIMEOUT}) {
    assert_true(check_entry(entry(op), true, 0).ok());
  }
}

static void every_single_bit_flipped_is_refused(void**) {
  reset();
  const E good = launch();
  assert_true(check_entry(good, false, 0).ok());
  for (uint32_t bit = 0; bit < 8 * sizeof(E); bit++) {
    E bad = good;
    reinterpret_cast<uint8_t*>(&bad)[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    ASSERT_REFUSED(check_entry(bad, false, 0), WEFT_ERROR_BAD_DESCRIPTOR, offsetof(E, crc32c), bad.crc32c);
  }
}

static void with_a_good_crc_every_reserved_field_that_is_not_zero_is_refused(void**) {
  reset();
  struct Field {
    uint32_t offset, bytes;
  };
  const Field always[] = {{offsetof(E, context), 2},
                          {offsetof(E, reserved), 2},
                          {offsetof(E, wait_value), 8},
                          {offsetof(E, signal_value), 8}};
  const Field nop[] = {{offsetof(E, arg0), 8}, {offsetof(E, arg1), 8}, {offsetof(E, size), 8}};
  const auto flip_all = [](const E& good, const Field& f) {
    for (uint32_t bit = 0; bit < 8 * f.bytes; bit++) {
      E bad = good;
      reinterpret_cast<uint8_t*>(&bad)[f.offset + bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
      seal(bad);
      ASSERT_REFUSED(check_entry(bad, false, 0), WEFT_ERROR_BAD_DESCRIPTOR, f.offset, UINT64_C(1) << bit);
    }
  };
  for (const Field& f : always) flip_all(launch(), f);
  for (const Field& f : always) flip_all(entry(WEFT_QUEUE_OPCODE_NOP), f);
  for (const Field& f : nop) flip_all(entry(WEFT_QUEUE_OPCODE_NOP), f);
}

static void flags_that_are_not_built_are_refused(void**) {
  reset();
  for (uint32_t flags = 0; flags < 256; flags++) {
    E e = launch();
    e.flags = static_cast<uint8_t>(flags);
    seal(e);
    assert_int_equal(check_entry(e, false, 0).ok(), (flags & ~(1u | 2u | 4u | 8u)) == 0);
    assert_false(check_entry(e, true, 0).ok());
    e = entry(WEFT_QUEUE_OPCODE_NOP);
    e.flags = static_cast<uint8_t>(flags);
    seal(e);
    assert_int_equal(check_entry(e, false, 0).ok(), (flags & ~(1u | 2u | 4u)) == 0);
    e = entry(WEFT_ADMIN_OPCODE_DELETE_QUEUE);
    e.flags = static_cast<uint8_t>(flags);
    seal(e);
    assert_int_equal(check_entry(e, true, 0).ok(), (flags & ~(1u | 2u)) == 0);
  }
}

static void every_opcode_is_built_unsupported_or_bad(void**) {
  reset();
  for (bool admin : {false, true}) {
    int built = 0, unsupported = 0;
    for (uint32_t op = 0; op < 256; op++) {
      E e = entry(static_cast<uint8_t>(op));
      e.wait_id = !admin && op == WEFT_QUEUE_OPCODE_WAIT;
      e.signal_id = !admin && op == WEFT_QUEUE_OPCODE_SIGNAL;
      seal(e);
      const Status s = check_entry(e, admin, 0);
      built += s.ok();
      unsupported += s.error == WEFT_ERROR_UNSUPPORTED;
      if (!s.ok() && s.error != WEFT_ERROR_UNSUPPORTED) ASSERT_REFUSED(s, WEFT_ERROR_BAD_DESCRIPTOR, 0, op);
    }
    assert_int_equal(built, admin ? 16 : 8);
    assert_int_equal(unsupported, admin ? 2 : 1);
  }
}

static void entries_are_fetched_in_order_around_every_wrap(void**) {
  for (uint32_t base : {0u, 1u, 5u, 7u, UINT32_MAX - 3, UINT32_MAX}) {
    for (uint32_t count = 1; count <= 8; count++) {
      OneQueue q(base);
      for (uint32_t i = 0; i < count; i++)
        q.ring()[(base + i) & 7] = entry(WEFT_QUEUE_OPCODE_NOP, static_cast<uint16_t>(i));
      q.doorbell(base + count);
      for (uint32_t i = 0; i < count; i++) {
        assert_true(fetch_entry(*q.state, q.queue));
        assert_int_equal(batch_of(*q.state, q.queue)[q.queue.batch_next++].command_id, i);
      }
      assert_false(fetch_entry(*q.state, q.queue));
      assert_int_equal(q.queue.head, base + count);
      assert_true(machine().dma_reads <= 2);
    }
  }
}

static void a_bad_doorbell_halts_its_queue_and_says_what_was_written(void**) {
  for (uint32_t base : {0u, 3u, UINT32_MAX - 2, UINT32_MAX}) {
    for (uint32_t bad : {base - 1, base + 9, base + 0x80000000u, base + 3}) {
      OneQueue q(base);
      q.doorbell(base + 4);  // then base + 3 goes backwards
      assert_true(q.queue.state == QueueState::kActive);
      machine().interrupts.clear();
      q.doorbell(bad);
      assert_true(q.queue.state == QueueState::kHalted);
      assert_false(has_entry(q.queue));
      weft_fault_record r;
      std::memcpy(&r, machine().find(WEFT_ADDRESS_SPACE_HOST, kFaults, sizeof r), sizeof r);
      assert_int_equal(r.error, WEFT_ERROR_BAD_DOORBELL);
      assert_int_equal(r.queue_id, 1);
      assert_int_equal(r.detail0, bad);
      assert_int_equal(r.detail1, base);
      assert_int_equal(machine().registers[WEFT_REG_FIRST_ERROR], WEFT_ERROR_BAD_DOORBELL);
      assert_true((machine().interrupts == std::vector<uint32_t>{1, 0}));
      q.doorbell(base + 4);  // too late
      assert_true(q.queue.state == QueueState::kHalted);
    }
  }
}

static void a_ring_that_is_not_mapped_halts_its_queue(void**) {
  OneQueue q;
  q.doorbell(2);
  machine().fail_dma_after = 0;
  assert_false(fetch_entry(*q.state, q.queue));
  assert_true(q.queue.state == QueueState::kHalted);
  assert_int_equal(machine().registers[WEFT_REG_FIRST_ERROR], WEFT_ERROR_DMA_FAULT);
}

static void a_doorbell_that_comes_again_fetches_nothing_twice(void**) {
  for (uint32_t base : {0u, 5u, UINT32_MAX - 1}) {
    OneQueue q(base);
    for (uint32_t i = 0; i < 2; i++) {
      E e = entry(WEFT_QUEUE_OPCODE_NOP, static_cast<uint16_t>(i));
      seal(e);
      q.ring()[(base + i) & 7] = e;
    }
    for (int times = 0; times < 3; times++) q.doorbell(base + 2);
    assert_true(q.queue.state == QueueState::kActive);
    assert_true(fetch_entry(*q.state, q.queue));
    assert_int_equal(q.queue.batch_count, ((base + 2) & 7) < 2 && ((base + 2) & 7) != 0 ? 8 - (base & 7) : 2);
    q.queue.batch_next = q.queue.batch_count;
    q.queue.head = q.queue.tail;
    q.doorbell(base + 2);
    assert_false(has_entry(q.queue));
  }
}

static void a_doorbell_before_its_data_is_a_refused_entry_and_the_queue_goes_on(void**) {
  OneQueue q;
  q.doorbell(1);  // the ring is zero
  assert_true(fetch_entry(*q.state, q.queue));
  ASSERT_REFUSED(check_entry(*batch_of(*q.state, q.queue), false, 0), WEFT_ERROR_BAD_DESCRIPTOR, offsetof(E, crc32c),
                 0);
  assert_true(q.queue.state == QueueState::kActive);
}

static void what_an_earlier_lap_left_is_refused(void**) {
  OneQueue q;
  for (uint32_t i = 0; i < 8; i++) q.ring()[i] = entry(WEFT_QUEUE_OPCODE_NOP, static_cast<uint16_t>(i));
  q.queue.head = q.queue.tail = 8;
  q.doorbell(9);  // ahead of its data: slot 0 holds the entry of index 0 still
  assert_true(fetch_entry(*q.state, q.queue));
  const E stale = *batch_of(*q.state, q.queue);
  assert_int_equal(ring::lap(next_index(q.queue), ring::order(q.queue.entries)), 1);
  ASSERT_REFUSED(check_entry(stale, false, 1), WEFT_ERROR_BAD_DESCRIPTOR, offsetof(E, crc32c), stale.crc32c);
  assert_true(check_entry(stale, false, 0).ok());
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_good_entry_of_every_built_opcode_passes),
      cmocka_unit_test(every_single_bit_flipped_is_refused),
      cmocka_unit_test(with_a_good_crc_every_reserved_field_that_is_not_zero_is_refused),
      cmocka_unit_test(flags_that_are_not_built_are_refused),
      cmocka_unit_test(every_opcode_is_built_unsupported_or_bad),
      cmocka_unit_test(what_an_earlier_lap_left_is_refused),
      cmocka_unit_test(entries_are_fetched_in_order_around_every_wrap),
      cmocka_unit_test(a_bad_doorbell_halts_its_queue_and_says_what_was_written),
      cmocka_unit_test(a_ring_that_is_not_mapped_halts_its_queue),
      cmocka_unit_test(a_doorbell_that_comes_again_fetches_nothing_twice),
      cmocka_unit_test(a_doorbell_before_its_data_is_a_refused_entry_and_the_queue_goes_on),
  };
  return cmocka_run_group_tests_name("firmware/submission", tests, nullptr, nullptr);
}
