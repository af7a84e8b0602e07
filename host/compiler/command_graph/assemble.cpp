// Order, places, semaphores, addresses.
#include "host/compiler/command_graph/assemble.hpp"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "host/compiler/command_graph/list_schedule.hpp"
#include "host/compiler/command_graph/synchronization.hpp"
#include "host/compiler/command_graph/vmem_placement.hpp"

namespace weft::compiler::command_graph {
namespace {

struct Attempt {
  uint32_t window, loads_ahead;
  uint64_t vmem_parts;  ///< of 8, that loads may fill
  bool own_banks = false;
};
constexpr std::array<Attempt, 10> kAttempts{{{2048, 30, 6, true},
                                             {2048, 30, 6},
                                             {2048, 16, 6},
                                             {256, 30, 6},
                                             {64, 30, 6},
                                             {32, 12, 4},
                                             {8, 8, 2},
                                             {1, 8, 2},
                                             {1, 4, 1},
                                             {1, 1, 0}}};
constexpr size_t kBoldAttempts = 2;      // behind them the last one says whether there is any sense in the others
constexpr size_t kManyCommands = 32768;  // more that need too much in their own order are not scheduled
constexpr size_t kTurnAttempts = 4;      // each orders three turns; a loop that does not come out is written out
constexpr std::array<uint64_t, 5> kRests{256, 64, 16, 4, 0};
constexpr uint64_t kNeverShared = 1ull << 32;  // so that the next turn's loads wait for nothing but this turn's readers

struct Layout {
  Schedule schedule;
  VmemPlacement vmem;
  std::vector<SynchronizedCommand> commands;
  std::array<uint16_t, WEFT_SEMAPHORES> credits{};
};

/// The places of commands of several turns, each in the same order.
std::vector<std::vector<uint32_t>> turns_dependences(const CommandGraph& graph, const std::vector<uint32_t>& order,
                                                     const BufferBases& bases) {
  std::vector<uint32_t> all;
  for (uint32_t turn = 0; turn < kTurnsLookedAt; turn++)
    for (const uint32_t command : order) all.push_back(turn * static_cast<uint32_t>(order.size()) + command);
  return placed_dependences(graph.repeated(kTurnsLookedAt), all, bases);
}

/// Of three turns the order of the second: there are loads before its first command, and another turn behind its last.
Schedule schedule_turn(const CommandGraph& graph, const CommandGraph& turns,
                       const std::vector<std::vector<uint32_t>>& before, const ScheduleLimits& limits) {
  const Schedule all = list_schedule(turns, before, limits);
  const auto count = static_cast<uint32_t>(graph.commands().size());
  const size_t buffers = graph.buffers().size();
  Schedule one;
  if (all.order.empty()) return one;
  for (const uint32_t command : all.order)
    if (command / count == 1) one.order.push_back(command - count);
  one.mxu.assign(all.mxu.begin() + count, all.mxu.begin() + 2 * count);
  one.acc_bases.assign(all.acc_bases.begin() + static_cast<ptrdiff_t>(buffers),
                       all.acc_bases.begin() + static_cast<ptrdiff_t>(2 * buffers));
  return one;
}

enum class Runs : uint8_t { kOnce, kInTurns };

Error too_large(const CommandGraph& graph) {
  return Error{WEFT_ERROR_NO_DEVICE_MEMORY,
               fmt::format("its values need more than the {} bytes of VMEM at a time", graph.chip().vmem_bytes)};
}

/// `ordered`: the graph, or its turns, with `before` as their dependences.
Result<Layout> lay_out(const CommandGraph& graph, const CommandGraph& ordered,
                       const std::vector<std::vector<uint32_t>>& before, const Attempt& attempt, Runs runs) {
  Layout layout;
  ScheduleLimits limits{graph.keeps_order() ? 1 : attempt.window, attempt.loads_ahead,
                        graph.chip().vmem_words / 8 * attempt.vmem_parts};
  limits.own_banks = attempt.own_banks;
  if (runs == Runs::kInTurns) limits.turn_commands = static_cast<uint32_t>(graph.commands().size());
  layout.schedule =
      runs == Runs::kInTurns ? schedule_turn(graph, ordered, before, limits) : list_schedule(graph, before, limits);
  const auto& order = layout.schedule.order;
  if (order.size() != graph.commands().size())
    return Error{WEFT_ERROR_INTERNAL, "blocks of sums wait for each other's places in ACC"};
  std::optional<VmemPlacement> vmem;
  if (runs == Runs::kInTurns) vmem = place_vmem(graph, order, kNeverShared);
  if (graph.keeps_order())
    for (const uint64_t rest : kRests)
      if (!vmem) vmem = place_vmem(graph, order, rest, Fit::kNext);
  for (const uint64_t rest : kRests)
    if (!vmem) vmem = place_vmem(graph, order, rest);
  if (!vmem) return too_large(graph);
  layout.vmem = std::move(*vmem);
  BufferBases bases = layout.vmem.bases;
  for (size_t b = 0; b < bases.size(); b++)
    if (graph.buffers()[b].space == BufferSpace::kAcc) bases[b] = layout.schedule.acc_bases[b];
  if (runs == Runs::kInTurns) {
    auto turn = synchronize_turn(graph, order, turns_dependences(graph, order, bases));
    if (!turn.ok()) return turn.error();
    layout.commands = std::move(turn.value().commands);
    layout.credits = turn.value().credits;
    return layout;
  }
  auto commands = synchronize(graph, order, placed_dependences(graph, order, bases));
  if (!commands.ok()) return commands.error();
  layout.commands = std::move(commands.value());
  return layout;
}

class Emission {
 public:
  Emission(const CommandGraph& graph, const Layout& layout) : graph_(graph), layout_(layout) {}

