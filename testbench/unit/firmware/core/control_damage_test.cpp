// Control lists that someone damages, before or while the firmware runs them: they end with their error, and reach nothing but their own arguments.
#include <cstdio>
#include <functional>
#include <map>
#include <random>

#include "check.hpp"
#include "control_launch.hpp"
#include "firmware/core/control.hpp"

using namespace mock;

static void what_the_host_has_written_over_is_found_when_it_is_used(void**) {
  struct Case {
    std::function<uint64_t(const ListImage&)> at;  ///< byte of the image
    weft_error error;
  };
  const Case cases[] = {
      {[](const ListImage& l) {
         return l.blocks_at() + sizeof(weft_control_block) + offsetof(weft_control_block, queue_first) + 3;
       },
       WEFT_ERROR_EXECUTABLE_INVALID},
      {[](const ListImage& l) { return l.bindings_at() + offsetof(weft_control_binding, segment) + 1; },
       WEFT_ERROR_EXECUTABLE_INVALID},
      {[](const ListImage& l) { return l.bindings_at() + offsetof(weft_control_binding, offset_bytes) + 2; },
       WEFT_ERROR_EXECUTABLE_INVALID},
      {[](const ListImage& l) {
         return l.bindings_at() + sizeof(weft_control_binding) + offsetof(weft_control_binding, offset_bytes) + 2;
       },
       WEFT_ERROR_EXECUTABLE_INVALID},
  };
  for (const Case& c : cases) {
    Run r;
    r.list.arguments = 2;
    r.list.add_block(0, 1, 1);
    r.list.add_block(0, 2, 1);
    r.list.add_binding(kSegment, 0);
    r.list.add_binding(0, 1);
    r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
    r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
    r.list.add(WEFT_CONTROL_OPCODE_BIND, 0, 1);
    const uint16_t choice = r.list.add_condition(WEFT_CONTROL_OPCODE_IF, 1, WEFT_CONTROL_CONDITION_EQUAL, 0);
    r.list.add(WEFT_CONTROL_OPCODE_RUN, 1);
    r.list.end(choice);
    uint32_t commands = 0;
    r.launch([&](uint32_t) {
      if (++commands == 1) machine().hbm[kImage + c.at(r.list)] = 0x40;
    });
    assert_int_equal(CODE(r.completion), c.error);
    assert_int_equal(commands, 2);  // what ran beside the look ahead ended first
    assert_false(machine().core.busy());
  }
}

/// A list with everything: a bind in front of loops and one within, a while, an if with both sides.
static void add_everything(Run& r) {
  r.list.arguments = 3;
  r.list.scratch = 256;
  r.list.constants = 256;
  r.list.add_block(0, 0, 2);
  r.list.add_block(3, 8, 3);
  r.list.add_binding(kSegment, 0, 0, 32, 1);
  r.list.add_binding(6, WEFT_EXECUTABLE_CONTROL_CONSTANTS, 64);
  r.list.add_binding(7, WEFT_EXECUTABLE_CONTROL_SCRATCH, 128, -16, 1);
  r.list.add_binding(kSegment, 2, 240, -48, 3);
  r.list.add_binding(0, 1, 0, 4, 3);
  r.list.bindings[0].access = r.list.bindings[2].access = 3;
  r.list.add(WEFT_CONTROL_OPCODE_BIND, 0, 3);
  const uint16_t outer = r.list.add(WEFT_CONTROL_OPCODE_LOOP, 0, 3);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
  const uint16_t inner = r.list.add_condition(WEFT_CONTROL_OPCODE_WHILE, 4, WEFT_CONTROL_CONDITION_EQUAL, 0, 3);
  r.list.add(WEFT_CONTROL_OPCODE_BIND, 3, 1);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 1);
  r.list.end(inner);
  const uint16_t choice = r.list.add_condition(WEFT_CONTROL_OPCODE_IF, 4, WEFT_CONTROL_CONDITION_NOT_EQUAL, 0);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 1);
  const uint16_t other = r.list.otherwise(choice);
  r.list.add(WEFT_CONTROL_OPCODE_RUN, 0);
  r.list.end(other);
  r.list.end(outer);
}

