// Completion rings that several queues feed: order, wrap, room, halting, and the life of a ring.
#include "firmware/queue/completion_ring.hpp"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "check.hpp"
#include "firmware/admin/admin.hpp"
#include "host_side.hpp"

using namespace mock;
using E = weft_submission_entry;

namespace {

E loud(uint16_t id) {
  E e = entry(WEFT_QUEUE_OPCODE_NOP, id);
  e.flags = WEFT_SUBMISSION_FLAG_INTERRUPT;
  return e;
}

E with_size(uint8_t opcode, uint64_t size) {
  E e = entry(opcode);
  e.size = size;
  return e;
}

E create(uint32_t queue, uint32_t entries, uint32_t completion_entries, uint32_t ring, uint64_t completion_iova) {
  E e = with_size(WEFT_ADMIN_OPCODE_CREATE_QUEUE,
                  entries | uint64_t{completion_entries} << 16 | uint64_t{queue} << 32 | uint64_t{ring} << 56);
  e.arg0 = kRings + queue * 0x20000;
  e.arg1 = completion_iova;
  return e;
}

std::vector<uint32_t> codes(Host& host) {
  std::vector<uint32_t> out;
  for (const auto& c : host.drain(0)) out.push_back(CODE(c));
  return out;
}

size_t raised(uint32_t vector) {
  return static_cast<size_t>(std::count(machine().interrupts.begin(), machine().interrupts.end(), vector));
}

}  // namespace

static void two_queues_feed_one_ring_over_many_laps(void**) {
  Host host = boot();
  std::vector<uint16_t> seen[3];
  auto& script = machine().script;
  script = {[&] {
    host.create(1, 4, 8);
    host.create_guest(2, 4, 1);
  }};
  constexpr uint16_t kRounds = 40;
  for (uint16_t round = 0; round < kRounds; round++) {
    script.push_back([&, round] {
      for (const auto& c : host.drain(1)) seen[c.queue_id].push_back(c.command_id);
      for (uint16_t i = 0; i < 1 + round % 4; i++) host.put(1, loud(static_cast<uint16_t>(round * 4 + i)));
      for (uint16_t i = 0; i < 1 + round % 3; i++) host.put(2, loud(static_cast<uint16_t>(round * 4 + i)));
      host.ring(1);
      host.ring(2);
    });
  }
  script.push_back([&] {
    for (const auto& c : host.drain(1)) seen[c.queue_id].push_back(c.command_id);
  });
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
  for (const uint32_t queue : {1u, 2u}) {
    std::vector<uint16_t> expected;
    for (uint16_t round = 0; round < kRounds; round++)
      for (uint16_t i = 0; i < 1 + round % (queue == 1 ? 4 : 3); i++)
        expected.push_back(static_cast<uint16_t>(round * 4 + i));
    assert_true(seen[queue] == expected);
  }
  assert_int_equal(raised(1), seen[1].size() + seen[2].size());
  assert_int_equal(raised(2), 0);
}

static void a_ring_is_as_big_as_what_feeds_it(void**) {
  Host host = boot();
  machine().script = {[&] { host.create(1, 8, 16); },
                      [&] {
                        host.drain(0);
                        host.submit(0, create(2, 16, 0, 1, 0));       // 24 entries for a ring of 16
                        host.submit(0, create(2, 8, 16, 1, 0));       // a size that it does not have
                        host.submit(0, create(2, 8, 0, 1, kRings));   // nor memory
                        host.submit(0, create(2, 8, 0, 3, 0));        // no such ring
                        host.submit(0, create(2, 8, 0, 17, 0));       // no such id
                        host.submit(0, create(2, 8, 0, 1, 0));        // good
                        host.submit(0, create(3, 2, 0, 1, 0));        // full now
                        host.submit(0, create(1, 8, 16, 0, kRings));  // exists
                      },
                      [&] {
                        const uint32_t argument = WEFT_ERROR_INVALID_ARGUMENT, state = WEFT_ERROR_INVALID_STATE;
                        assert_true((codes(host) == std::vector<uint32_t>{argument, argument, argument, state, argument,
                                                                          WEFT_ERROR_OK, argument, state}));
                      }};
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
}

