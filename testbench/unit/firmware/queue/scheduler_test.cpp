// Order within a queue, fairness between queues, throughput.
#include <initializer_list>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;

static void a_thousand_nops_in_flight_complete_in_order_without_loss(void**) {
  Host host = boot();
  uint64_t begin = 0;
  machine().script = {[&] { host.create(1, 1024, 1024); },
                      [&] {
                        for (uint16_t i = 0; i < 1000; i++) host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, i));
                        begin = machine().now;
                        host.ring(1);
                      },
                      [&] {
                        const auto done = host.drain(1);
                        assert_int_equal(done.size(), 1000);
                        for (uint16_t i = 0; i < 1000; i++) {
                          assert_int_equal(done[i].command_id, i);
                          assert_int_equal(CODE(done[i]), WEFT_ERROR_OK);
                        }
                        std::printf("  %.0f core cycles a NOP\n",
                                    static_cast<double>(done.back().end_cycle - begin) / 1000);
                      }};
  run_firmware();
  assert_int_equal(machine().script_next, 3);
  assert_int_equal(machine().registers[WEFT_REG_PROGRESS], 1001);
}

static void rings_of_two_wrap_many_times(void**) {
  Host host = boot();
  uint16_t sent = 0, received = 0;
  machine().script = {[&] { host.create(5, 2, 2); }};
  for (int n = 0; n < 50; n++) {
    machine().script.push_back([&, n] {
      for (const auto& c : host.drain(5)) assert_int_equal(c.command_id, received++);
      for (int i = 0; i <= n % 2; i++) host.put(5, entry(WEFT_QUEUE_OPCODE_NOP, sent++));
      host.ring(5);
    });
  }
  machine().script.push_back([&] {
    for (const auto& c : host.drain(5)) assert_int_equal(c.command_id, received++);
  });
  run_firmware();
  assert_int_equal(received, 75);
  assert_int_equal(sent, 75);
}

static void all_queues_get_their_turn(void**) {
  Host host = boot();
  machine().script = {[&] {
                        for (uint32_t q = 1; q <= 16; q++) host.create(q, 64, 64);
                      },
                      [&] {
                        for (uint32_t q = 1; q <= 16; q++) {
                          for (uint16_t i = 0; i < 64; i++) host.put(q, entry(WEFT_QUEUE_OPCODE_TIMESTAMP, i));
                          host.ring(q);
                        }
                      },
                      [&] {
                        uint64_t first_done = UINT64_MAX;
                        for (uint32_t q = 1; q <= 16; q++) {
                          const auto done = host.drain(q);
                          assert_int_equal(done.size(), 64);
                          for (size_t i = 1; i < done.size(); i++)
                            assert_true(done[i].start_cycle > done[i - 1].start_cycle);
                          if (done.back().end_cycle < first_done) first_done = done.back().end_cycle;
                          assert_true(done.front().start_cycle < first_done);  // nobody starts after another has ended
                        }
                      }};
  run_firmware();
  assert_int_equal(machine().script_next, 3);
}

static void entries_behind_a_launch_wait_for_it_and_other_queues_do_not(void**) {
  Host host = boot();
  const auto image = make_image({500, 500, 0, 0, 0});
  place_image(image);
  machine().script = {[&] {
                        host.create(1, 8, 8);
                        host.create(2, 8, 8);
                        host.submit(0, load_entry(image.size()));
                      },
                      [&] {
                        make_list(0, 0);
                        const uint64_t program = host.drain(0).at(2).start_cycle;
                        host.put(1, launch_entry(program, kLists, 0));
                        host.put(1, entry(WEFT_QUEUE_OPCODE_FENCE, 1));
                        auto nop = entry(WEFT_QUEUE_OPCODE_NOP, 2);
                        nop.flags = WEFT_SUBMISSION_FLAG_FENCE_BEFORE;
                        host.put(1, nop);
                        host.put(1, launch_entry(program, kLists, 3));
                        host.ring(1);
                        host.put(2, entry(WEFT_QUEUE_OPCODE_NOP, 9));
                        host.put(2, launch_entry(program, kLists, 10));
                        host.ring(2);
                      },
                      [&] {
                        const auto one = host.drain(1), two = host.drain(2);
                        assert_int_equal(one.size(), 4);
                        assert_int_equal(two.size(), 2);
                        for (uint16_t i = 0; i < 4; i++) assert_int_equal(one[i].command_id, i);
                        assert_true(one[1].start_cycle > one[0].end_cycle);
                        assert_true(two[0].end_cycle < one[0].end_cycle);
                        // Launches do not overlap, and the other queue's launch comes before the second of queue 1.
                        assert_true(two[1].start_cycle > one[0].end_cycle && one[3].start_cycle > two[1].end_cycle);
                      }};
  run_firmware();
  assert_int_equal(machine().script_next, 3);
  assert_int_equal(machine().core.accepted[0].size(), 1500);
}