  [[nodiscard]] spec::Command command(const SynchronizedCommand& from) const {
    if (from.command == kSignal) {
      spec::NoneCommand signal{from.header};
      signal.header.opcode = WEFT_OPCODE_SIGNAL;
      return spec::encode(signal);
    }
    const GraphCommand& c = graph_.commands()[from.command];
    return std::visit(
        [&](auto body) {
          auto header = from.header;
          header.opcode = body.header.opcode, header.flags = body.header.flags, header.tag = body.header.tag;
          return encoded(c, from.command, body, header);
        },
        c.body);
  }

 private:
  template <typename Body>
  [[nodiscard]] spec::Command encoded(const GraphCommand& c, uint32_t command, Body& body,
                                      const spec::CommandHeader& header) const {
    body.header = header;
    address(c, command, body);
    return spec::encode(body);
  }
  /// The second post of what goes to another chip is there.
  [[nodiscard]] spec::Command encoded(const GraphCommand& c, uint32_t command, spec::DmaCommand& body,
                                      const spec::CommandHeader& header) const {
    const auto there = std::exchange(body.header, header);
    if (is_remote(std::get<spec::DmaCommand>(c.body)))
      body.header.post_sem1 = there.post_sem1, body.header.post_count1 = there.post_count1;
    address(c, command, body);
    return spec::encode(body);
  }
  [[nodiscard]] spec::Command encoded(const GraphCommand&, uint32_t, Arrival& body,
                                      const spec::CommandHeader& header) const {
    spec::NoneCommand wait{header};
    wait.header.opcode = header.post_sem0 == WEFT_NO_SEMAPHORE ? WEFT_OPCODE_WAIT : WEFT_OPCODE_SIGNAL;
    wait.header.wait_sem0 = body.header.wait_sem0, wait.header.wait_count0 = body.header.wait_count0;
    wait.header.wait_sem1 = body.header.wait_sem1, wait.header.wait_count1 = body.header.wait_count1;
    return spec::encode(wait);
  }
  [[nodiscard]] uint64_t vmem(BufferId buffer) const {
    return buffer == kNoBuffer ? 0 : layout_.vmem.bases[index_of(buffer)];
  }
  void address(const GraphCommand& c, uint32_t, spec::DmaCommand& body) const {
    if (c.a != kNoBuffer) body.src_off += vmem(c.a) * graph_.chip().word_bytes;
    if (c.d != kNoBuffer) body.dst_off += vmem(c.d) * graph_.chip().word_bytes;
  }
  void address(const GraphCommand& c, uint32_t, spec::IndexedCommand& body) const {
    if (c.a != kNoBuffer) body.src_off += vmem(c.a) * graph_.chip().word_bytes;
    if (c.d != kNoBuffer) body.dst_off += vmem(c.d) * graph_.chip().word_bytes;
    body.index_off += static_cast<uint32_t>(vmem(c.b) * graph_.chip().word_bytes);
  }
  void address(const GraphCommand& c, uint32_t command, spec::MxuCommand& body) const {
    body.mxu = layout_.schedule.mxu[command];
    body.x_addr += static_cast<uint32_t>(vmem(c.a));
    body.w_addr += static_cast<uint32_t>(vmem(c.b));
    body.acc_row = static_cast<uint16_t>(body.acc_row + layout_.schedule.acc_bases[index_of(c.d)] -
                                         uint64_t{body.mxu} * 2 * graph_.chip().acc_bank_rows);
  }
  static void address(const GraphCommand&, uint32_t, const spec::BarrierCommand&) {}
  void address(const GraphCommand& c, uint32_t, spec::VpuCommand& body) const {
    body.a_addr += static_cast<uint32_t>(
        body.src_space == WEFT_VPU_SPACE_ACC ? layout_.schedule.acc_bases[index_of(c.a)] : vmem(c.a));
    body.b_addr += static_cast<uint32_t>(vmem(c.b));
    if (c.kept != kNoBuffer) body.scalar2 += static_cast<uint32_t>(vmem(c.kept));
    body.d_addr += static_cast<uint32_t>(vmem(c.d));
  }

