// The admin queue: queues made, refused and deleted; log level; watchdog limit.
#include <initializer_list>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;
using E = weft_submission_entry;

namespace {

E create(uint64_t submission, uint64_t completion, uint64_t size) {
  E e = entry(WEFT_ADMIN_OPCODE_CREATE_QUEUE);
  e.arg0 = submission;
  e.arg1 = completion;
  e.size = size;
  return e;
}

E with_size(uint8_t opcode, uint64_t size) {
  E e = entry(opcode);
  e.size = size;
  return e;
}

uint64_t sizes(uint64_t entries, uint64_t completions, uint64_t id) { return entries | completions << 16 | id << 32; }

/// Runs the entries one after the other; returns their codes.
std::vector<uint32_t> run(const std::vector<E>& entries) {
  Host host = boot();
  for (const E& e : entries) machine().script.push_back([&host, &e] { host.submit(0, e); });
  std::vector<uint32_t> codes;
  machine().script.push_back([&] {
    for (const auto& c : host.drain(0)) codes.push_back(CODE(c));
  });
  run_firmware();
  return codes;
}

}  // namespace

static void wrong_queues_are_refused(void**) {
  const E bad[] = {
      create(kRings, kRings + 0x10000, sizes(16, 16, 0)),
      create(kRings, kRings + 0x10000, sizes(16, 16, 17)),
      create(kRings, kRings + 0x10000, sizes(16, 16, 0x30001)),
      create(kRings, kRings + 0x10000, sizes(0, 16, 1)),
      create(kRings, kRings + 0x10000, sizes(1, 16, 1)),
      create(kRings, kRings + 0x10000, sizes(12, 16, 1)),
      create(kRings, kRings + 0x10000, sizes(8192, 8192, 1)),
      create(kRings, kRings + 0x10000, sizes(16, 8, 1)),
      create(kRings, kRings + 0x10000, sizes(16, 24, 1)),
      create(kRings + 4, kRings + 0x10000, sizes(16, 16, 1)),
      create(kRings, kRings + 0x10020, sizes(16, 16, 1)),
      create(~UINT64_C(63), kRings, sizes(16, 16, 1)),
      create(kRings, ~UINT64_C(63), sizes(16, 16, 1)),
      with_size(WEFT_ADMIN_OPCODE_DELETE_QUEUE, 0),
      with_size(WEFT_ADMIN_OPCODE_DELETE_QUEUE, 17),
      with_size(WEFT_ADMIN_OPCODE_DELETE_QUEUE, UINT64_MAX),
      with_size(WEFT_ADMIN_OPCODE_SET_LOG_LEVEL, 4),
  };
  for (const E& e : bad) assert_true((run({e}) == std::vector<uint32_t>{WEFT_ERROR_INVALID_ARGUMENT}));
}

static void states_are_respected(void**) {
  const E good = create(kRings, kRings + 0x10000, sizes(16, 16, 1));
  const E gone = with_size(WEFT_ADMIN_OPCODE_DELETE_QUEUE, 1);
  assert_true((run({good, good, gone, gone, good}) == std::vector<uint32_t>{WEFT_ERROR_OK, WEFT_ERROR_INVALID_STATE,
                                                                            WEFT_ERROR_OK, WEFT_ERROR_INVALID_STATE,
                                                                            WEFT_ERROR_OK}));
}

static void what_is_not_built_is_unsupported_and_queue_opcodes_are_bad(void**) {
  for (uint8_t op : {WEFT_ADMIN_OPCODE_BIND_CONTEXT, WEFT_ADMIN_OPCODE_RELEASE_CONTEXT}) {
    assert_true((run({entry(op)}) == std::vector<uint32_t>{WEFT_ERROR_UNSUPPORTED}));
  }
  assert_true((run({entry(WEFT_QUEUE_OPCODE_NOP)}) == std::vector<uint32_t>{WEFT_ERROR_BAD_DESCRIPTOR}));
}

static void a_queue_made_again_starts_at_zero_whatever_its_doorbells_hold(void**) {
  Host host = boot();
  machine().script = {
      [&] { host.create(1, 4, 4); },
      [&] {
        for (int i = 0; i < 3; i++) host.put(1, entry(WEFT_QUEUE_OPCODE_NOP));
        host.ring(1);
      },
      [&] {
        assert_int_equal(host.drain(1).size(), 3);
        host.drain(0);
        host.submit(0, with_size(WEFT_ADMIN_OPCODE_DELETE_QUEUE, 1));
      },
      [&] {
        host.drain(0);
        const uint32_t stale = machine().completion_doorbell[1];
        host.create(1, 4, 4);
        machine().completion_doorbell[1] = stale;  // the host has not touched its doorbell
      },
      [&] {
        assert_int_equal(CODE(host.drain(0).at(0)), WEFT_ERROR_OK);
        for (int i = 0; i < 4; i++) host.put(1, entry(WEFT_QUEUE_OPCODE_NOP));
        host.ring(1);
      },
      [&] { assert_int_equal(host.drain(1).size(), 4); },
  };
  run_firmware();
  assert_int_equal(machine().registers[WEFT_REG_FIRST_ERROR], 0);
  assert_int_equal(machine().script_next, machine().script.size());
}

static void the_log_level_filters_and_the_sequence_counts(void**) {
  Host host = boot();
  machine().script = {
      [&] { host.create(1, 4, 4); },
      [&] { host.submit(0, with_size(WEFT_ADMIN_OPCODE_SET_LOG_LEVEL, 1)); },
      [&] { host.create(2, 4, 4); },
      [&] { host.submit(0, entry(0)); },
  };
  run_firmware();
  std::vector<uint32_t> events;
  for (uint32_t i = 0; i < 20; i++) {
    const auto& r = *reinterpret_cast<weft_log_record*>(
        machine().find(WEFT_ADDRESS_SPACE_HOST, kLog + i * sizeof(weft_log_record), 32));
    if (r.sequence == 0) break;
    assert_int_equal(r.sequence, i + 1);
    events.push_back(r.event);
  }
  // Stages up to READY (the first two before there is a log), queue 1, then no more information but the warning.
  assert_true(
      (events == std::vector<uint32_t>{WEFT_LOG_EVENT_BOOT_STAGE, WEFT_LOG_EVENT_BOOT_STAGE, WEFT_LOG_EVENT_BOOT_STAGE,
                                       WEFT_LOG_EVENT_QUEUE_CREATED, WEFT_LOG_EVENT_ENTRY_REFUSED}));
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(wrong_queues_are_refused),
      cmocka_unit_test(states_are_respected),
      cmocka_unit_test(what_is_not_built_is_unsupported_and_queue_opcodes_are_bad),
      cmocka_unit_test(a_queue_made_again_starts_at_zero_whatever_its_doorbells_hold),
      cmocka_unit_test(the_log_level_filters_and_the_sequence_counts),
  };
  return cmocka_run_group_tests_name("firmware/admin", tests, nullptr, nullptr);
}
