// Every field of a control list, wrong; and lists by someone who wants to harm, judged by arithmetic of another kind.
#include "firmware/core/control_check.hpp"

#include <cstdio>
#include <cstring>
#include <functional>
#include <random>

#include "check.hpp"
#include "control_image.hpp"

using namespace mock;
using namespace weft::fw;
using B = weft_control_block;
using W = weft_control_binding;
using C = weft_control_entry;

namespace {

constexpr uint32_t kCommands = 64;
constexpr uint64_t kAt = 0x1000;

/// A list with an entry of each opcode: bind, loop, run, while, run, end, end, if, run, else, run, end.
struct Good {
  ListImage list;
  ControlShape shape{};
  Good() {
    const uint16_t block = list.add_block(0, 3, 5);
    list.add_block(4, 0, kCommands);
    const uint16_t loop = 1, inner = 3;
    list.add_binding(3, 0, 64, 16, loop);
    list.bindings[0].stride_bytes[1] = static_cast<uint64_t>(-32);
    list.bindings[0].stride_loop[1] = inner;
    list.add_binding(0, 1, 4, 4, inner);
    list.add(WEFT_CONTROL_OPCODE_BIND, 0, 1);
    list.add(WEFT_CONTROL_OPCODE_LOOP, 0, 4);
    list.add(WEFT_CONTROL_OPCODE_RUN, block);
    list.add_condition(WEFT_CONTROL_OPCODE_WHILE, 1, WEFT_CONTROL_CONDITION_LESS, 7, 3);
    list.add(WEFT_CONTROL_OPCODE_RUN, 1);
    list.end(inner);
    list.end(loop);
    const uint16_t choice = list.add_condition(WEFT_CONTROL_OPCODE_IF, 1, WEFT_CONTROL_CONDITION_EQUAL, 0);
    list.add(WEFT_CONTROL_OPCODE_RUN, block);
    const uint16_t other = list.otherwise(choice);
    list.add(WEFT_CONTROL_OPCODE_RUN, block);
    list.end(other);
    shape.at = kAt;
    shape.arguments = 2;
    weft_control_header h = header();
    assert_true(check_control_header(h, 5, h.list_bytes, &shape).ok());
  }
  weft_control_header header() const {
    weft_control_header h{};
    h.version = WEFT_EXECUTABLE_CONTROL_VERSION;
    h.kernel = 5;
    h.block_count = static_cast<uint32_t>(list.blocks.size());
    h.binding_count = static_cast<uint32_t>(list.bindings.size());
    h.entry_count = static_cast<uint32_t>(list.entries.size());
    h.list_bytes = list.control_bytes();
    return h;
  }
  Status entries() const { return check_control_entries(shape, list.entries.data()); }
  Status binding(uint32_t i) const {
    const W& w = list.bindings[i];
    return check_control_binding(shape, list.entries.data(), i, w,
                                 w.segment == 0 ? BindingUse::kWord : BindingUse::kSegment);
  }
  Status window(uint32_t i, uint64_t bytes) const {
    return check_control_window(shape, list.entries.data(), i, list.bindings[i], bytes);
  }
  uint64_t entry_at(uint32_t i) const { return kAt + shape.entries_at() + i * sizeof(C); }
  uint64_t binding_at(uint32_t i) const { return kAt + shape.bindings_at() + i * sizeof(W); }
};

}  // namespace

static void a_good_list_passes(void**) {
  const Good g;
  assert_true(g.entries().ok());
  assert_true(g.binding(0).ok() && g.binding(1).ok());
  assert_true(check_control_block(g.shape, 0, g.list.blocks[0], kCommands).ok());
  assert_true(check_control_block(g.shape, 1, g.list.blocks[1], kCommands).ok());
}