  const CommandGraph& graph_;
  const Layout& layout_;
};

Result<Layout> best_layout(const CommandGraph& graph, Runs runs) {
  const auto in_order = [](const CommandGraph& of) {
    std::vector<uint32_t> order(of.commands().size());
    std::iota(order.begin(), order.end(), 0u);
    return order;
  };
  if (runs == Runs::kOnce && graph.commands().size() > kManyCommands && !place_vmem(graph, in_order(graph), 0))
    return too_large(graph);
  const CommandGraph ordered = runs == Runs::kInTurns ? graph.unrolled(3) : graph;
  const auto before = dependences(ordered, in_order(ordered));
  Result<Layout> layout = Error{WEFT_ERROR_INTERNAL, "no attempt"};
  const auto attempt = [&](const Attempt& one) { return lay_out(graph, ordered, before, one, runs); };
  if (runs == Runs::kInTurns) {
    for (const Attempt& one : std::span(kAttempts).first(kTurnAttempts))
      if (!layout.ok()) layout = attempt(one);
    return layout;
  }
  for (const Attempt& one : std::span(kAttempts).first(kBoldAttempts))
    if (!layout.ok() && (!one.own_banks || graph.chip().num_mxu > 1)) layout = attempt(one);
  if (layout.ok()) return layout;
  auto frugal = attempt(kAttempts.back());
  if (!frugal.ok() && frugal.error().code == WEFT_ERROR_NO_DEVICE_MEMORY) return frugal;
  for (const Attempt& one : std::span(kAttempts).subspan(kBoldAttempts).first(kAttempts.size() - kBoldAttempts - 1))
    if (!layout.ok()) layout = attempt(one);
  return layout.ok() ? std::move(layout) : std::move(frugal);
}

void emit(const CommandGraph& graph, const Layout& layout, ProgramBuilder& program) {
  const Emission emission(graph, layout);
  const uint16_t signal_tag = program.tag("signal");
  for (const auto& command : layout.commands) {
    auto encoded = emission.command(command);
    if (command.command == kSignal) spec::store_le(encoded, 2, 2, signal_tag);
    program.push(static_cast<weft_queue_index>(command.queue), encoded);
  }
  program.note_vmem_words(layout.vmem.words);
}

}  // namespace

Status assemble(const CommandGraph& graph, ProgramBuilder& program) {
  const auto layout = best_layout(graph, Runs::kOnce);
  if (!layout.ok()) return layout.error();
  emit(graph, layout.value(), program);
  return Ok{};
}

Result<AssembledTurn> assemble_turn(const CommandGraph& graph, ProgramBuilder& program) {
  const auto layout = best_layout(graph, Runs::kInTurns);
  if (!layout.ok()) return layout.error();
  emit(graph, layout.value(), program);
  return AssembledTurn{program.take_block(), layout.value().credits};
}

}  // namespace weft::compiler::command_graph
