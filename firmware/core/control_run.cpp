// Following a control list. What the core does not need is done while it works: the entries up to the next block, its
// bindings and its commands' places.
#include "firmware/admin/hbm_scrub.hpp"
#include "firmware/core/control_parts.hpp"
#include "firmware/core/core.hpp"

namespace weft::fw {
namespace {

using namespace control;
using W = weft_control_binding;
using B = weft_control_block;
using C = weft_control_entry;

/// Entries looked at in one call, each binding of a BIND counted as one more.
constexpr uint32_t kSteps = 64;

Status fail(Control& control, const Status& status) {
  control.step = ControlStep::kFailed;
  control.failure = status;
  return status;
}

/// Turn of the LOOP or WHILE `loop`; 0: it is not open.
uint32_t turn_of(const Control& control, uint32_t loop) {
  for (uint32_t i = 0; i < control.loops; i++) {
    if (control.open[i] == loop) return control.turn[i];
  }
  return 0;
}

/// Where the binding's window begins now, in its argument.
uint64_t offset_of(const Control& control, const W& w) {
  uint64_t offset = w.offset_bytes;
  for (uint32_t i = 0; i < WEFT_EXECUTABLE_CONTROL_STRIDES; i++) {
    if (w.stride_loop[i] == WEFT_EXECUTABLE_CONTROL_NO_LOOP) break;
    offset += w.stride_bytes[i] * turn_of(control, w.stride_loop[i]);
  }
  return offset;
}

/// The binding that was read again is one with which nothing outside of its argument can be reached: what
/// check_control_binding() says of its use, its argument and its access, in few instructions. Where its windows begin
/// and end is looked at for each.
bool harmless(const Control& control, const W& w, BindingUse use) {
  const bool constants = w.argument == WEFT_EXECUTABLE_CONTROL_CONSTANTS;
  const uint32_t unknown = constants ? ~WEFT_EXECUTABLE_CONTROL_READABLE
                                     : ~(WEFT_EXECUTABLE_CONTROL_READABLE | WEFT_EXECUTABLE_CONTROL_WRITABLE);
  const bool word = use == BindingUse::kWord;
  return (word ? w.segment == 0 : w.segment - 1 < WEFT_SEGMENTS - 1) && (w.access & unknown) == 0 &&
         (constants || w.argument < control.shape.arguments ||
          (w.argument == WEFT_EXECUTABLE_CONTROL_SCRATCH && control.shape.scratch));
}

/// The window from `offset` on lies in its argument, at a multiple of `grain`.
bool window_inside(const Room& room, uint64_t offset, uint64_t bytes, uint32_t grain) {
  return (static_cast<uint32_t>(offset | bytes) & (grain - 1)) == 0 && offset <= room.bytes &&
         bytes <= room.bytes - offset;
}

/// The host has written over a binding of the list while it ran.
Status overwritten(const Control& control, uint32_t index) {
  const uint64_t at = control.shape.at + control.shape.bindings_at() + index * sizeof(W);
  return refused(WEFT_ERROR_EXECUTABLE_INVALID, at, index);
}

/// What a binding says to the core besides the base.
struct Window {
  weft_address_space space;
  uint32_t access;
  uint64_t bytes;
  bool operator==(const Window&) const = default;
};

/// That of a segment that has been bound.
Window window_of(const Control& control, uint32_t segment) {
  const W& w = control.binding[segment];
  return {control.room[segment].where.space, w.access, w.size_bytes};
}

void bind(State& state, Function& function, const C& entry) {
  Control& control = state.control;
  if (control.entry == control.last_bind) return;  // as in a loop with no other: its segments are bound
  control.last_bind = control.entry;
  Status status =
      read_list(function, control, control.shape.bindings_at() + entry.first * static_cast<uint32_t>(sizeof(W)),
                state.scratch, entry.count * static_cast<uint32_t>(sizeof(W)));
  hal::charge(WEFT_MANAGER_SRAM_WORD * entry.count * sizeof(W) / 4);
  for (uint32_t i = 0; i < entry.count && status.ok(); i++) {
    const uint8_t* read = state.scratch + i * sizeof(W);
    uint32_t segment;
    __builtin_memcpy(&segment, read + offsetof(W, segment), sizeof segment);
    const uint32_t place = segment & (WEFT_SEGMENTS - 1), bit = 1u << place;
    W& w = control.binding[place];
    const bool written = (control.written & ~control.bound & bit) != 0;
    const Window before = written ? window_of(control, place) : Window{};
    __builtin_memcpy(&w, __builtin_assume_aligned(read, alignof(W)), sizeof w);
    if (!harmless(control, w, BindingUse::kSegment)) {
      status = overwritten(control, entry.first + i);
      break;
    }
    const Room room = control.room[segment] = room_of(function, control, w);
    if ((w.access & WEFT_EXECUTABLE_CONTROL_WRITABLE) != 0 && room.where.space == WEFT_ADDRESS_SPACE_HBM)
      note_written(function, room.where.address + room.bytes);
    control.binding_index[segment] = static_cast<uint16_t>(entry.first + i);
    (written && before == window_of(control, segment) ? control.rebound : control.bound) |= bit;
    control.moving &= ~bit;
    if (w.stride_loop[0] != WEFT_EXECUTABLE_CONTROL_NO_LOOP) control.moving |= bit;
  }
  if (!status.ok()) (void)fail(control, status);
}

/// Where a condition's word lies: control.word_at.
Status find_word(const Function& function, Control& control, const C& entry) {
  if (control.word_index == entry.first) {
    if (control.word.stride_loop[0] == WEFT_EXECUTABLE_CONTROL_NO_LOOP) return kOk;  // where it was
  } else {
    control.word_index = kNoBinding;
    const Status status = read_list(
        function, control, control.shape.bindings_at() + entry.first * static_cast<uint32_t>(sizeof control.word),
        &control.word, sizeof control.word);
    if (!status.ok()) return status;
    if (!harmless(control, control.word, BindingUse::kWord)) return overwritten(control, entry.first);
    control.word_index = entry.first;
    control.word_room = room_of(function, control, control.word);
  }
  const Room& room = control.word_room;
  const uint64_t offset = offset_of(control, control.word);
  if (!window_inside(room, offset, sizeof(uint32_t), sizeof(uint32_t))) return overwritten(control, entry.first);
  control.word_at = room.where;
  control.word_at.address += offset;
  return kOk;
}

/// Reads the word that find_word() has found, and judges it. The core is idle. Not ok: the word cannot be read.
Status judge(const Function& function, const Control& control, const C& entry, bool* holds) {
  uint32_t word;
  if (!hal::dma_read(control.word_at, &word, sizeof word))
    return Status{WEFT_ERROR_DMA_FAULT, address_of(function, control.word_at), sizeof word};
  switch (static_cast<weft_control_condition>(entry.condition)) {
    case WEFT_CONTROL_CONDITION_EQUAL:
      *holds = word == entry.value;
      break;
    case WEFT_CONTROL_CONDITION_NOT_EQUAL:
      *holds = word != entry.value;
      break;
    case WEFT_CONTROL_CONDITION_LESS:
      *holds = static_cast<int32_t>(word) < static_cast<int32_t>(entry.value);
      break;
    case WEFT_CONTROL_CONDITION_GREATER_EQUAL:
      *holds = static_cast<int32_t>(word) >= static_cast<int32_t>(entry.value);
      break;
  }
  return kOk;
}

/// A LOOP or WHILE begins.
void open_loop(Control& control) {
  control.open[control.loops] = control.entry;
  control.turn[control.loops++] = 0;
}

/// The block of a RUN, and its segments, as they will be when it begins.
void stage(State& state, const Function& function, const C& entry) {
  Control& control = state.control;
  uint32_t slot = control.known[control.current].index == entry.first ? control.current : control.current ^ 1u;
  KnownBlock& known = control.known[slot];
  if (known.index != entry.first) {
    known.index = kNoBlock;
    Status status =
        read_list(function, control, control.shape.blocks_at() + entry.first * static_cast<uint32_t>(sizeof(B)),
                  &known.block, sizeof known.block);
    if (status.ok()) status = check_control_block(control.shape, entry.first, known.block, control.commands);
    if (!status.ok()) return (void)fail(control, status);
    known.index = entry.first;
    for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++)
      known.address[q] = control.commands_address + uint64_t{known.block.queue_first[q]} * WEFT_COMMAND_BYTES;
  }
  control.next = static_cast<uint8_t>(slot);
  uint32_t segment = 0;
  for (uint32_t left = control.bound | control.moving | control.rebound; left != 0; left >>= 1, segment++) {
    if ((left & 1) == 0) continue;
    const W& w = control.binding[segment];
    const Room& room = control.room[segment];
    const uint64_t offset = offset_of(control, w);
    if (!window_inside(room, offset, w.size_bytes, WEFT_CORE_DMA_GRANULE_BYTES))
      return (void)fail(control, overwritten(control, control.binding_index[segment]));
    const uint64_t base = room.where.address + offset;
    if (base != control.base[segment]) control.moved |= 1u << segment;
    control.base[segment] = base;
  }
  control.step = ControlStep::kBlock;
}

/// WHILE or IF: opens the loop, unless it is its next turn, and finds the word. `ahead`: the core still works, and
/// there is time to look at the block that runs if the condition holds; what that does is right if it does not, too.
void meet_condition(State& state, const Function& function, const C& entry, bool ahead) {
  Control& control = state.control;
  const bool again = control.loops != 0 && control.open[control.loops - 1] == control.entry;
  if (entry.opcode == WEFT_CONTROL_OPCODE_WHILE && !again) open_loop(control);
  const Status status = find_word(function, control, entry);
  control.body = 0;
  if (!status.ok()) return (void)fail(control, status);
  uint32_t body = control.entry + 1u;  // there is an END at least
  if (body == control.last_bind) body++;
  if (ahead && control.entries[body].opcode == WEFT_CONTROL_OPCODE_RUN) {
    stage(state, function, control.entries[body]);
    if (control.step == ControlStep::kFailed) return;
    control.body = static_cast<uint16_t>(body);
  }
  control.step = ControlStep::kDrain;
}

/// The same, when the core is idle.
void decide(const Function& function, Control& control, const C& entry) {
  const bool loop = entry.opcode == WEFT_CONTROL_OPCODE_WHILE;
  control.step = ControlStep::kFollow;
  bool holds = false;
  const Status status = judge(function, control, entry, &holds);
  if (!status.ok()) return (void)fail(control, status);
  if (loop && !holds) control.loops--;
  control.entry = static_cast<uint16_t>((holds ? control.entry : entry.target) + 1);
  if (!holds || control.body == 0) return;
  control.entry = control.body;
  control.step = ControlStep::kBlock;
}

/// END of what `opener` is.
void end(Control& control, const C& entry) {
  const C& opener = control.entries[entry.target];
  const bool loop = opener.opcode == WEFT_CONTROL_OPCODE_LOOP;
  if (loop || opener.opcode == WEFT_CONTROL_OPCODE_WHILE) {
    uint32_t& turn = control.turn[control.loops - 1];
    if (opener.count == 0 || turn + 1 != opener.count) {
      turn++;
      control.entry = static_cast<uint16_t>(loop ? entry.target + 1 : entry.target);
      return;
    }
    control.loops--;
  }
  control.entry++;
}

/// Looks at entries up to the next block, condition or end.
void follow(State& state, Function& function, bool idle) {
  Control& control = state.control;
  for (uint32_t steps = 0; control.step == ControlStep::kFollow && steps < kSteps; steps++) {
    if (control.entry == control.shape.entries) {
      control.step = ControlStep::kEnd;
      return;
    }
    const C& entry = control.entries[control.entry];
    hal::charge(WEFT_MANAGER_SRAM_WORD * sizeof entry / 4);
    switch (static_cast<weft_control_opcode>(entry.opcode)) {
      case WEFT_CONTROL_OPCODE_RUN:
        stage(state, function, entry);
        break;
      case WEFT_CONTROL_OPCODE_BIND:
        steps += entry.count;
        bind(state, function, entry);
        if (control.step == ControlStep::kFollow) control.entry++;
        break;
      case WEFT_CONTROL_OPCODE_LOOP:
        open_loop(control);
        control.entry++;
        break;
      case WEFT_CONTROL_OPCODE_WHILE:
      case WEFT_CONTROL_OPCODE_IF:
        meet_condition(state, function, entry, !idle);
        if (idle && control.step == ControlStep::kDrain) decide(function, control, entry);
        break;
      case WEFT_CONTROL_OPCODE_ELSE:
        control.entry = static_cast<uint16_t>(entry.target + 1);
        break;
      case WEFT_CONTROL_OPCODE_END:
        end(control, entry);
        break;
    }
  }
}

constexpr uint64_t permissions(uint32_t access) {
  return ((access & WEFT_EXECUTABLE_CONTROL_READABLE) != 0 ? WEFT_CSR_SEGMENT_ATTRIBUTES_READABLE : 0) |
         ((access & WEFT_EXECUTABLE_CONTROL_WRITABLE) != 0 ? WEFT_CSR_SEGMENT_ATTRIBUTES_WRITABLE : 0);
}

/// Segments that have changed since the last block began. `joins`: that one still runs, and is not to see it.
void write_segments(Launch& launch, Control& control, bool joins) {
  using core::BaseOf;
  const BaseOf versions = !joins ? BaseOf::kBoth : control.version != 0 ? BaseOf::kVersion1 : BaseOf::kVersion0;
  uint32_t segment = 0;
  for (uint32_t left = control.bound | control.moved | control.behind; left != 0; left >>= 1, segment++) {
    if ((left & 1) == 0) continue;
    const W& w = control.binding[segment];
    if ((control.bound >> segment & 1) != 0) {
      core::map_segment(segment, control.room[segment].where.space, control.base[segment], w.size_bytes,
                        permissions(w.access));
      launch.segments |= 1u << segment;
      control.written |= 1u << segment;
    } else {
      core::move_segment(segment, control.base[segment], versions);
    }
  }
  control.behind = joins ? control.moved : 0;
  control.bound = control.moved = 0;
}

/// The core is given the block that is known next: behind the one that runs, or if that has ended.
void begin_block(State& state) {
  Control& control = state.control;
  const bool joins = control.running;
  control.version = joins ? control.version ^ 1 : 0;
  if ((control.bound | control.moved | control.behind) != 0) write_segments(state.launch, control, joins);
  control.rebound = 0;
  control.current = control.next;
  const KnownBlock& known = control.known[control.current];
  const B& block = known.block;
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    if (block.queue_count[q] == 0) continue;
    core::start_fetch_of(control.version, q, known.address[q], block.queue_count[q]);
  }
  // The rest while the commands are on their way.
  const StartedBlock& before = control.started[control.newest];
  control.newest ^= 1;
  StartedBlock& now = control.started[control.newest];
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    now.before[q] = before.before[q] + before.total[q];
    now.first[q] = block.queue_first[q];
    now.total[q] = block.queue_count[q];
  }
  control.overlaps = joins;
  control.running = true;
  control.started_cycle = hal::now();
  now.place.entry = control.entry;
  now.place.block = static_cast<uint16_t>(control.known[control.current].index);
  for (uint32_t i = 0; i < WEFT_EXECUTABLE_CONTROL_LOOPS; i++)
    now.place.turn[i] = i < control.loops ? control.turn[i] : 0;
  control.entry++;
  control.step = ControlStep::kFollow;
}