static void every_wrong_header_field_is_named(void**) {
  using H = weft_control_header;
  const Good g;
  const auto refuse = [&](uint64_t offset, auto change) {
    H h = g.header();
    change(h);
    ControlShape shape{};
    shape.at = kAt;
    const Status s = check_control_header(h, 5, g.header().list_bytes, &shape);
    assert_int_equal(s.error, WEFT_ERROR_EXECUTABLE_INVALID);
    assert_int_equal(s.detail0, kAt + offset);
  };
  refuse(offsetof(H, version), [](H& h) { h.version++; });
  refuse(offsetof(H, kernel), [](H& h) { h.kernel++; });
  refuse(offsetof(H, block_count), [](H& h) { h.block_count = WEFT_EXECUTABLE_CONTROL_BLOCKS + 1; });
  refuse(offsetof(H, binding_count), [](H& h) { h.binding_count = WEFT_EXECUTABLE_CONTROL_BINDINGS + 1; });
  refuse(offsetof(H, entry_count), [](H& h) { h.entry_count = WEFT_EXECUTABLE_CONTROL_ENTRIES + 1; });
  refuse(offsetof(H, entry_count), [](H& h) { h.entry_count = 0; });
  refuse(offsetof(H, reserved0), [](H& h) { h.reserved0 = 1; });
  refuse(offsetof(H, list_bytes), [](H& h) { h.list_bytes += 64; });
  refuse(offsetof(H, list_bytes), [](H& h) { h.block_count++; });
  for (uint32_t i = 0; i < 4; i++) refuse(offsetof(H, reserved) + 8 * i, [i](H& h) { h.reserved[i] = 1; });
}

static void every_wrong_field_of_an_entry_is_named(void**) {
  const auto refuse = [](uint32_t entry, uint64_t field, auto change) {
    Good g;
    change(g.list.entries[entry]);
    const Status s = g.entries();
    assert_int_equal(s.error, WEFT_ERROR_EXECUTABLE_INVALID);
    assert_int_equal(s.detail0, g.entry_at(entry) + field);
  };
  constexpr uint32_t kBind = 0, kLoop = 1, kRun = 2, kWhile = 3, kEnd = 5, kIf = 7, kElse = 9;
  for (const uint32_t i : {kBind, kLoop, kRun, kWhile, kEnd, kIf, kElse}) {
    refuse(i, offsetof(C, opcode), [](C& e) { e.opcode = 0; });
    refuse(i, offsetof(C, opcode), [](C& e) { e.opcode = 8; });
    refuse(i, offsetof(C, flags), [i](C& e) { e.flags = i == kRun ? 2 : 1; });
    refuse(i, offsetof(C, reserved), [](C& e) { e.reserved = 1; });
  }
  for (const uint32_t i : {kBind, kLoop, kRun, kEnd, kElse}) {
    refuse(i, offsetof(C, condition), [](C& e) { e.condition = 1; });
    refuse(i, offsetof(C, value), [](C& e) { e.value = 1; });
  }
  for (const uint32_t i : {kWhile, kIf}) {
    refuse(i, offsetof(C, condition), [](C& e) { e.condition = 0; });
    refuse(i, offsetof(C, condition), [](C& e) { e.condition = 5; });
    refuse(i, offsetof(C, first), [](C& e) { e.first = 2; });  // there are two bindings
  }
  refuse(kRun, offsetof(C, first), [](C& e) { e.first = 2; });  // and two blocks
  refuse(kRun, offsetof(C, target), [](C& e) { e.target = 1; });
  refuse(kRun, offsetof(C, count), [](C& e) { e.count = 1; });
  refuse(kBind, offsetof(C, target), [](C& e) { e.target = 1; });
  refuse(kBind, offsetof(C, first), [](C& e) { e.first = 2; });
  for (const uint32_t count : {0u, 3u, 32u, UINT32_MAX})
    refuse(kBind, offsetof(C, count), [=](C& e) { e.count = count; });
  refuse(kLoop, offsetof(C, count), [](C& e) { e.count = 0; });
  refuse(kLoop, offsetof(C, first), [](C& e) { e.first = 1; });
  refuse(kIf, offsetof(C, count), [](C& e) { e.count = 1; });
  for (const uint32_t i : {kLoop, kWhile, kEnd, kIf, kElse}) {
    for (const uint16_t target : {uint16_t{0}, uint16_t{6}, uint16_t{12}, uint16_t{0xffff}}) {
      Good g;
      if (g.list.entries[i].target == target) continue;
      refuse(i, offsetof(C, target), [=](C& e) { e.target = target; });
    }
  }
  refuse(kEnd, offsetof(C, first), [](C& e) { e.first = 1; });
  refuse(kEnd, offsetof(C, count), [](C& e) { e.count = 1; });
}

