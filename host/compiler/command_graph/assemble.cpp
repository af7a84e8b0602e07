// Order, places, semaphores, addresses.
#include "host/compiler/command_graph/assemble.hpp"

#include <fmt/format.h>

#include <array>
#include <numeric>

#include "host/compiler/command_graph/list_schedule.hpp"
#include "host/compiler/command_graph/synchronization.hpp"
#include "host/compiler/command_graph/vmem_placement.hpp"

namespace weft::compiler::command_graph {
namespace {

struct Attempt {
  uint32_t window, loads_ahead;
  uint64_t vmem_parts;  ///< of 8, that loads may fill
};
constexpr std::array<Attempt, 9> kAttempts{
    {{2048, 30, 6}, {2048, 16, 6}, {256, 30, 6}, {64, 30, 6}, {32, 12, 4}, {8, 8, 2}, {1, 8, 2}, {1, 4, 1}, {1, 1, 0}}};
constexpr std::array<uint64_t, 5> kRests{256, 64, 16, 4, 0};

struct Layout {
  Schedule schedule;
  VmemPlacement vmem;
  std::vector<SynchronizedCommand> commands;
};

Result<Layout> lay_out(const CommandGraph& graph, const std::vector<std::vector<uint32_t>>& before,
                       const Attempt& attempt) {
  Layout layout;
  layout.schedule = list_schedule(
      graph, before, {attempt.window, attempt.loads_ahead, graph.chip().vmem_words / 8 * attempt.vmem_parts});
  const auto& order = layout.schedule.order;
  if (order.size() != graph.commands().size())
    return Error{WEFT_ERROR_INTERNAL, "blocks of sums wait for each other's places in ACC"};
  std::optional<VmemPlacement> vmem;
  for (const uint64_t rest : kRests)
    if (!vmem) vmem = place_vmem(graph, order, rest);
  if (!vmem)
    return Error{WEFT_ERROR_NO_DEVICE_MEMORY,
                 fmt::format("its values need more than the {} bytes of VMEM at a time", graph.chip().vmem_bytes)};
  layout.vmem = std::move(*vmem);
  BufferBases bases = layout.vmem.bases;
  for (size_t b = 0; b < bases.size(); b++)
    if (graph.buffers()[b].space == BufferSpace::kAcc) bases[b] = layout.schedule.acc_bases[b];
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
          body.header = header;
          address(c, from.command, body);
          return spec::encode(body);
        },
        c.body);
  }

 private:
  [[nodiscard]] uint64_t vmem(BufferId buffer) const {
    return buffer == kNoBuffer ? 0 : layout_.vmem.bases[index_of(buffer)];
  }
  void address(const GraphCommand& c, uint32_t, spec::DmaCommand& body) const {
    if (c.a != kNoBuffer) body.src_off += vmem(c.a) * graph_.chip().word_bytes;
    if (c.d != kNoBuffer) body.dst_off += vmem(c.d) * graph_.chip().word_bytes;
  }
  void address(const GraphCommand& c, uint32_t command, spec::MxuCommand& body) const {
    body.mxu = layout_.schedule.mxu[command];
    body.x_addr += static_cast<uint32_t>(vmem(c.a));
    body.w_addr += static_cast<uint32_t>(vmem(c.b));
    body.acc_row = static_cast<uint16_t>(body.acc_row + layout_.schedule.acc_bases[index_of(c.d)] -
                                         uint64_t{body.mxu} * 2 * graph_.chip().acc_bank_rows);
  }
  void address(const GraphCommand& c, uint32_t, spec::VpuCommand& body) const {
    body.a_addr += static_cast<uint32_t>(
        body.src_space == WEFT_VPU_SPACE_ACC ? layout_.schedule.acc_bases[index_of(c.a)] : vmem(c.a));
    body.b_addr += static_cast<uint32_t>(vmem(c.b));
    body.d_addr += static_cast<uint32_t>(vmem(c.d));
  }

  const CommandGraph& graph_;
  const Layout& layout_;
};

}  // namespace

Status assemble(const CommandGraph& graph, ProgramBuilder& program) {
  std::vector<uint32_t> own_order(graph.commands().size());
  std::iota(own_order.begin(), own_order.end(), 0u);
  const auto before = dependences(graph, own_order);
  Result<Layout> layout = Error{WEFT_ERROR_INTERNAL, "no attempt"};
  for (const Attempt& attempt : kAttempts)
    if (!layout.ok()) layout = lay_out(graph, before, attempt);
  if (!layout.ok()) return layout.error();
  const Emission emission(graph, layout.value());
  const uint16_t signal_tag = program.tag("signal");
  for (const auto& command : layout.value().commands) {
    auto encoded = emission.command(command);
    if (command.command == kSignal) spec::store_le(encoded, 2, 2, signal_tag);
    program.push(static_cast<weft_queue_index>(command.queue), encoded);
  }
  program.note_vmem_words(layout.value().vmem.words);
  return Ok{};
}

}  // namespace weft::compiler::command_graph