/// The next block can begin while the core works: what it changes of the segments is their bases.
bool may_join(const Control& control) {
  return control_joins(control) && control.bound == 0 && core::version_free(control.version ^ 1u);
}

}  // namespace

void control_look_ahead(State& state) { follow(state, state.functions[state.launch.function], false); }

bool control_service(State& state, bool idle) {
  Control& control = state.control;
  Function& function = state.functions[state.launch.function];
  if (idle) control.running = false;
  // What a block waits for goes without the call.
  if (control.step == ControlStep::kDrain && !control.running)
    decide(function, control, control.entries[control.entry]);
  if (control.step == ControlStep::kFollow) follow(state, function, !control.running);
  while (control.step == ControlStep::kBlock && (!control.running || may_join(control))) {
    begin_block(state);
    follow(state, function, false);
  }
  return !control.running && (control.step == ControlStep::kEnd || control.step == ControlStep::kFailed);
}

bool control_wants_pass(const Control& control) { return control.step == ControlStep::kFollow; }

const StartedBlock& control_block(const Control& control, uint32_t queue, uint32_t retired) {
  const StartedBlock& newest = control.started[control.newest];
  return control.overlaps && retired < newest.before[queue] ? control.started[control.newest ^ 1] : newest;
}

ControlPlace control_place(const Control& control, const StartedBlock& block) {
  if (control.step != ControlStep::kFailed || control.running) return block.place;
  ControlPlace place{control.entry, kNoBlock, {}};
  for (uint32_t i = 0; i < control.loops; i++) place.turn[i] = control.turn[i];
  return place;
}

}  // namespace weft::fw
