// Which programs have their values in VMEM, and what goes through memory where they do not fit.
#include "host/compiler/tiles/resident_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "host/compiler/command_graph/assemble.hpp"
#include "host/compiler/tiles/fused_epilogues.hpp"
#include "host/compiler/tiles/looped_program.hpp"
#include "host/compiler/tiles/spills.hpp"
#include "host/compiler/tiles/step_tiles.hpp"
#include "weft/spec/ici.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint8_t kScratch = 2;
constexpr double kMaxCommands = 100'000;
constexpr uint64_t kWorthSparing = 32'768;            // 2 MiB of commands: a loop costs some cycles a turn
constexpr std::array<uint64_t, 3> kBudgets{5, 3, 0};  // eighths of VMEM that values may take, one after the other

Error too_many(const Program& program, double commands) {
  return {WEFT_ERROR_UNSUPPORTED, fmt::format("{}: {:.0f} commands or more, and at most {:.0f} are ordered",
                                              program.name, commands, kMaxCommands)};
}

/// Values in scratch at the offsets `spilled` go through memory.
Result<Kernel> lay_out(const spec::Chip& chip, const Program& program, const std::set<uint64_t>& spilled) {
  ProgramBuilder builder(chip);
  CommandGraph graph(chip);
  graph.leave_semaphores(program.semaphores_left);
  graph.set_links({static_cast<double>(program.link_bytes_per_second) / static_cast<double>(chip.clock_hz),
                   spec::kIciHopLatencyNs * (chip.clock_hz / 1'000'000) / 1000});
  const bool one_product = program.steps.size() == 1 && std::holds_alternative<DenseStep>(program.steps.front());
  StepTiles tiles(graph, builder, program.steps, spilled, one_product);
  if (program.barrier) tiles.enter_slice(*program.barrier, program.lands_in_memory);
  for (size_t i = 0; i < program.steps.size(); i++) {
    tiles.add(program.steps[i], i + 1 == program.steps.size());
    if (static_cast<double>(graph.commands().size()) > kMaxCommands) return too_many(program, kMaxCommands);
  }
  if (auto status = command_graph::assemble(graph, builder); !status.ok())
    return Error{status.error().code, fmt::format("{}: {}", program.name, status.error().message)};
  Kernel kernel = builder.kernel(program.name);
  kernel.arguments = program.arguments;
  kernel.constants = program.constants;
  if (!spilled.empty() || program.lands_in_memory) kernel.scratch_bytes = program.scratch_bytes;
  return kernel;
}

uint64_t rows_of(const DenseStep& step) { return step.m; }
uint64_t rows_of(const PairProductStep& step) { return step.batch * step.m; }
uint64_t rows_of(const ConvolutionStep& step) { return step.windows.results() * step.spread[0] * step.spread[1]; }
uint64_t rows_of(const WindowStep& step) { return step.windows.results(); }
template <typename Other>
uint64_t rows_of(const Other& step) {
  return step.rows;
}

/// Commands, about: row chunks times column blocks, of products times K tiles.
double commands_of(const spec::Chip& chip, const Step& step) {
  const auto parts = [&](uint64_t size) { return static_cast<double>((size + chip.n - 1) / chip.n); };
  if (const auto* dense = std::get_if<DenseStep>(&step)) return parts(dense->m) * parts(dense->n) * parts(dense->k);
  const auto area = [&](const auto& s) { return parts(s.rows) * parts(s.cols); };
  if (const auto* vector = std::get_if<VectorStep>(&step)) return area(*vector);
  if (const auto* reduce = std::get_if<ReduceStep>(&step)) return area(*reduce);
  if (const auto* rearrange = std::get_if<RearrangeStep>(&step)) return area(*rearrange);
  if (const auto* collective = std::get_if<CollectiveStep>(&step))
    return area(*collective) * static_cast<double>(collective->group.ranks());
  if (const auto* rows = std::get_if<RowsStep>(&step)) return parts(rows->rows);
  if (const auto* windows = std::get_if<ConvolutionStep>(&step))
    return parts(rows_of(*windows)) * parts(windows->n) * parts(windows->k);
  if (const auto* windows = std::get_if<WindowStep>(&step))
    return parts(windows->windows.results()) * parts(windows->cols) * static_cast<double>(windows->windows.tap_count());
  const auto& pair = std::get<PairProductStep>(step);
  return static_cast<double>(pair.batch) * parts(pair.m) * parts(pair.n);
}