static void what_does_not_nest_or_nests_too_deep_is_refused(void**) {
  const auto check = [](const std::vector<weft_control_opcode>& opcodes, bool good, uint32_t wrong) {
    ListImage list;
    list.add_block(0, 0, 1);
    list.add_binding(0, 0);
    std::vector<uint16_t> open;
    for (const weft_control_opcode opcode : opcodes) {
      if (opcode == WEFT_CONTROL_OPCODE_END || opcode == WEFT_CONTROL_OPCODE_ELSE) {
        if (open.empty()) {  // of nothing
          list.add(opcode);
          continue;
        }
        const uint16_t opener = open.back();
        open.pop_back();
        if (opcode == WEFT_CONTROL_OPCODE_END) list.end(opener);
        if (opcode == WEFT_CONTROL_OPCODE_ELSE) open.push_back(list.otherwise(opener));
      } else {
        const bool word = opcode == WEFT_CONTROL_OPCODE_WHILE || opcode == WEFT_CONTROL_OPCODE_IF;
        const uint16_t at = word ? list.add_condition(opcode, 0, WEFT_CONTROL_CONDITION_EQUAL, 0)
                                 : list.add(opcode, 0, opcode == WEFT_CONTROL_OPCODE_LOOP ? 1 : 0);
        if (opcode != WEFT_CONTROL_OPCODE_RUN) open.push_back(at);
      }
    }
    ControlShape shape{};
    shape.entries = static_cast<uint16_t>(list.entries.size());
    shape.blocks = shape.bindings = shape.arguments = 1;
    const Status s = check_control_entries(shape, list.entries.data());
    assert_int_equal(s.ok(), good);
    if (!good) assert_int_equal((s.detail0 - shape.entries_at()) / sizeof(C), wrong);
  };
  constexpr auto kRun = WEFT_CONTROL_OPCODE_RUN, kLoop = WEFT_CONTROL_OPCODE_LOOP, kIf = WEFT_CONTROL_OPCODE_IF,
                 kElse = WEFT_CONTROL_OPCODE_ELSE, kEnd = WEFT_CONTROL_OPCODE_END, kWhile = WEFT_CONTROL_OPCODE_WHILE;
  check({kRun}, true, 0);
  check({kEnd}, false, 0);
  check({kElse, kEnd}, false, 0);
  check({kLoop, kRun}, false, 0);
  check({kLoop, kElse, kEnd}, false, 1);
  check({kIf, kElse, kElse, kEnd}, false, 2);
  check({kIf, kRun, kElse}, false, 2);
  check({kLoop, kWhile, kLoop, kWhile, kEnd, kEnd, kEnd, kEnd}, true, 0);
  check({kLoop, kWhile, kLoop, kWhile, kLoop, kEnd, kEnd, kEnd, kEnd, kEnd}, false, 4);
  std::vector<weft_control_opcode> deep(8, kIf);
  deep.resize(16, kEnd);
  check(deep, true, 0);
  deep.assign(9, kIf);
  deep.resize(18, kEnd);
  check(deep, false, 8);
  check({kLoop, kEnd, kLoop, kEnd, kLoop, kEnd, kLoop, kEnd, kLoop, kRun, kEnd}, true, 0);  // one after the other
}

