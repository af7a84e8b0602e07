#include "host/compiler/command_graph/synchronization.hpp"

#include <algorithm>
#include <array>

#include "host/compiler/command_graph/synchronizer.hpp"

namespace weft::compiler::command_graph {
namespace {

/// True if every command's waits hold when all before it have retired, and nothing is left at the end.
bool runs_in_order(const std::vector<SynchronizedCommand>& commands) {
  std::array<uint64_t, WEFT_SEMAPHORES> value{};
  const auto take = [&](uint8_t semaphore, uint16_t count) {
    if (semaphore == WEFT_NO_SEMAPHORE) return true;
    const bool there = value[semaphore] >= count;
    value[semaphore] -= count;
    return there;
  };
  for (const auto& command : commands) {
    const auto& h = command.header;
    if (!take(h.wait_sem0, h.wait_count0) || !take(h.wait_sem1, h.wait_count1)) return false;
    if (h.post_sem0 != WEFT_NO_SEMAPHORE) value[h.post_sem0] += h.post_count0;
    if (h.post_sem1 != WEFT_NO_SEMAPHORE) value[h.post_sem1] += h.post_count1;
  }
  return std::ranges::all_of(value, [](uint64_t v) { return v == 0; });
}

}  // namespace

Result<std::vector<SynchronizedCommand>> synchronize(const CommandGraph& graph, const std::vector<uint32_t>& order,
                                                     const std::vector<std::vector<uint32_t>>& before) {
  auto commands = Synchronizer(graph, order, before).run();
  if (!commands)
    return Error{WEFT_ERROR_UNSUPPORTED, "more commands wait for loads at a time than there are semaphores"};
  if (!runs_in_order(*commands))
    return Error{WEFT_ERROR_INTERNAL, "the derived semaphores do not let every command run"};
  return std::move(*commands);
}

}  // namespace weft::compiler::command_graph
