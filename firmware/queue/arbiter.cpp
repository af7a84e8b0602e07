// Claims to engines.
#include "firmware/queue/arbiter.hpp"

#include "firmware/queue/ring.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

/// The queue's next entry wants the engine and could have it now. A queue that was not visited since its last command
/// ended has no ticket yet, and a claim all the same.
bool claims(const State& state, const Queue& queue, Engine engine) {
  const Function& function = state.functions[queue.function];
  if (queue.state != QueueState::kActive || queue.in_flight || queue.waits || queue.batch_next == queue.batch_count)
    return false;
  if (completion_ring_full(function, function.rings[queue.completion_ring])) return false;
  Engine its;
  return needs_engine(next_entry(state, queue), &its) && its == engine;
}

}  // namespace

bool must_let_pass(const State& state, const Queue& queue, Engine engine) {
  const auto e = static_cast<uint32_t>(engine);
  const uint32_t turn = state.functions[queue.function].turn[e];
  for (uint32_t f = 0; f < state.function_count; f++) {
    const Function& function = state.functions[f];
    if (function.turn[e] > turn) continue;
    const uint32_t others = f == queue.function ? function.pending & ~(1u << queue.id) : function.pending;
    for (uint32_t queues = others, id = 0; queues != 0; queues >>= 1, id++) {
      const Queue& other = function.queues[id];
      if ((queues & 1) == 0 || !claims(state, other, engine)) continue;
      if (f != queue.function) {
        if (other.ticket == 0) continue;
        if (function.turn[e] < turn || queue.ticket == 0 || other.ticket < queue.ticket) return true;
        continue;
      }
      if (other.share[e] < queue.share[e]) return true;
      if (other.share[e] > queue.share[e] || other.ticket == 0) continue;
      if (queue.ticket == 0 || other.ticket < queue.ticket) return true;
    }
  }
  return false;
}

void join_engine(State& state, Queue& queue, Engine engine) {
  const auto e = static_cast<uint32_t>(engine);
  const uint32_t clock = owner(state, queue).share_clock[e];
  if (queue.ticket == 0 && queue.share[e] < clock) queue.share[e] = clock;
}

void grant_engine(State& state, Queue& queue, Engine engine) {
  const auto e = static_cast<uint32_t>(engine);
  Function& function = owner(state, queue);
  queue.ticket = 0;
  function.turn[e] = ++state.turns;
  function.share_clock[e] = queue.share[e];
  queue.share[e] += stride(queue.priority);
  if (queue.share[e] < kShareLimit) return;
  for (Queue& other : function.queues)  // only differences count, and a share behind the clock is lifted to it
    other.share[e] = other.share[e] > kShareLimit / 2 ? other.share[e] - kShareLimit / 2 : 0;
  function.share_clock[e] -= kShareLimit / 2;
}

}  // namespace weft::fw