static void every_wrong_field_of_a_block_is_named(void**) {
  const Good g;
  const auto refuse = [&](uint64_t offset, auto change) {
    B b = g.list.blocks[0];
    change(b);
    const Status s = check_control_block(g.shape, 0, b, kCommands);
    assert_int_equal(s.error, WEFT_ERROR_EXECUTABLE_INVALID);
    assert_int_equal(s.detail0, kAt + g.shape.blocks_at() + offset);
  };
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    refuse(offsetof(B, queue_first) + 4 * q, [q](B& b) { b.queue_first[q] = kCommands + 1; });
    refuse(offsetof(B, queue_first) + 4 * q, [q](B& b) { b.queue_first[q] = UINT32_MAX; });
    refuse(offsetof(B, queue_count) + 4 * q, [q](B& b) { b.queue_count[q] = kCommands - b.queue_first[q] + 1; });
    refuse(offsetof(B, queue_count) + 4 * q, [q](B& b) { b.queue_count[q] = UINT32_MAX; });
  }
  refuse(offsetof(B, queue_count), [](B& b) { b.queue_count[0] = 0; });
  for (uint32_t i = 0; i < 3; i++) refuse(offsetof(B, reserved) + 8 * i, [i](B& b) { b.reserved[i] = 1; });
}

static void every_wrong_field_of_a_binding_is_named(void**) {
  const auto refuse = [](uint32_t index, uint64_t field, auto change) {
    Good g;
    const BindingUse use = index == 0 ? BindingUse::kSegment : BindingUse::kWord;
    change(g.list.bindings[index]);
    const Status s = check_control_binding(g.shape, g.list.entries.data(), index, g.list.bindings[index], use);
    assert_int_equal(s.error, WEFT_ERROR_EXECUTABLE_INVALID);
    assert_int_equal(s.detail0, g.binding_at(index) + field);
  };
  for (const uint32_t segment : {0u, 32u, UINT32_MAX})
    refuse(0, offsetof(W, segment), [=](W& w) { w.segment = segment; });
  refuse(1, offsetof(W, segment), [](W& w) { w.segment = 1; });
  for (const uint32_t access : {0u, 4u, UINT32_MAX}) refuse(0, offsetof(W, access), [=](W& w) { w.access = access; });
  refuse(0, offsetof(W, access), [](W& w) { w.argument = WEFT_EXECUTABLE_CONTROL_CONSTANTS, w.access = 2; });
  refuse(1, offsetof(W, access), [](W& w) { w.access = 1; });
  for (const uint32_t argument : {2u, 1024u, WEFT_EXECUTABLE_CONTROL_SCRATCH, 0xfffffffdu})
    refuse(0, offsetof(W, argument), [=](W& w) { w.argument = argument; });
  for (const uint32_t i : {0u, 1u}) {
    refuse(i, offsetof(W, reserved0), [](W& w) { w.reserved0 = 1; });
    refuse(i, offsetof(W, reserved1), [](W& w) { w.reserved1 = 1; });
    refuse(i, offsetof(W, offset_bytes), [](W& w) { w.offset_bytes = WEFT_EXECUTABLE_CONTROL_STRIDE_LIMIT; });
    refuse(i, offsetof(W, offset_bytes), [](W& w) { w.offset_bytes = 2; });
    refuse(i, offsetof(W, size_bytes), [](W& w) { w.size_bytes = 0; });
    refuse(i, offsetof(W, size_bytes), [](W& w) { w.size_bytes = 24; });
    for (const uint64_t stride : {UINT64_C(0), UINT64_C(2), WEFT_EXECUTABLE_CONTROL_STRIDE_LIMIT,
                                  0 - WEFT_EXECUTABLE_CONTROL_STRIDE_LIMIT, UINT64_C(1) << 63})
      refuse(i, offsetof(W, stride_bytes), [=](W& w) { w.stride_bytes[0] = stride; });
    for (const uint16_t loop : {uint16_t{0}, uint16_t{2}, uint16_t{5}, uint16_t{7}, uint16_t{12}, uint16_t{0xfffe}})
      refuse(i, offsetof(W, stride_loop), [=](W& w) { w.stride_loop[0] = loop; });
    refuse(i, offsetof(W, stride_bytes) + 16, [](W& w) { w.stride_bytes[2] = 16; });
  }
  refuse(0, offsetof(W, offset_bytes), [](W& w) { w.offset_bytes = 4; });
  refuse(0, offsetof(W, stride_bytes), [](W& w) { w.stride_bytes[0] = 4; });
  refuse(1, offsetof(W, stride_loop) + 4, [](W& w) { w.stride_bytes[2] = 4, w.stride_loop[2] = 1; });  // behind none
  {
    Good g;  // a while without a limit moves nothing
    g.list.entries[3].count = 0;
    ASSERT_REFUSED(g.binding(1), WEFT_ERROR_EXECUTABLE_INVALID, g.binding_at(1) + offsetof(W, stride_loop), 3);
  }
  Good g;
  g.shape.scratch = true;
  g.list.bindings[0].argument = WEFT_EXECUTABLE_CONTROL_SCRATCH;
  assert_true(g.binding(0).ok());
}

