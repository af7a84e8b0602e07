// Priorities: shares by weight, and the bound on how long anybody waits.
#include "firmware/queue/arbiter.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "check.hpp"
#include "firmware/admin/admin.hpp"
#include "host_side.hpp"

using namespace mock;
using namespace weft::fw;
using E = weft_submission_entry;

namespace {

constexpr uint32_t kHigh = 1, kNormal = 2, kLow = 3;  // ids of the queues
constexpr uint8_t kPriority[] = {0, WEFT_QUEUE_PRIORITY_HIGH, WEFT_QUEUE_PRIORITY_NORMAL, WEFT_QUEUE_PRIORITY_LOW};

void create(Host& host, uint32_t id, uint32_t entries, uint64_t priority) {
  host.create(id, entries, entries);
  // The same entry again, with its priority: the ring still holds it.
  HostRing& admin = host.rings[0];
  admin.tail--;
  E e = *reinterpret_cast<E*>(machine().find(
      WEFT_ADDRESS_SPACE_HOST, admin.submission + (admin.tail & (admin.entries - 1)) * sizeof(E), sizeof(E)));
  e.size |= priority << 48;
  host.put(0, e);
}

E fill(uint16_t id) {
  E e = entry(WEFT_QUEUE_OPCODE_FILL, id);
  e.arg1 = UINT64_C(1) << 63 | kData;
  e.size = 4096;
  return e;
}

struct Done {
  uint64_t cycle;
  uint32_t queue;
};

/// Gives each of the three queues `counts[id]` entries at once; what was completed, in order of time.
std::vector<Done> run(const std::vector<uint32_t>& counts, E (*make)(uint16_t)) {
  Host host = boot();
  std::vector<Done> done;
  machine().script = {[&] {
                        for (uint32_t id = kHigh; id <= kLow; id++) create(host, id, 1024, kPriority[id]);
                        host.ring(0);
                      },
                      [&] {
                        for (const auto& c : host.drain(0)) assert_int_equal(CODE(c), WEFT_ERROR_OK);
                        for (uint32_t id = kHigh; id <= kLow; id++) {
                          for (uint16_t i = 0; i < counts[id]; i++) host.put(id, make(i));
                          host.ring(id);
                        }
                      },
                      [&] {
                        for (uint32_t id = kHigh; id <= kLow; id++) {
                          const auto own = host.drain(id);
                          assert_int_equal(own.size(), counts[id]);
                          for (const auto& c : own) {
                            assert_int_equal(CODE(c), WEFT_ERROR_OK);
                            done.push_back({c.end_cycle, id});
                          }
                        }
                      }};
  run_firmware();
  assert_int_equal(machine().script_next, 3);
  std::sort(done.begin(), done.end(), [](const Done& a, const Done& b) { return a.cycle < b.cycle; });
  return done;
}

/// Most entries of other queues between two of `queue`, as long as it has work.
uint32_t longest_wait(const std::vector<Done>& done, uint32_t queue) {
  uint32_t longest = 0, waited = 0;
  for (const Done& d : done) {
    waited = d.queue == queue ? 0 : waited + 1;
    const auto left = std::count_if(&d, done.data() + done.size(), [&](const Done& x) { return x.queue == queue; });
    if (left != 0) longest = std::max(longest, waited);
  }
  return longest;
}

uint32_t count(const std::vector<Done>& done, uint32_t queue, size_t first) {
  return static_cast<uint32_t>(std::count_if(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(first),
                                             [&](const Done& d) { return d.queue == queue; }));
}

}  // namespace

static void entries_are_taken_by_weight_and_nobody_waits_longer_than_the_others_turns(void**) {
  const auto done = run({0, 960, 960, 960}, [](uint16_t id) { return entry(WEFT_QUEUE_OPCODE_TIMESTAMP, id); });
  const size_t rounds = 10, round = 64 + 16 + 4;
  assert_in_range(count(done, kHigh, rounds * round), rounds * 64 - 64, rounds * 64 + 64);
  assert_in_range(count(done, kNormal, rounds * round), rounds * 16 - 16, rounds * 16 + 16);
  assert_in_range(count(done, kLow, rounds * round), rounds * 4 - 4, rounds * 4 + 4);
  assert_true(longest_wait(done, kHigh) <= 16 + 4);
  assert_true(longest_wait(done, kNormal) <= 64 + 4);
  assert_true(longest_wait(done, kLow) <= 64 + 16);
  std::printf("  longest waits: high %u of 20, normal %u of 68, low %u of 80 entries\n", longest_wait(done, kHigh),
              longest_wait(done, kNormal), longest_wait(done, kLow));
}

