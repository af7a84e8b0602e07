// Clearing of HBM: piece by piece, beside the copies of others, and what happens if the engine does not answer.
#include "firmware/admin/hbm_scrub.hpp"

#include <algorithm>

#include "check.hpp"
#include "firmware/admin/admin.hpp"
#include "firmware/boot.hpp"
#include "host_side.hpp"

using namespace mock;
using namespace weft::fw;

namespace {

constexpr uint64_t kReserved = WEFT_MANAGER_HBM_RESERVED_BYTES;
constexpr uint64_t kShare = kHbmBytes / 2;

/// Function 0 of two has written `bytes` and is gone.
State& left_behind(uint64_t bytes) {
  reset();
  machine().functions = 2;
  State& state = make_state();
  std::fill(machine().hbm.begin(), machine().hbm.end(), uint8_t{0x77});
  note_written(state.functions[0], kReserved + bytes);
  state.functions[0].state = FunctionState::kClearing;
  return state;
}

void let_pass(uint64_t cycles) { machine().spend(cycles); }

}  // namespace

static void exactly_what_was_written_reads_zero_for_any_size(void**) {
  for (const uint64_t bytes : {UINT64_C(0), UINT64_C(1), UINT64_C(64), UINT64_C(4096), kShare - kReserved}) {
    State& state = left_behind(bytes);
    for (int i = 0; i < 10 && !hbm_scrubbed(state, state.functions[0]); i++) {
      hbm_scrub_service(state);
      let_pass(1'000'000);
    }
    hbm_scrub_service(state);
    assert_true(hbm_scrubbed(state, state.functions[0]));
    assert_false(hbm_scrub_ready(state));
    for (uint64_t i = 0; i < bytes; i++) assert_int_equal(machine().hbm[kReserved + i], 0);
    assert_int_equal(machine().hbm[kReserved - 1], 0x77);
    if (bytes < kShare - kReserved) assert_int_equal(machine().hbm[kReserved + bytes], 0x77);
    assert_int_equal(machine().hbm[kShare], 0x77);
  }
}

static void the_mark_only_rises(void**) {
  State& state = left_behind(4096);
  note_written(state.functions[0], kReserved);
  assert_int_equal(state.functions[0].written_end, kReserved + 4096);
}

static void a_copy_and_the_clearing_take_turns(void**) {
  State& state = left_behind(4096);
  Function& other = state.functions[1];
  open_pair(other, 1, kRings, 8, kRings + 0x10000, 8);
  *batch_of(state, other.queues[1]) = entry(WEFT_QUEUE_OPCODE_FILL);
  other.queues[1].batch_count = 1;
  other.queues[1].ticket = 1;
  assert_false(hbm_scrub_ready(state));  // a copy waits and the clearing had no piece taken from it
  state.copy.active = true;
  hbm_scrub_service(state);
  assert_false(hbm_scrub_ready(state));  // the engine works
  state.copy.active = false;
  assert_true(hbm_scrub_ready(state));  // after a copy it is the clearing's turn, although another copy waits
  hbm_scrub_service(state);
  assert_true(state.hbm_scrub.running);
  assert_false(copy_engine_idle(state));
  assert_int_equal(machine().copies.size(), 1);
}

static void a_reset_of_the_engine_in_the_middle_begins_the_piece_anew(void**) {
  State& state = left_behind(4096);
  hbm_scrub_service(state);
  (void)hal::copy_abort();
  hbm_scrub_cancel(state);
  assert_false(hbm_scrubbed(state, state.functions[0]));
  hbm_scrub_service(state);
  let_pass(1'000'000);
  hbm_scrub_service(state);
  assert_true(hbm_scrubbed(state, state.functions[0]));
  for (uint64_t i = 0; i < 4096; i++) assert_int_equal(machine().hbm[kReserved + i], 0);
}

static void a_piece_that_never_ends_or_fails_is_a_panic_and_the_memory_is_not_given_away(void**) {
  for (const bool hangs : {true, false}) {
    State& state = left_behind(4096);
    machine().copy_never_ends = hangs;
    machine().copy_answer = hangs ? 1 : 2;
    hbm_scrub_service(state);
    assert_int_equal(hbm_scrub_wake_cycle(state) != UINT64_MAX, 1);
    let_pass(kCopyPieceCycles + 1);
    hbm_scrub_service(state);
    assert_true(state.panicked);
    assert_false(hbm_scrubbed(state, state.functions[0]));
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(exactly_what_was_written_reads_zero_for_any_size),
      cmocka_unit_test(the_mark_only_rises),
      cmocka_unit_test(a_copy_and_the_clearing_take_turns),
      cmocka_unit_test(a_reset_of_the_engine_in_the_middle_begins_the_piece_anew),
      cmocka_unit_test(a_piece_that_never_ends_or_fails_is_a_panic_and_the_memory_is_not_given_away),
  };
  return cmocka_run_group_tests_name("firmware/hbm_scrub", tests, nullptr, nullptr);
}