static void a_window_keeps_within_its_argument_to_the_byte(void**) {
  Good g;  // 64 + 16 x 0..3 - 32 x 0..2, 16 bytes: from 0 to 128
  assert_true(g.window(0, 128).ok());
  ASSERT_REFUSED(g.window(0, 112), WEFT_ERROR_INVALID_ARGUMENT, g.binding_at(0) + offsetof(W, size_bytes), 128);
  g.list.bindings[0].offset_bytes = 48;
  ASSERT_REFUSED(g.window(0, 128), WEFT_ERROR_INVALID_ARGUMENT, g.binding_at(0) + offsetof(W, size_bytes), UINT64_MAX);
  assert_true(g.window(1, 16).ok());
  ASSERT_REFUSED(g.window(1, 12), WEFT_ERROR_INVALID_ARGUMENT, g.binding_at(1) + offsetof(W, size_bytes), 16);
}

/// What check_control_window() says, said with 128 bits.
static bool fits(const C* entries, const W& w, uint64_t bytes) {
  __int128 low = w.offset_bytes, high = w.offset_bytes;
  for (int i = 0; i < 3 && w.stride_loop[i] != WEFT_EXECUTABLE_CONTROL_NO_LOOP; i++) {
    const __int128 span = __int128{static_cast<int64_t>(w.stride_bytes[i])} * (entries[w.stride_loop[i]].count - 1);
    (span < 0 ? low : high) += span;
  }
  return low >= 0 && high + w.size_bytes <= bytes;
}

/// Whether entries nest, by walking them as a program would: every turn of a loop taken once.
static bool walk(const ControlShape& shape, const C* entries) {
  std::vector<uint16_t> open;
  for (uint32_t i = 0; i < shape.entries; i++) {
    const C& e = entries[i];
    const bool closes = e.opcode == WEFT_CONTROL_OPCODE_END || e.opcode == WEFT_CONTROL_OPCODE_ELSE;
    if (closes && (open.empty() || entries[open.back()].target != i)) return false;
    if (e.opcode == WEFT_CONTROL_OPCODE_END && e.target != open.back()) return false;
    if (closes) open.pop_back();
    if (e.opcode != WEFT_CONTROL_OPCODE_RUN && e.opcode != WEFT_CONTROL_OPCODE_BIND &&
        e.opcode != WEFT_CONTROL_OPCODE_END)
      open.push_back(static_cast<uint16_t>(i));
    uint32_t loops = 0;
    for (const uint16_t o : open)
      loops += entries[o].opcode == WEFT_CONTROL_OPCODE_LOOP || entries[o].opcode == WEFT_CONTROL_OPCODE_WHILE;
    if (open.size() > WEFT_EXECUTABLE_CONTROL_NESTING || loops > WEFT_EXECUTABLE_CONTROL_LOOPS) return false;
  }
  return open.empty();
}

