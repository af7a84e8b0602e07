/// A launch of a kernel with a control list: its blocks one by one, loops, conditions, bindings (docs/executable.md).
///
/// While the core works at a block, the list is followed up to the next one, whose segments and commands are then known
/// when the core falls idle. A condition is read when the core is idle, so it sees all that the blocks before it wrote.
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

/// A block as it was read.
struct KnownBlock {
  uint32_t index;  ///< kNoBlock: none
  weft_control_block block;
};
inline constexpr uint32_t kNoBlock = 0xffff;
inline constexpr uint32_t kNoBinding = 0xffff;

/// Where in the list something is.
struct ControlPlace {
  uint16_t entry;
  uint16_t block;  ///< kNoBlock: none
  uint32_t turn[WEFT_EXECUTABLE_CONTROL_LOOPS];
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
  ControlPlace place;  ///< of the block that runs or ran last
  Status failure;
  ControlShape shape;
  uint64_t list_address, commands_address, constants_address, constants_bytes;  ///< on the chip
  uint32_t commands;
  uint32_t retired[WEFT_CORE_QUEUES];  ///< commands of the blocks before the one that runs
  uint64_t started_cycle;              ///< of the block that runs
  KnownBlock known[2];
  uint32_t word_index;  ///< binding of the condition that was looked at last; kNoBinding: none
  weft_control_binding word;
  Location word_at;  ///< where it lies in this turn
  // Segments: a bit each, and what they are bound to.
  uint32_t bound;   ///< bound since the last block began
  uint32_t moving;  ///< with a stride
  uint32_t moved;   ///< whose base has changed since the last block began
  uint64_t base[WEFT_SEGMENTS];
  uint16_t binding_index[WEFT_SEGMENTS];
  uint16_t last_bind;  ///< entry of the BIND that was run last
  weft_control_binding binding[WEFT_SEGMENTS];
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

/// The list can be followed further at once.
bool control_wants_pass(const Control& control);

/// Where the launch is: that of its block, or of the entry that failed.
[[gnu::noinline]] ControlPlace control_place(const Control& control);

}  // namespace weft::fw