static void room_is_kept_for_what_is_in_flight(void**) {
  Host host = boot();
  size_t before = 0;
  machine().script = {[&] {
                        host.create(1, 2, 4);
                        host.create_guest(2, 2, 1);
                      },
                      [&] {
                        machine().copy_never_ends = true;
                        E fill = entry(WEFT_QUEUE_OPCODE_FILL, 7);
                        fill.arg1 = (UINT64_C(1) << 63) | kData;
                        fill.size = 64;
                        host.submit(1, fill);
                        // A host that takes nothing off the ring and submits on.
                        for (uint16_t id = 0; id < 2; id++) host.put(2, loud(id));
                        host.ring(2);
                        machine().at_cycle[machine().now + 20000] = [&] {
                          for (uint16_t id = 2; id < 4; id++) host.put(2, loud(id));
                          host.ring(2);
                        };
                        machine().at_cycle[machine().now + 40000] = [&] {
                          before = machine().registers[WEFT_REG_PROGRESS];
                          machine().copy_never_ends = false;
                          machine().event = true;
                        };
                      },
                      [&] {
                        const auto done = host.drain(1);
                        assert_int_equal(done.size(), 4);  // three no-ops, and the fill in the place that was kept
                        assert_int_equal(done[3].command_id, 7);
                      },
                      [&] { assert_int_equal(host.drain(1).size(), 1); }};
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
  assert_int_equal(before, 2 + 3);
}

static void a_bad_head_halts_every_queue_of_the_ring_and_no_other(void**) {
  Host host = boot();
  machine().script = {[&] {
                        host.create(1, 4, 8);
                        host.create_guest(2, 4, 1);
                        host.create(3, 4, 4);
                      },
                      [&] {
                        machine().side(0).completion_doorbell[1] = 5;  // nothing was written yet
                        host.submit(2, loud(1));
                        host.submit(3, loud(1));
                      },
                      [&] {
                        assert_int_equal(host.drain(3).size(), 1);
                        assert_int_equal(host.fault(1).queue_id, 1);
                        assert_int_equal(host.fault(2).queue_id, 2);
                        for (uint64_t n : {1, 2}) assert_int_equal(host.fault(n).error, WEFT_ERROR_BAD_DOORBELL);
                      }};
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
}

static void a_ring_outlives_its_queue_and_goes_with_the_last_guest(void**) {
  Host host = boot();
  machine().script = {
      [&] {
        host.create(1, 4, 16);
        host.create_guest(2, 4, 1);
      },
      [&] {
        host.drain(0);
        host.submit(0, with_size(WEFT_ADMIN_OPCODE_DELETE_QUEUE, 1));
        host.submit(0, create(1, 4, 16, 0, kRings));  // its ring is still there
        host.submit(0, create(1, 4, 0, 1, 0));        // but it can come back to it
      },
      [&] {
        assert_true((codes(host) == std::vector<uint32_t>{WEFT_ERROR_OK, WEFT_ERROR_INVALID_STATE, WEFT_ERROR_OK}));
        host.submit(2, loud(5));
      },
      [&] {
        const auto done = host.drain(1);
        assert_int_equal(done.size(), 1);
        assert_int_equal(done[0].queue_id, 2);
        host.submit(0, with_size(WEFT_ADMIN_OPCODE_RESET_QUEUE, 1));
        host.submit(0, with_size(WEFT_ADMIN_OPCODE_DELETE_QUEUE, 2));
        host.submit(0, create(3, 4, 0, 1, 0));
      },
      [&] {
        assert_true((codes(host) == std::vector<uint32_t>{WEFT_ERROR_OK, WEFT_ERROR_OK, WEFT_ERROR_INVALID_STATE}));
        host.create(1, 4, 8);
      },
      [&] { assert_true((codes(host) == std::vector<uint32_t>{WEFT_ERROR_OK})); }};
  run_firmware();
  assert_int_equal(machine().script_next, machine().script.size());
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(two_queues_feed_one_ring_over_many_laps),
      cmocka_unit_test(a_ring_is_as_big_as_what_feeds_it),
      cmocka_unit_test(room_is_kept_for_what_is_in_flight),
      cmocka_unit_test(a_bad_head_halts_every_queue_of_the_ring_and_no_other),
      cmocka_unit_test(a_ring_outlives_its_queue_and_goes_with_the_last_guest),
  };
  return cmocka_run_group_tests_name("firmware/completion_ring", tests, nullptr, nullptr);
}
