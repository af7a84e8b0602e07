/// Weights of queues: how many entries a turn, and whose claim to an engine is the best. No weight starves another: a
/// queue's share of an engine is accounted in time that runs faster the lighter the queue is, and the claim that is
/// furthest behind wins.
#pragma once
#include <stdint.h>

#include "firmware/queue/queue.hpp"

namespace weft::fw {

struct State;

constexpr bool priority_valid(uint64_t priority) { return priority <= WEFT_QUEUE_PRIORITY_HIGH; }

/// 1, 4 or 16.
constexpr uint32_t weight(uint8_t priority) {
  return priority == WEFT_QUEUE_PRIORITY_HIGH ? 16 : priority == WEFT_QUEUE_PRIORITY_LOW ? 1 : 4;
}

/// Entries of a queue in one pass: 4, 16 or 64. So between two turns of a queue that has work, at most the sum of the
/// other queues' turns passes.
constexpr uint32_t turn_entries(uint8_t priority) { return 4 * weight(priority); }

/// What one use of an engine adds to a queue's share of it: 16, 4 or 1. So between two uses by a queue that waits for
/// the engine, another queue of its function uses it at most (its weight / the queue's weight, rounded up) + 1 times.
constexpr uint32_t stride(uint8_t priority) { return 16 / weight(priority); }

/// A share that reaches it is taken back, and the others of its function with it.
inline constexpr uint32_t kShareLimit = 1u << 31;

enum class Engine : uint8_t { kCopy = 0, kCore = 1 };

/// Another queue has a better claim to the engine: its function had the engine longer ago; or it is of the same
/// function and its share is smaller, or the same and it has waited longer. So functions take turns, however many
/// queues each has.
bool must_let_pass(const State& state, const Queue& queue, Engine engine);

/// The queue waits for the engine from now on, if it did not. Time in which it did not want the engine is not made up
/// for.
void join_engine(State& state, Queue& queue, Engine engine);

/// The queue gets the engine.
void grant_engine(State& state, Queue& queue, Engine engine);

/// The engine that an entry needs. False: none.
constexpr bool needs_engine(const weft_submission_entry& entry, Engine* engine) {
  *engine = entry.opcode == WEFT_QUEUE_OPCODE_LAUNCH ? Engine::kCore : Engine::kCopy;
  return entry.opcode == WEFT_QUEUE_OPCODE_LAUNCH || entry.opcode == WEFT_QUEUE_OPCODE_COPY ||
         entry.opcode == WEFT_QUEUE_OPCODE_FILL;
}

}  // namespace weft::fw