static void the_copy_engine_is_shared_by_weight_within_its_bound(void**) {
  const auto done = run({0, 320, 80, 20}, fill);
  const size_t half = 210;
  assert_in_range(count(done, kHigh, half), 155, 165);
  assert_in_range(count(done, kNormal, half), 36, 44);
  assert_in_range(count(done, kLow, half), 8, 12);
  // (weight / own weight, rounded up) + 1 of each other queue
  assert_true(longest_wait(done, kHigh) <= 2 + 2);
  assert_true(longest_wait(done, kNormal) <= 5 + 2);
  assert_true(longest_wait(done, kLow) <= 17 + 5);
  std::printf("  longest waits: high %u of 4, normal %u of 7, low %u of 22 copies\n", longest_wait(done, kHigh),
              longest_wait(done, kNormal), longest_wait(done, kLow));
}

static void time_without_work_is_not_made_up_for(void**) {
  const auto state = std::make_unique<State>();
  state->function_count = 1;
  Function& function = state->functions[0];
  Queue& busy = function.queues[1];
  Queue& late = function.queues[2];
  busy.priority = late.priority = WEFT_QUEUE_PRIORITY_NORMAL;
  for (int i = 0; i < 100; i++) {
    join_engine(*state, busy, Engine::kCopy);
    grant_engine(*state, busy, Engine::kCopy);
  }
  join_engine(*state, late, Engine::kCopy);
  assert_true(late.share[0] + stride(late.priority) >= busy.share[0]);
}

static void shares_that_grow_for_ever_keep_their_order(void**) {
  const auto state = std::make_unique<State>();
  state->function_count = 1;
  Function& function = state->functions[0];
  Queue& busy = function.queues[1];
  Queue& late = function.queues[2];
  Queue& idle = function.queues[3];
  busy.priority = late.priority = WEFT_QUEUE_PRIORITY_LOW;
  busy.share[1] = kShareLimit - 20;
  late.share[1] = kShareLimit - 10;
  grant_engine(*state, busy, Engine::kCore);  // below the limit: 16 more
  assert_int_equal(busy.share[1], kShareLimit - 4);
  assert_int_equal(late.share[1], kShareLimit - 10);
  grant_engine(*state, late, Engine::kCore);
  assert_int_equal(late.share[1], kShareLimit / 2 + 6);  // all are taken back by the same
  assert_int_equal(busy.share[1], kShareLimit / 2 - 4);
  assert_int_equal(function.share_clock[1], kShareLimit / 2 - 10);
  assert_int_equal(idle.share[1], 0);
  assert_int_equal(late.share[0] + busy.share[0], 0);  // of the other engine
  join_engine(*state, idle, Engine::kCore);
  assert_int_equal(idle.share[1], function.share_clock[1]);
}

static void who_cannot_run_has_no_claim(void**) {
  reset();
  const auto state = std::make_unique<State>();
  state->function_count = 1;
  state->batch_entries = kBatchEntries;
  Function& function = state->functions[0];
  open_pair(function, 1, kRings, 8, kRings + 0x10000, 8);
  open_pair(function, 2, kRings, 8, kRings + 0x10000, 8);
  Queue& mine = function.queues[1];
  Queue& other = function.queues[2];
  mine.share[0] = 100;
  function.pending = 1u << 1 | 1u << 2;
  other.batch_count = 1;
  *batch_of(*state, other) = fill(1);
  assert_true(must_let_pass(*state, mine, Engine::kCopy));
  assert_false(must_let_pass(*state, mine, Engine::kCore));
  other.waits = true;
  assert_false(must_let_pass(*state, mine, Engine::kCopy));
  other.waits = false;
  other.in_flight = true;
  assert_false(must_let_pass(*state, mine, Engine::kCopy));
  other.in_flight = false;
  function.rings[2].tail = 8;
  assert_false(must_let_pass(*state, mine, Engine::kCopy));
  function.rings[2].tail = 7;
  other.state = QueueState::kHalted;
  assert_false(must_let_pass(*state, mine, Engine::kCopy));
}

static void a_priority_that_is_none_is_refused(void**) {
  for (const uint64_t priority : {3u, 255u, 256u, 0x200u}) {
    Host host = boot();
    machine().script = {[&] {
                          create(host, 1, 8, priority);
                          host.ring(0);
                        },
                        [&] { assert_int_equal(CODE(host.drain(0).at(0)), WEFT_ERROR_INVALID_ARGUMENT); }};
    run_firmware();
    assert_int_equal(machine().script_next, 2);
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(entries_are_taken_by_weight_and_nobody_waits_longer_than_the_others_turns),
      cmocka_unit_test(the_copy_engine_is_shared_by_weight_within_its_bound),
      cmocka_unit_test(time_without_work_is_not_made_up_for),
      cmocka_unit_test(shares_that_grow_for_ever_keep_their_order),
      cmocka_unit_test(who_cannot_run_has_no_claim),
      cmocka_unit_test(a_priority_that_is_none_is_refused),
  };
  return cmocka_run_group_tests_name("firmware/arbiter", tests, nullptr, nullptr);
}
