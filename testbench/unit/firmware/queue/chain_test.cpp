// Chains: what follows a failed entry ends with DEPENDENCY_FAILED and names the first that failed.
#include "firmware/queue/chain.hpp"

#include <initializer_list>
#include <vector>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;
using namespace weft::fw;
using E = weft_submission_entry;

namespace {

constexpr uint8_t kChain = WEFT_SUBMISSION_FLAG_CHAIN;

E chained(uint16_t id, uint8_t opcode = WEFT_QUEUE_OPCODE_NOP) {
  E e = entry(opcode, id);
  e.flags = kChain;
  return e;
}

/// An entry that its checks refuse.
E wrong(uint16_t id, uint8_t flags = kChain) {
  E e = entry(WEFT_QUEUE_OPCODE_COPY, id);
  e.flags = flags;
  return e;
}

struct Run {
  std::vector<weft_completion_entry> done;
  std::vector<weft_fault_record> records;
};

/// Submits the entries to queue 3 with one doorbell.
Run run(const std::vector<E>& entries, bool one_by_one = false) {
  Host host = boot();
  Run run;
  machine().script = {[&] { host.create(3, 64, 64); }};
  if (one_by_one) {
    for (const E& e : entries) machine().script.push_back([&host, &e] { host.submit(3, e); });
  } else {
    machine().script.push_back([&] {
      for (const E& e : entries) host.put(3, e);
      host.ring(3);
    });
  }
  machine().script.push_back([&] {
    run.done = host.drain(3);
    for (uint64_t n = 1; host.fault(n).record_number == n && n < WEFT_LIMIT_FAULT_ENTRIES; n++)
      run.records.push_back(host.fault(n));
  });
  run_firmware();
  return run;
}

}  // namespace

static void a_chain_without_an_error_runs_to_its_end(void**) {
  const Run r = run({chained(1), chained(2, WEFT_QUEUE_OPCODE_FENCE), chained(3), entry(WEFT_QUEUE_OPCODE_NOP, 4)});
  assert_int_equal(r.done.size(), 4);
  for (uint16_t i = 0; i < 4; i++) {
    assert_int_equal(r.done[i].command_id, i + 1);
    assert_int_equal(CODE(r.done[i]), WEFT_ERROR_OK);
  }
}

static void an_error_in_the_middle_cuts_the_rest_and_only_the_rest(void**) {
  for (const bool one_by_one : {false, true}) {
    const Run r = run({chained(1), wrong(2), chained(3), entry(WEFT_QUEUE_OPCODE_NOP, 4),
                       entry(WEFT_QUEUE_OPCODE_NOP, 5), chained(6), entry(WEFT_QUEUE_OPCODE_NOP, 7)},
                      one_by_one);
    const weft_error expected[] = {WEFT_ERROR_OK,
                                   WEFT_ERROR_INVALID_ARGUMENT,
                                   WEFT_ERROR_DEPENDENCY_FAILED,
                                   WEFT_ERROR_DEPENDENCY_FAILED,
                                   WEFT_ERROR_OK,
                                   WEFT_ERROR_OK,
                                   WEFT_ERROR_OK};
    assert_int_equal(r.done.size(), 7);
    for (uint16_t i = 0; i < 7; i++) {
      assert_int_equal(r.done[i].command_id, i + 1);
      assert_int_equal(CODE(r.done[i]), expected[i]);
    }
    assert_int_equal(r.records.size(), 3);
    for (size_t i = 1; i < 3; i++) {
      const RootCause root = root_of(Status{WEFT_ERROR_DEPENDENCY_FAILED, r.records[i].detail0, r.records[i].detail1});
      assert_int_equal(root.queue, 3);
      assert_int_equal(root.command_id, 2);
      assert_int_equal(root.tag, 0x1002);
      assert_int_equal(root.error, WEFT_ERROR_INVALID_ARGUMENT);
    }
  }
}

