// Emits control lists.
#include "host/compiler/executable/control_list.hpp"

#include <fmt/format.h>

#include <cstring>

#include "weft/spec/names.hpp"

namespace weft::compiler {
namespace {

template <typename T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

bool is_loop(uint8_t opcode) { return opcode == WEFT_CONTROL_OPCODE_LOOP || opcode == WEFT_CONTROL_OPCODE_WHILE; }

std::string argument_text(uint32_t argument) {
  if (argument == WEFT_EXECUTABLE_CONTROL_CONSTANTS) return "constants";
  if (argument == WEFT_EXECUTABLE_CONTROL_SCRATCH) return "scratch";
  return fmt::format("argument {}", argument);
}

}  // namespace

void ControlListBuilder::fail(std::string why) {
  if (wrong_.empty()) wrong_ = fmt::format("control list, entry {}: {}", control_.entries.size(), why);
}

uint16_t ControlListBuilder::add_block(Block block) {
  control_.blocks.push_back(std::move(block));
  return static_cast<uint16_t>(control_.blocks.size() - 1);
}

Loop ControlListBuilder::new_loop() {
  loop_entry_.push_back(kNotOpened);
  return {static_cast<uint16_t>(loop_entry_.size() - 1)};
}

uint16_t ControlListBuilder::add_binding(uint32_t segment, uint32_t access, const Window& window) {
  if (window.strides.size() > WEFT_EXECUTABLE_CONTROL_STRIDES)
    fail(
        fmt::format("{} strides of a window, {} are possible", window.strides.size(), WEFT_EXECUTABLE_CONTROL_STRIDES));
  weft_control_binding b{};
  b.segment = segment;
  b.access = access;
  b.argument = window.argument;
  b.offset_bytes = window.offset_bytes;
  b.size_bytes = segment == 0 ? sizeof(uint32_t) : window.size_bytes;
  for (size_t i = 0; i < WEFT_EXECUTABLE_CONTROL_STRIDES; i++) {
    const bool given = i < window.strides.size();
    b.stride_bytes[i] = given ? static_cast<uint64_t>(window.strides[i].bytes) : 0;
    b.stride_loop[i] = given ? window.strides[i].loop.number : WEFT_EXECUTABLE_CONTROL_NO_LOOP;  // its entry: finish()
  }
  control_.bindings.push_back(b);
  return static_cast<uint16_t>(control_.bindings.size() - 1);
}

void ControlListBuilder::run(uint16_t block, bool overlap) {
  if (block >= control_.blocks.size()) fail(fmt::format("block {}, there are {}", block, control_.blocks.size()));
  weft_control_entry e{};
  e.opcode = WEFT_CONTROL_OPCODE_RUN;
  e.flags = overlap ? WEFT_EXECUTABLE_CONTROL_OVERLAP : 0;
  e.first = block;
  control_.entries.push_back(e);
}

void ControlListBuilder::bind(const std::vector<SegmentWindow>& windows) {
  if (windows.empty() || windows.size() >= WEFT_SEGMENTS)
    return fail(fmt::format("a bind of {} segments, 1 to {} are possible", windows.size(), WEFT_SEGMENTS - 1));
  weft_control_entry e{};
  e.opcode = WEFT_CONTROL_OPCODE_BIND;
  e.first = static_cast<uint16_t>(control_.bindings.size());
  e.count = static_cast<uint32_t>(windows.size());
  for (const SegmentWindow& w : windows) {
    if (w.segment == 0 || w.segment >= WEFT_SEGMENTS) fail(fmt::format("segment {} is bound", w.segment));
    add_binding(w.segment, w.access, w.window);
  }
  control_.entries.push_back(e);
}

void ControlListBuilder::open(weft_control_entry entry) {
  open_.push_back(here());
  control_.entries.push_back(entry);
}

void ControlListBuilder::begin_loop(Loop loop, uint32_t turns) {
  if (turns == 0) fail("a loop of 0 turns");
  if (std::exchange(loop_entry_.at(loop.number), here()) != kNotOpened) fail("a loop is opened twice");
  weft_control_entry e{};
  e.opcode = WEFT_CONTROL_OPCODE_LOOP;
  e.count = turns;
  open(e);
}

void ControlListBuilder::begin_while(Loop loop, const Condition& condition, uint32_t turns) {
  if (std::exchange(loop_entry_.at(loop.number), here()) != kNotOpened) fail("a loop is opened twice");
  weft_control_entry e{};
  e.opcode = WEFT_CONTROL_OPCODE_WHILE;
  e.condition = condition.compare;
  e.first = add_binding(0, 0, condition.word);
  e.count = turns;
  e.value = condition.value;
  open(e);
}

void ControlListBuilder::begin_if(const Condition& condition) {
  weft_control_entry e{};
  e.opcode = WEFT_CONTROL_OPCODE_IF;
  e.condition = condition.compare;
  e.first = add_binding(0, 0, condition.word);
  e.value = condition.value;
  open(e);
}

void ControlListBuilder::otherwise() {
  if (open_.empty() || control_.entries[open_.back()].opcode != WEFT_CONTROL_OPCODE_IF)
    return fail("an else without its if");
  control_.entries[open_.back()].target = here();
  open_.pop_back();
  weft_control_entry e{};
  e.opcode = WEFT_CONTROL_OPCODE_ELSE;
  open(e);
}

void ControlListBuilder::end() {
  if (open_.empty()) return fail("an end of nothing");
  control_.entries[open_.back()].target = here();
  weft_control_entry e{};
  e.opcode = WEFT_CONTROL_OPCODE_END;
  e.target = open_.back();
  control_.entries.push_back(e);
  open_.pop_back();
}

Result<Control> ControlListBuilder::finish() const {
  const auto invalid = [](std::string why) { return Error{WEFT_ERROR_INVALID_ARGUMENT, std::move(why)}; };
  if (!wrong_.empty()) return invalid(wrong_);
  if (!open_.empty()) return invalid(fmt::format("control list: entry {} has no end", open_.back()));
  const auto limit = [&](const char* what, size_t count, size_t most) {
    return count <= most ? std::string() : fmt::format("control list: {} {}, {} are possible", count, what, most);
  };
  for (const std::string& why : {limit("blocks", control_.blocks.size(), WEFT_EXECUTABLE_CONTROL_BLOCKS),
                                 limit("bindings", control_.bindings.size(), WEFT_EXECUTABLE_CONTROL_BINDINGS),
                                 limit("entries", control_.entries.size(), WEFT_EXECUTABLE_CONTROL_ENTRIES)}) {
    if (!why.empty()) return invalid(why);
  }
  if (control_.entries.empty()) return invalid("control list: it is empty");
  size_t depth = 0, loops = 0;
  for (size_t i = 0; i < control_.entries.size(); i++) {
    const weft_control_entry& e = control_.entries[i];
    if (e.opcode == WEFT_CONTROL_OPCODE_END) {
      depth--;
      if (is_loop(control_.entries[e.target].opcode)) loops--;
    }
    if (is_loop(e.opcode)) loops++;
    if (is_loop(e.opcode) || e.opcode == WEFT_CONTROL_OPCODE_IF) depth++;
    if (depth > WEFT_EXECUTABLE_CONTROL_NESTING || loops > WEFT_EXECUTABLE_CONTROL_LOOPS)
      return invalid(fmt::format("control list, entry {}: nested too deep", i));
  }
  for (const Block& block : control_.blocks) {
    size_t commands = 0;
    for (const auto& queue : block) commands += queue.size();
    if (commands == 0) return invalid("control list: a block without commands");
  }
  Control control = control_;
  for (weft_control_binding& b : control.bindings) {
    for (uint16_t& loop : b.stride_loop) {
      if (loop == WEFT_EXECUTABLE_CONTROL_NO_LOOP) continue;
      loop = loop_entry_.at(loop);
      if (loop == kNotOpened) return invalid("control list: a stride names a loop that is not there");
      if (control.entries[loop].count == 0)
        return invalid(fmt::format("control list: a stride names entry {}, a while without a limit of turns", loop));
    }
  }
  return control;
}

std::vector<std::byte> control_section(const Control& control) {
  weft_control_header header{};
  header.version = WEFT_EXECUTABLE_CONTROL_VERSION;
  header.block_count = static_cast<uint32_t>(control.blocks.size());
  header.binding_count = static_cast<uint32_t>(control.bindings.size());
  header.entry_count = static_cast<uint32_t>(control.entries.size());
  std::vector<std::byte> bytes;
  append(bytes, header);
  uint32_t first = 0;
  for (const Block& block : control.blocks) {
    weft_control_block record{};
    for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
      record.queue_first[q] = first;
      record.queue_count[q] = static_cast<uint32_t>(block[q].size());
      first += record.queue_count[q];
    }
    append(bytes, record);
  }
  for (const weft_control_binding& binding : control.bindings) append(bytes, binding);
  for (const weft_control_entry& entry : control.entries) append(bytes, entry);
  bytes.resize((bytes.size() + WEFT_EXECUTABLE_SECTION_ALIGNMENT - 1) / WEFT_EXECUTABLE_SECTION_ALIGNMENT *
               WEFT_EXECUTABLE_SECTION_ALIGNMENT);
  header.list_bytes = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

std::string control_text(const Control& control) {
  std::string text;
  const auto window = [](const weft_control_binding& b) {
    std::string strides;
    for (uint32_t i = 0; i < WEFT_EXECUTABLE_CONTROL_STRIDES && b.stride_loop[i] != WEFT_EXECUTABLE_CONTROL_NO_LOOP;
         i++)
      strides += fmt::format(" {:+} x turn of {}", static_cast<int64_t>(b.stride_bytes[i]), b.stride_loop[i]);
    return fmt::format("{} at {}{}", argument_text(b.argument), b.offset_bytes, strides);
  };
  size_t depth = 0;
  for (size_t i = 0; i < control.entries.size(); i++) {
    const weft_control_entry& e = control.entries[i];
    if (e.opcode == WEFT_CONTROL_OPCODE_END || e.opcode == WEFT_CONTROL_OPCODE_ELSE) depth--;
    text += fmt::format("{:4} {}{}", i, std::string(2 * depth, ' '), spec::control_opcode_name(e.opcode));
    switch (static_cast<weft_control_opcode>(e.opcode)) {
      case WEFT_CONTROL_OPCODE_RUN:
        text += fmt::format(" block {}{}", e.first, e.flags != 0 ? ", overlapping" : "");
        break;
      case WEFT_CONTROL_OPCODE_BIND:
        for (uint32_t n = 0; n < e.count; n++) {
          const weft_control_binding& b = control.bindings[e.first + n];
          text += fmt::format("\n     {}  segment {} = {}, {} bytes, {}{}", std::string(2 * depth, ' '), b.segment,
                              window(b), b.size_bytes, (b.access & WEFT_EXECUTABLE_CONTROL_READABLE) != 0 ? "r" : "",
                              (b.access & WEFT_EXECUTABLE_CONTROL_WRITABLE) != 0 ? "w" : "");
        }
        break;
      case WEFT_CONTROL_OPCODE_LOOP:
        text += fmt::format(" {} turns", e.count);
        break;
      case WEFT_CONTROL_OPCODE_WHILE:
      case WEFT_CONTROL_OPCODE_IF:
        text += fmt::format(" word of {} {} {}", window(control.bindings[e.first]),
                            spec::control_condition_name(e.condition), e.value);
        if (e.count != 0) text += fmt::format(", {} turns at most", e.count);
        break;
      case WEFT_CONTROL_OPCODE_ELSE:
      case WEFT_CONTROL_OPCODE_END:
        break;
    }
    text += '\n';
    if (is_loop(e.opcode) || e.opcode == WEFT_CONTROL_OPCODE_IF || e.opcode == WEFT_CONTROL_OPCODE_ELSE) depth++;
  }
  return text;
}

}  // namespace weft::compiler