static void after_idling_the_order_between_queues_is_always_the_same(void**) {
  Host host = boot();
  const auto both = [&] {
    for (uint32_t q : {3u, 7u}) host.drain(q), host.submit(q, entry(WEFT_QUEUE_OPCODE_TIMESTAMP));
  };
  const auto three_is_first = [&] { assert_true(host.drain(3).at(0).start_cycle < host.drain(7).at(0).start_cycle); };
  machine().script = {[&] {
                        host.create(3, 8, 8);
                        host.create(7, 8, 8);
                      },
                      both,
                      three_is_first,
                      [&] { host.submit(3, entry(WEFT_QUEUE_OPCODE_NOP)); },  // now queue 3 was served last
                      both,
                      three_is_first};
  run_firmware();
  assert_int_equal(machine().script_next, 6);
}

static void a_full_completion_ring_holds_its_queue_until_the_host_drains(void**) {
  Host host = boot();
  machine().script = {[&] { host.create(1, 2, 2); },
                      [&] {
                        host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 0));
                        host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 1));
                        host.ring(1);
                      },
                      [&] {
                        host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 2));
                        host.ring(1);
                      },  // nothing was drained
                      [&] {
                        assert_int_equal(machine().registers[WEFT_REG_PROGRESS], 3);
                        assert_int_equal(host.drain(1).size(), 2);
                      },
                      [&] { assert_int_equal(host.drain(1).at(0).command_id, 2); }};
  run_firmware();
  assert_int_equal(machine().script_next, 5);
}

static void a_halted_queue_stays_silent_until_it_is_deleted_and_made_again(void**) {
  Host host = boot();
  machine().script = {[&] {
                        host.create(1, 4, 4);
                        host.create(2, 4, 4);
                      },
                      [&] {
                        host.drain(0);
                        machine().ring(1, 9);
                      },
                      [&] {
                        host.rings[1].tail = 0;
                        host.submit(1, entry(WEFT_QUEUE_OPCODE_NOP));
                        host.submit(2, entry(WEFT_QUEUE_OPCODE_NOP));
                      },
                      [&] {
                        assert_int_equal(host.drain(1).size(), 0);
                        assert_int_equal(host.drain(2).size(), 1);
                        auto e = entry(WEFT_ADMIN_OPCODE_DELETE_QUEUE);
                        e.size = 1;
                        host.submit(0, e);
                        host.create(1, 4, 4);
                      },
                      [&] {
                        for (const auto& c : host.drain(0)) assert_int_equal(CODE(c), WEFT_ERROR_OK);
                        host.submit(1, entry(WEFT_QUEUE_OPCODE_NOP));
                      },
                      [&] { assert_int_equal(host.drain(1).size(), 1); }};
  run_firmware();
  assert_int_equal(machine().script_next, 6);
  assert_int_equal(machine().registers[WEFT_REG_FIRST_ERROR], WEFT_ERROR_BAD_DOORBELL);
}

static void a_queue_with_work_is_not_deleted(void**) {
  Host host = boot();
  const auto image = make_image({500, 0, 0, 0, 0});
  place_image(image);
  machine().script = {[&] {
                        host.create(1, 8, 8);
                        host.submit(0, load_entry(image.size()));
                      },
                      [&] {
                        make_list(0, 0);
                        host.submit(1, launch_entry(host.drain(0).at(1).start_cycle, kLists));
                        machine().at_cycle[machine().now + 10000] = [&] {
                          auto e = entry(WEFT_ADMIN_OPCODE_DELETE_QUEUE);
                          e.size = 1;
                          host.submit(0, e);
                        };
                      },
                      [&] {
                        assert_int_equal(CODE(host.drain(0).at(0)), WEFT_ERROR_BUSY);
                        assert_int_equal(CODE(host.drain(1).at(0)), WEFT_ERROR_OK);
                      }};
  run_firmware();
  assert_int_equal(machine().script_next, 3);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_thousand_nops_in_flight_complete_in_order_without_loss),
      cmocka_unit_test(rings_of_two_wrap_many_times),
      cmocka_unit_test(all_queues_get_their_turn),
      cmocka_unit_test(entries_behind_a_launch_wait_for_it_and_other_queues_do_not),
      cmocka_unit_test(after_idling_the_order_between_queues_is_always_the_same),
      cmocka_unit_test(a_full_completion_ring_holds_its_queue_until_the_host_drains),
      cmocka_unit_test(a_halted_queue_stays_silent_until_it_is_deleted_and_made_again),
      cmocka_unit_test(a_queue_with_work_is_not_deleted),
  };
  return cmocka_run_group_tests_name("firmware/scheduler", tests, nullptr, nullptr);
}