static void lists_by_someone_who_wants_to_harm_are_never_taken_wrongly(void**) {
  constexpr unsigned kSeed = 13;
  std::printf("seed %u\n", kSeed);
  std::mt19937_64 random(kSeed);
  int entries_taken = 0, windows_taken = 0, windows_refused = 0;
  for (int n = 0; n < 200000; n++) {
    Good g;
    for (int i = static_cast<int>(random() % 3); i >= 0; i--) {  // fields of any entry
      C& e = g.list.entries[random() % g.list.entries.size()];
      const auto small = static_cast<uint16_t>(random() % 14);
      switch (random() % 5) {
        case 0:
          e.opcode = static_cast<uint8_t>(random() % 9);
          break;
        case 1:
          e.target = small;
          break;
        case 2:
          e.first = small;
          break;
        case 3:
          e.count = static_cast<uint32_t>(random() >> (random() % 64));
          break;
        default:
          std::swap(e, g.list.entries[random() % g.list.entries.size()]);
      }
    }
    W& w = g.list.bindings[random() % 2];
    const uint64_t value = random() >> (random() % 64);
    switch (random() % 6) {
      case 0:
        w.offset_bytes = value;
        break;
      case 1:
        w.size_bytes = value & ~UINT64_C(15);
        break;
      case 2:
        w.stride_bytes[random() % 3] = (random() % 2 != 0 ? value : 0 - value) & ~UINT64_C(15);
        break;
      case 3:
        w.stride_loop[random() % 3] = static_cast<uint16_t>(random() % 14);
        break;
      case 4:
        w.stride_bytes[0] = value & (WEFT_EXECUTABLE_CONTROL_STRIDE_LIMIT - 16);
        g.list.entries[1].count = static_cast<uint32_t>(random());
        break;
      default:
        w.argument = static_cast<uint32_t>(random() % 3);
    }
    const C* entries = g.list.entries.data();
    if (!g.entries().ok()) continue;
    entries_taken++;
    assert_true(walk(g.shape, entries));
    for (const C& e : g.list.entries) {
      if (e.opcode == WEFT_CONTROL_OPCODE_RUN) assert_in_range(e.first, 0, g.list.blocks.size() - 1);
      if (e.opcode == WEFT_CONTROL_OPCODE_BIND) assert_true(e.first + uint64_t{e.count} <= g.list.bindings.size());
    }
    for (uint32_t i = 0; i < 2; i++) {
      if (!g.binding(i).ok()) continue;
      for (const uint64_t bytes : {UINT64_C(0), UINT64_C(128), random() >> (random() % 64), UINT64_MAX >> 2}) {
        const bool taken = g.window(i, bytes).ok();
        (taken ? windows_taken : windows_refused)++;
        if (taken) assert_true(fits(entries, g.list.bindings[i], bytes));
        if (!taken && bytes < UINT64_C(1) << 60) assert_false(fits(entries, g.list.bindings[i], bytes));
      }
    }
  }
  std::printf("  %d lists of entries taken, %d windows taken, %d refused\n", entries_taken, windows_taken,
              windows_refused);
  assert_true(entries_taken > 1000 && windows_taken > 1000 && windows_refused > 1000);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_good_list_passes),
      cmocka_unit_test(every_wrong_header_field_is_named),
      cmocka_unit_test(every_wrong_field_of_an_entry_is_named),
      cmocka_unit_test(what_does_not_nest_or_nests_too_deep_is_refused),
      cmocka_unit_test(every_wrong_field_of_a_block_is_named),
      cmocka_unit_test(every_wrong_field_of_a_binding_is_named),
      cmocka_unit_test(a_window_keeps_within_its_argument_to_the_byte),
      cmocka_unit_test(lists_by_someone_who_wants_to_harm_are_never_taken_wrongly),
  };
  return cmocka_run_group_tests_name("firmware/control_check", tests, nullptr, nullptr);
}