/// A result that stays in VMEM fits it.
bool fits(const spec::Chip& chip, const Step& step) {
  return std::visit(
      [&](const auto& s) {
        if constexpr (requires { s.y; })
          return s.y.segment != kScratch || rows_of(s) * s.y.pitch_bytes <= chip.vmem_bytes;
        else
          return true;
      },
      step);
}

/// Nothing, if the program may be laid out.
Status check(const spec::Chip& chip, const Program& program) {
  if (!std::ranges::all_of(program.steps, taken))
    return Error{WEFT_ERROR_UNSUPPORTED, fmt::format("{}: a step is not of those that stay in VMEM", program.name)};
  double commands = 0;
  for (const Step& step : program.steps) commands += commands_of(chip, step);
  if (commands > kMaxCommands) return too_many(program, commands);
  return Ok{};
}

/// Commands that the kernel's loops spare.
uint64_t commands_spared(const Kernel& kernel) {
  uint64_t spared = 0, turns = 1;
  for (const weft_control_entry& entry : kernel.control.entries) {
    if (entry.opcode == WEFT_CONTROL_OPCODE_LOOP) turns = entry.count;
    if (entry.opcode == WEFT_CONTROL_OPCODE_END) turns = 1;
    if (entry.opcode == WEFT_CONTROL_OPCODE_RUN)
      for (const auto& queue : kernel.control.blocks[entry.first]) spared += queue.size() * (turns - 1);
  }
  return spared;
}

}  // namespace

Result<Kernel> compile_resident(const spec::Chip& chip, const Program& unfused) {
  const Program program = with_fused_epilogues(unfused);
  for (const Step& step : program.steps)
    if (!fits(chip, step) && taken(step))
      return Error{WEFT_ERROR_NO_DEVICE_MEMORY, fmt::format("{}: a value is larger than VMEM", program.name)};
  if (auto status = check(chip, program); !status.ok()) return status.error();
  return lay_out(chip, program, {});
}

Result<Kernel> compile_spilled(const spec::Chip& chip, const Program& unfused) {
  const Program program = with_fused_epilogues(unfused);
  if (auto status = check(chip, program); !status.ok()) return status.error();
  Result<Kernel> kernel = Error{WEFT_ERROR_NO_DEVICE_MEMORY, program.name + ": its values do not fit VMEM"};
  for (const uint64_t eighths : kBudgets)
    if (!kernel.ok() && kernel.error().code == WEFT_ERROR_NO_DEVICE_MEMORY) {
      const auto spilled = choose_spills(chip, program, chip.vmem_bytes / 8 * eighths);
      if (!spilled.empty()) kernel = lay_out(chip, program, spilled);
    }
  return kernel;
}

Result<Kernel> compile_fitting(const spec::Chip& chip, const Program& program, Loops loops) {
  if (loops != Loops::kNever)
    if (auto looped = compile_looped(chip, program);
        looped.ok() && (loops == Loops::kAlways || commands_spared(looped.value()) >= kWorthSparing))
      return looped;
  auto resident = compile_resident(chip, program);
  if (resident.ok()) return resident;
  auto stepwise = compile(chip, program);
  if (stepwise.ok()) return stepwise;
  if (auto spilled = compile_spilled(chip, program); spilled.ok()) return spilled;
  return stepwise.error().code == WEFT_ERROR_UNSUPPORTED ? resident.error() : stepwise.error();
}

}  // namespace weft::compiler::tiles
