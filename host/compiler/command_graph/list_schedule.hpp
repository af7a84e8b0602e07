/// The order of commands, and with it the MXU of each product and the place of its sums in ACC.
#pragma once
#include <vector>

#include "host/compiler/command_graph/dependences.hpp"

namespace weft::compiler::command_graph {

struct ScheduleLimits {
  uint32_t window = 32;       ///< how far in its queue a command may stand behind the oldest one; 1: none overtakes
  uint32_t loads_ahead = 24;  ///< loads that nothing has used yet
  uint64_t vmem_words = 0;    ///< that loads may fill ahead of their use
  bool own_banks = false;     ///< of several MXUs, sums that a product adds to begin in a bank of ACC without others
  /// Of a loop that is unrolled: no queue begins a turn before it has had all of the one before.
  uint32_t turn_commands = UINT32_MAX;
};

struct Schedule {
  std::vector<uint32_t> order;      ///< of all queues together, by estimated start; each queue runs its part of it
  std::vector<uint8_t> mxu;         ///< by command: of a product
  std::vector<uint64_t> acc_bases;  ///< by buffer of ACC: first row, counted over all MXUs
};

/// A list scheduler: the command that can start first, by the units' times, goes first; loads go ahead of their use as
/// far as the limits allow. Where nothing else can go on, the next load passes the limits, so a graph whose own order
/// needs few buffers at a time gets on with any. `before`: dependences(). Empty: a window above 1
/// has led into a place where ACC is full of sums that wait for each other.
[[nodiscard]] Schedule list_schedule(const CommandGraph& graph, const std::vector<std::vector<uint32_t>>& before,
                                     const ScheduleLimits& limits);

}  // namespace weft::compiler::command_graph