/// Segment `segment` is mapped to a part of an argument, of the constants (not to be written), or of the scratch
/// memory, or not at all.
static bool mapped_inside(const ListImage& list, uint32_t segment) {
  auto& core = machine().core;
  const uint64_t attributes = core.attributes(segment), base = core.base(segment), limit = core.limit(segment);
  if (attributes == 0) return true;
  const auto inside = [&](uint64_t first, uint64_t bytes) {
    return base >= first && base - first <= bytes && limit <= bytes - (base - first);
  };
  for (uint32_t i = 0; i <= list.arguments; i++) {  // the scratch memory is the last of the list
    if (inside(kData + i * 256, 256)) return true;
  }
  return (attributes & 8) == 0 && inside(kImage + list.commands_at() + list.commands * 64, list.constants);
}

static void lists_by_someone_who_wants_to_harm_reach_nothing_but_their_arguments(void**) {
  constexpr unsigned kSeed = 77;
  std::printf("seed %u\n", kSeed);
  std::mt19937_64 random(kSeed);
  std::map<uint32_t, int> ends;
  uint64_t commands = 0;
  for (int n = 0; n < 3000; n++) {
    Run r;
    add_everything(r);
    r.budget_kcycles = 100;
    r.service_cycles = 100;
    const auto nasty = [&] {
      constexpr uint64_t kNasty[] = {0, 1, 2, 15, 16, 32, 0x7f, 0xff, 0xffff, 0xfffe, 0x80000000, 0xffffffff};
      return random() % 2 != 0 ? kNasty[random() % 12] : random() % 40;
    };
    for (int i = static_cast<int>(random() % 3); i > 0; i--) {
      weft_control_entry& e = r.list.entries[random() % r.list.entries.size()];
      weft_control_binding& w = r.list.bindings[random() % r.list.bindings.size()];
      weft_control_block& b = r.list.blocks[random() % r.list.blocks.size()];
      switch (random() % 9) {
        case 0:
          e.target = static_cast<uint16_t>(nasty());
          break;
        case 1:
          e.first = static_cast<uint16_t>(nasty());
          break;
        case 2:
          e.count = static_cast<uint32_t>(nasty());
          break;
        case 3:
          e.opcode = static_cast<uint8_t>(random() % 8);
          break;
        case 4:
          w.stride_bytes[random() % 2] = 0 - (nasty() & ~UINT64_C(15));
          break;
        case 5:
          w.offset_bytes = nasty() & ~UINT64_C(15);
          break;
        case 6:
          w.size_bytes = nasty() & ~UINT64_C(15);
          break;
        case 7:
          (random() % 2 != 0 ? w.argument : w.segment) = static_cast<uint32_t>(nasty());
          break;
        default:
          (random() % 2 != 0 ? b.queue_first : b.queue_count)[random() % 5] = static_cast<uint32_t>(nasty());
      }
    }
    // Half of them write over their list while it runs.
    const uint64_t when = random() % 2 != 0 ? random() % 12 : UINT64_MAX;
    const uint64_t where = kImage + r.list.control_at() + random() % r.list.control_bytes();
    const auto what = static_cast<uint8_t>(nasty());
    uint64_t seen = 0;
    bool inside = true;
    r.launch([&](uint32_t) {
      for (uint32_t s = 1; s < WEFT_SEGMENTS; s++) inside = inside && mapped_inside(r.list, s);
      if (seen++ == when) machine().hbm[where] = what;
    });
    assert_true(inside);
    assert_false(machine().core.busy());
    ends[CODE(r.completion)]++;
    commands += seen;
  }
  for (const auto& [code, count] : ends) std::printf("  %d ended with code %u\n", count, code);
  std::printf("  %llu commands were fetched\n", static_cast<unsigned long long>(commands));
  assert_true(ends[WEFT_ERROR_OK] > 100 && ends[WEFT_ERROR_EXECUTABLE_INVALID] > 100 &&
              ends[WEFT_ERROR_INVALID_ARGUMENT] > 100);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(what_the_host_has_written_over_is_found_when_it_is_used),
      cmocka_unit_test(lists_by_someone_who_wants_to_harm_reach_nothing_but_their_arguments),
  };
  return cmocka_run_group_tests_name("firmware/control_damage", tests, nullptr, nullptr);
}
