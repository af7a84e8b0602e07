/// ABORT: the end of commands before their time. A command that is aborted completes once, in its turn among its
/// queue's completions.
#pragma once
#include <stdint.h>

#include "firmware/queue/queue.hpp"
#include "firmware/status.hpp"

namespace weft::fw {

struct State;
struct Function;

inline constexpr uint32_t kAborts = 32;  ///< single entries that can be marked at once

/// Marks on entries that have not been taken yet. All zero: none.
struct AbortMarks {
  struct Mark {
    uint16_t queue;  ///< 0: free
    uint16_t command_id;
    uint16_t index;  ///< its low bits: a ring holds fewer entries than they count
  };
  Mark marks[kAborts];
  uint16_t used;
};

/// Runs ABORT. `result` 1: the command was found; a launch or a copy has ended with CANCELLED and writes nothing
/// more, an entry that was not taken yet will when its turn comes. 0: it has ended
/// before. INVALID_ARGUMENT {offset, value}: no such queue, or an index that the doorbell has not reached. BUSY: too
/// many marks.
Status abort_command(State& state, Function& function, const weft_submission_entry& entry, uint64_t* result);

/// Entry batch_next of the queue was aborted. True once for a marked entry.
bool take_abort(Function& function, Queue& queue, const weft_submission_entry& entry);

/// The queue goes away, and with it its marks.
void forget_aborts(Function& function, uint32_t queue);

}  // namespace weft::fw
