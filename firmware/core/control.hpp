/// A launch of a kernel with a control list: its blocks one by one, loops, conditions, bindings (docs/executable.md).
///
/// While the core works at a block, the list is followed up to the next one, whose segments and commands are then known
/// when the core falls idle. A condition is read when the core is idle, so it sees all that the blocks before it wrote.
/// A block that overlaps does not wait for that: its bases go to the other version of the segments, and its commands
/// behind those that the queues still have, as soon as no command of the block before the last needs that version.
#pragma once
#include <stdint.h>

#include "firmware/core/arguments.hpp"
#include "firmware/core/control_check.hpp"
#include "firmware/core/program.hpp"
#include "firmware/hal.hpp"
#include "firmware/status.hpp"

namespace weft::fw {

struct Function;
struct State;

/// How far the list has been followed.
enum class ControlStep : uint8_t {
  kFollow,  ///< further entries can be looked at now
  kDrain,   ///< a condition comes next: it is read when the core is idle
  kBlock,   ///< the next block is known
  kEnd,     ///< nothing comes any more
  kFailed,  ///< `failure` ends the launch when the core is idle
};

/// A block as it was read, and where its commands lie on the chip.
struct KnownBlock {
  uint32_t index;  ///< kNoBlock: none
  weft_control_block block;
  uint64_t address[WEFT_CORE_QUEUES];
};
inline constexpr uint32_t kNoBlock = 0xffff;
inline constexpr uint32_t kNoBinding = 0xffff;

/// What a binding's window lies in.
struct Room {
  Location where;
  uint64_t bytes;
};

/// Where in the list something is.
struct ControlPlace {
  uint16_t entry;
  uint16_t block;  ///< kNoBlock: none
  uint32_t turn[WEFT_EXECUTABLE_CONTROL_LOOPS];
};

/// A block that the core has been given.
struct StartedBlock {
  ControlPlace place;
  uint32_t first[WEFT_CORE_QUEUES], total[WEFT_CORE_QUEUES];  ///< its commands among the program's
  uint32_t before[WEFT_CORE_QUEUES];                          ///< commands of the blocks that were given before it
};

/// The list of the launch that runs, if that has one. Written before it is read: control_prepare().
struct Control {
  ControlStep step;
  bool running;     ///< the core works at a block, or was not yet seen to be done with it
  uint8_t loops;    ///< that are open
  uint8_t current;  ///< of known[]: the block that runs, or ran last; the next one is known[next]
  uint8_t next;
  uint16_t entry;  ///< looked at next, or that of the next block
  uint16_t body;   ///< step kDrain: the RUN that comes if the condition holds, its block known; 0: not known
  uint16_t open[WEFT_EXECUTABLE_CONTROL_LOOPS];  ///< LOOP and WHILE, the outermost first
  uint32_t turn[WEFT_EXECUTABLE_CONTROL_LOOPS];
  uint8_t newest;   ///< of started[]: the block that was given last
  bool overlaps;    ///< the other one of started[] was given before it and may still run
  uint8_t version;  ///< of the segments' bases: that of the newest block
  StartedBlock started[2];
  Status failure;
  ControlShape shape;
  uint64_t list_address, commands_address, constants_address, constants_bytes;  ///< on the chip
  uint32_t commands;
  uint64_t started_cycle;  ///< of the block that was given last
  KnownBlock known[2];
  uint32_t word_index;  ///< binding of the condition that was looked at last; kNoBinding: none
  weft_control_binding word;
  Room word_room;    ///< what it lies in
  Location word_at;  ///< where it lies in this turn
  // Segments: a bit each, and what they are bound to.
  uint32_t bound;    ///< bound since the last block began
  uint32_t moving;   ///< with a stride
  uint32_t rebound;  ///< bound to another window of the same size, space and access since the last block began
  uint32_t moved;    ///< whose base has changed since the last block began
  uint32_t behind;   ///< whose base in the other version is that of the block before
  uint32_t written;  ///< that the core has by a binding
  uint64_t base[WEFT_SEGMENTS];
  uint16_t binding_index[WEFT_SEGMENTS];
  uint16_t last_bind;  ///< entry of the BIND that was run last
  weft_control_binding binding[WEFT_SEGMENTS];
  Room room[WEFT_SEGMENTS];  ///< that of each binding: an argument stays where it is
  weft_control_entry entries[WEFT_EXECUTABLE_CONTROL_ENTRIES];
  alignas(8) uint8_t arguments[list_bytes(WEFT_EXECUTABLE_CONTROL_ARGUMENTS + 1)];
};

// What follows is compiled apart from its callers, so that a launch without a list does not pay for their registers.

/// Reads the list of kernel `index` and its launch's arguments (their list in host memory at `iova`), and checks all of
/// both. Nothing runs and nothing is mapped. EXECUTABLE_INVALID {byte offset in the image, value}, INVALID_ARGUMENT as
/// read_arguments() or check_control_window(), DMA_FAULT, BAD_DESCRIPTOR.
[[gnu::noinline]] Status control_prepare(State& state, const Function& function, const Program& program,
                                         const weft_program_kernel& kernel, uint32_t index, uint64_t iova);

/// Maps what the launch has without a binding: constants and scratch. Returns a bit for each segment mapped.
[[gnu::noinline]] uint32_t control_map(Function& function, const Control& control);

/// Follows the list, and starts the next block when the core is idle. `idle`: it has been seen to be. At most a bounded
/// number of entries is looked at. True: the list has ended, or failed (control.failure), and the core is idle.
[[gnu::noinline]] bool control_service(State& state, bool idle);

/// Follows the list as far as one call does.
[[gnu::noinline]] void control_look_ahead(State& state);

/// The next block, if the list has been followed to one, is not to wait for those before it.
inline bool control_joins(const Control& control) {
  return control.step == ControlStep::kBlock &&
         (control.entries[control.entry].flags & WEFT_EXECUTABLE_CONTROL_OVERLAP) != 0;
}

/// The list can be followed further at once.
bool control_wants_pass(const Control& control);

/// Of the blocks that the core works at, the one whose command is the next to retire from core queue `queue`, of whose
/// commands `retired` have since the launch began.
const StartedBlock& control_block(const Control& control, uint32_t queue, uint32_t retired);

/// Where the launch is: that of `block`, or of the entry that failed.
[[gnu::noinline]] ControlPlace control_place(const Control& control, const StartedBlock& block);

}  // namespace weft::fw
