// What State takes, member by member, and that its shared tables go to queues and functions in parts that do not meet.
#include "firmware/state.hpp"

#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "check.hpp"
#include "firmware/main_loop.hpp"
#include "host_side.hpp"
#include "weft/spec/chips.hpp"

using namespace mock;
using namespace weft::fw;

namespace {

constexpr size_t kBudget = 120 * 1024;

struct Member {
  const char* name;
  size_t bytes, count;
};

#define OF(type, member, count) \
  Member { #type "::" #member, sizeof(type::member), count }
constexpr Member kMembers[] = {
    OF(State, functions, 1),  OF(Function, queues, 16),  OF(Function, timelines, 16), OF(Function, rings, 16),
    OF(Function, errors, 16), OF(Function, aborts, 16),  OF(Function, events, 16),    OF(State, fetched, 1),
    OF(State, programs, 1),   OF(State, scratch, 1),     OF(State, launch, 1),        OF(State, copy, 1),
    OF(State, hbm_scrub, 1),  OF(State, core_tenant, 1), OF(State, control, 1),
};
#undef OF
static_assert(WEFT_LIMIT_FUNCTIONS == 16);

}  // namespace

static void the_state_keeps_within_its_budget(void**) {
  std::printf("  %-24s %6s of %zu bytes\n", "State", std::to_string(sizeof(State)).c_str(), kBudget);
  for (const Member& m : kMembers)
    std::printf("  %-24s %6zu = %zu x %zu\n", m.name, m.bytes * m.count, m.count, m.bytes);
  size_t known = 0;
  for (const Member& m : kMembers) known += m.name[0] == 'S' ? m.bytes : 0;
  assert_in_range(sizeof(State) - known, 0, 128);  // single words
  assert_in_range(sizeof(State), 1, kBudget);
}

static void fetched_entries_and_program_records_of_two_owners_never_meet(void**) {
  for (uint32_t count = 1; count <= WEFT_LIMIT_FUNCTIONS; count++) {
    reset();
    machine().functions = count;
    State& state = make_state();
    assert_in_range(state.batch_entries, 1, kBatchEntries);
    assert_in_range(state.program_records, kProgramRecords / WEFT_LIMIT_FUNCTIONS, WEFT_LIMIT_PROGRAMS);
    assert_in_range(state.program_records * count, 1, kProgramRecords);
    if (count == 1) assert_int_equal(state.batch_entries, kBatchEntries);
    std::set<const void*> places;
    for (uint32_t f = 0; f < count; f++) {
      for (uint32_t q = 0; q < kQueues; q++) {
        Queue& queue = state.functions[f].queues[q];
        queue.function = static_cast<uint8_t>(f);
        queue.id = static_cast<uint8_t>(q);
        for (uint32_t i = 0; i < state.batch_entries; i++) {
          const weft_submission_entry* entry = batch_of(state, queue) + i;
          assert_true(entry >= state.fetched && entry < state.fetched + kFetchedEntries);
          assert_true(places.insert(entry).second);
        }
      }
    }
  }
}

static void a_program_record_can_name_all_of_every_chip_s_hbm(void**) {
  for (const auto& chip : weft::spec::kChips) assert_in_range(chip.hbm_bytes, 1, kProgramHbmBytes);
}

static void what_a_restart_does_not_clear_is_written_before_it_is_read(void**) {
  std::vector<std::vector<weft_completion_entry>> found;
  std::vector<uint64_t> ended;
  for (const int left : {0x00, 0x5a, 0xff}) {
    Host host = boot();
    const auto image = make_image({40, 30, 20, 10, 5}, 2);
    place_image(image);
    make_list(0, 2);
    std::vector<weft_completion_entry> all;
    const auto drain = [&](uint32_t queue) {
      for (const auto& completion : host.drain(queue)) all.push_back(completion);
    };
    machine().script = {
        [&] { host.create(1, 16, 16); },
        [&] {
          drain(0);
          host.submit(0, load_entry(image.size()));
        },
        [&] {
          const auto done = host.drain(0);
          const uint64_t program = done.at(0).start_cycle;
          all.push_back(done.at(0));
          host.put(1, launch_entry(program, kLists, 1));
          host.put(1, launch_entry(program, kLists + 8, 2));  // refused
          host.put(1, entry(WEFT_QUEUE_OPCODE_NOP, 3));
          host.ring(1);
        },
        [&] { drain(1); },
    };
    const auto state = std::make_unique<State>();
    std::memset(static_cast<void*>(state.get()), left, sizeof *state);
    std::memset(static_cast<void*>(state.get()), 0, kClearedBytes);
    run(*state);
    assert_int_equal(machine().script_next, machine().script.size());
    assert_int_equal(all.size(), 5);
    found.push_back(all);
    ended.push_back(machine().now);
  }
  for (size_t i = 1; i < found.size(); i++) {
    assert_memory_equal(found[i].data(), found[0].data(), found[0].size() * sizeof found[0][0]);
    assert_int_equal(ended[i], ended[0]);
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_state_keeps_within_its_budget),
      cmocka_unit_test(fetched_entries_and_program_records_of_two_owners_never_meet),
      cmocka_unit_test(what_a_restart_does_not_clear_is_written_before_it_is_read),
      cmocka_unit_test(a_program_record_can_name_all_of_every_chip_s_hbm),
  };
  return cmocka_run_group_tests_name("state", tests, nullptr, nullptr);
}