static void the_last_of_a_chain_may_fail_alone(void**) {
  const Run r = run({chained(1), wrong(2, 0), entry(WEFT_QUEUE_OPCODE_NOP, 3)});
  assert_int_equal(CODE(r.done.at(1)), WEFT_ERROR_INVALID_ARGUMENT);
  assert_int_equal(CODE(r.done.at(2)), WEFT_ERROR_OK);
}

static void a_chain_that_fails_at_once_names_its_first(void**) {
  const Run r = run({wrong(9), wrong(10), wrong(11, 0)});
  assert_int_equal(CODE(r.done.at(0)), WEFT_ERROR_INVALID_ARGUMENT);
  assert_int_equal(CODE(r.done.at(2)), WEFT_ERROR_DEPENDENCY_FAILED);
  assert_int_equal(r.records.at(2).detail0 & 0xffff, 9);
}

static void a_malformed_entry_within_a_chain_does_not_end_it(void**) {
  Chain chain{};
  E e = chained(1);
  chain_advance(chain, e, WEFT_ERROR_OK, {});
  assert_true(chain.linked && !chain.broken);
  e.flags = 0;  // what a flipped bit may have made of it
  chain_advance(chain, e, WEFT_ERROR_BAD_DESCRIPTOR, RootCause{3, WEFT_ERROR_BAD_DESCRIPTOR, 2, 0});
  assert_true(chain.broken);
  assert_int_equal(chain_status(chain).error, WEFT_ERROR_DEPENDENCY_FAILED);
  chain_advance(chain, e, WEFT_ERROR_DEPENDENCY_FAILED, chain.root);
  assert_true(chain_status(chain).ok());
  chain_advance(chain, e, WEFT_ERROR_BAD_DESCRIPTOR, {});  // outside of a chain it is one entry like any other
  assert_true(!chain.linked && chain_status(chain).ok());
}

static void a_root_cause_survives_its_encoding(void**) {
  const RootCause root{16, WEFT_ERROR_INTERNAL, 0xffff, 0xdeadbeef};
  const RootCause again = root_of(dependency_failed(root));
  assert_true(again.queue == 16 && again.command_id == 0xffff && again.tag == 0xdeadbeef);
  assert_int_equal(again.error, WEFT_ERROR_INTERNAL);
}

static void a_chain_goes_on_behind_a_launch(void**) {
  Host host = boot();
  const auto image = make_image({300, 0, 0, 0, 0});
  place_image(image);
  machine().script = {[&] {
                        host.create(1, 8, 8);
                        host.submit(0, load_entry(image.size()));
                      },
                      [&] {
                        make_list(0, 0);
                        E launch = launch_entry(host.drain(0).at(1).start_cycle, kLists, 1);
                        launch.flags = kChain;
                        machine().core.fault_code = WEFT_FAULT_ILLEGAL_FIELD;
                        machine().core.fault_command = 100;
                        host.put(1, launch);
                        host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 2));
                        host.ring(1);
                      },
                      [&] {
                        const auto done = host.drain(1);
                        assert_int_equal(done.size(), 2);
                        assert_int_equal(CODE(done[0]), WEFT_ERROR_COMPUTE_FAULT);
                        assert_int_equal(CODE(done[1]), WEFT_ERROR_DEPENDENCY_FAILED);
                        assert_int_equal(host.fault(2).detail1, WEFT_ERROR_COMPUTE_FAULT);
                      }};
  run_firmware();
  assert_int_equal(machine().script_next, 3);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_without_an_error_runs_to_its_end),
      cmocka_unit_test(an_error_in_the_middle_cuts_the_rest_and_only_the_rest),
      cmocka_unit_test(the_last_of_a_chain_may_fail_alone),
      cmocka_unit_test(a_chain_that_fails_at_once_names_its_first),
      cmocka_unit_test(a_malformed_entry_within_a_chain_does_not_end_it),
      cmocka_unit_test(a_root_cause_survives_its_encoding),
      cmocka_unit_test(a_chain_goes_on_behind_a_launch),
  };
  return cmocka_run_group_tests_name("firmware/chain", tests, nullptr, nullptr);
}
