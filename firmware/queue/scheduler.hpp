/// Which queue's entry is next. Round robin over the queues of all functions; the engines go round the functions.
#pragma once
#include <stdint.h>

namespace weft::fw {

struct State;

/// Visits every queue once and runs what can run: at most its turn (arbiter.hpp), and at most one entry in all while a
/// launch still streams (an entry costs the core's queues time). Entries of one queue run and complete in order; a
/// launch or a copy holds its own queue only. True: something was done.
bool schedule(State& state);

/// No queue has anything that could run or is running.
bool scheduler_idle(const State& state);

/// A queue waits for the copy engine.
bool copy_waits(const State& state);

/// A queue of another function than that of the launch waits for the core.
bool core_waited_for_by_others(const State& state);

/// Forgets who came last: the next command finds the scheduler as it was after boot.
void scheduler_forget(State& state);

}  // namespace weft::fw
