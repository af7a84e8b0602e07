// A turn is looked at among others like it: with one before it whose places it takes over, and one behind that waits for it.
// The numbers of semaphores go round by fixed rings, so that every turn has the same.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "host/compiler/command_graph/synchronization.hpp"
#include "host/compiler/command_graph/synchronizer.hpp"

namespace weft::compiler::command_graph {
namespace {

/// Semaphores for the owners of each queue in a turn, of all that a turn may use: as many for each as let a load go ahead
/// of its use by the same part of the turn, the step from one turn to the next included.
Rings rings_of(const std::array<uint32_t, kQueues>& owners) {
  const auto distance = [](uint32_t of, uint32_t ring) { return of % ring == 0 ? ring : std::min(ring, of % ring); };
  const auto part = [&](uint32_t of, uint32_t ring) {
    return of == 0 ? 1.0 : ring == 0 ? 0.0 : static_cast<double>(distance(of, ring)) / of;
  };
  const auto most = [](uint32_t of, uint32_t room) { return std::min(of, room); };
  std::array<uint32_t, 3> best{};
  std::pair<double, double> best_parts{-1, 0};
  for (uint32_t mxu = 0; mxu <= most(owners[kOrdered[0]], kFirstGateSemaphore); mxu++)
    for (uint32_t vpu = 0; vpu <= most(owners[kOrdered[1]], kFirstGateSemaphore - mxu); vpu++)
      for (uint32_t sync = 0; sync <= most(owners[kOrdered[2]], kFirstGateSemaphore - mxu - vpu); sync++) {
        const std::array parts{part(owners[kOrdered[0]], mxu), part(owners[kOrdered[1]], vpu),
                               part(owners[kOrdered[2]], sync)};
        const std::pair worth{std::ranges::min(parts), parts[0] + parts[1] + parts[2]};
        if (worth > best_parts) best_parts = worth, best = {mxu, vpu, sync};
      }
  Rings rings;
  for (uint32_t i = 0, first = 0; i < kOrdered.size(); first += best[i++])
    rings.first[kOrdered[i]] = first, rings.count[kOrdered[i]] = best[i];
  return rings;
}

bool same(const SynchronizedCommand& a, const SynchronizedCommand& b) {
  const auto semaphores = [](const spec::CommandHeader& h) {
    return std::array<uint32_t, 8>{h.wait_sem0, h.wait_count0, h.wait_sem1, h.wait_count1,
                                   h.post_sem0, h.post_count0, h.post_sem1, h.post_count1};
  };
  return a.command == b.command && a.queue == b.queue && semaphores(a.header) == semaphores(b.header);
}

/// True if a turn that finds the credits runs in its own order and leaves them.
bool turns(const std::vector<SynchronizedCommand>& commands, const std::array<uint16_t, WEFT_SEMAPHORES>& credits) {
  std::array<int64_t, WEFT_SEMAPHORES> value{};
  std::ranges::copy(credits, value.begin());
  bool runs = true;
  const auto add = [&](uint8_t semaphore, int64_t count) {
    if (semaphore == WEFT_NO_SEMAPHORE) return;
    value[semaphore] += count;
    runs &= value[semaphore] >= 0;
  };
  for (const auto& command : commands) {
    const auto& h = command.header;
    add(h.wait_sem0, -int64_t{h.wait_count0}), add(h.wait_sem1, -int64_t{h.wait_count1});
    add(h.post_sem0, h.post_count0), add(h.post_sem1, h.post_count1);
  }
  return runs && std::ranges::equal(value, credits, {}, {}, [](uint16_t c) { return int64_t{c}; });
}

}  // namespace

Result<SynchronizedTurn> synchronize_turn(const CommandGraph& graph, const std::vector<uint32_t>& order,
                                          const std::vector<std::vector<uint32_t>>& before) {
  const auto refuse = [](const char* why) { return Error{WEFT_ERROR_UNSUPPORTED, why}; };
  const auto count = static_cast<uint32_t>(order.size());
  if (std::ranges::any_of(graph.commands(), [](const auto& c) { return c.queue == WEFT_QUEUE_DMA_OUT; }))
    return refuse("a turn stores values");
  const std::vector<std::vector<uint32_t>> first(before.begin(), before.begin() + count);
  Synchronizer alone(graph, order, first);
  if (!alone.run()) return refuse("more commands wait for loads at a time than there are semaphores");
  const Rings rings = rings_of(alone.owners());
  std::vector<uint32_t> all;
  for (uint32_t turn = 0; turn < kTurnsLookedAt; turn++)
    for (const uint32_t command : order) all.push_back(turn * count + command);
  const CommandGraph repeated = graph.repeated(kTurnsLookedAt);
  Synchronizer in_turns(repeated, all, before, &rings, count);
  const auto commands = in_turns.run();
  if (!commands) return refuse("the loads of a turn do not find semaphores");
  // The first turn follows no other turn, and no turn follows the last.
  SynchronizedTurn turn;
  std::vector<SynchronizedCommand> next;
  for (SynchronizedCommand command : *commands) {
    if (command.turn != 1 && command.turn != 2) continue;
    if (command.command != kSignal) command.command %= count;
    (command.turn == 1 ? turn.commands : next).push_back(command);
  }
  if (!std::ranges::equal(turn.commands, next, same)) return refuse("the turns' semaphores differ");
  turn.credits = in_turns.carried();
  if (!turns(turn.commands, turn.credits)) return refuse("a turn does not leave its semaphores as it found them");
  return turn;
}

}  // namespace weft::compiler::command_graph
