// Which programs have their values in VMEM, and what goes through memory where they do not fit.
#include "host/compiler/tiles/resident_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "host/compiler/command_graph/assemble.hpp"
#include "host/compiler/command_graph/vmem_placement.hpp"
#include "host/compiler/tiles/fused_epilogues.hpp"
#include "host/compiler/tiles/looped_program.hpp"
#include "host/compiler/tiles/spills.hpp"
#include "host/compiler/tiles/step_places.hpp"
#include "host/compiler/tiles/step_text.hpp"
#include "host/compiler/tiles/step_tiles.hpp"
#include "host/compiler/tiles/streamed_product.hpp"
#include "weft/spec/ici.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint8_t kScratch = 2;
constexpr double kTilesOfCommand = 32;            // of K, about the most
constexpr double kMaxInOrder = 1'000'000;         // of products and elementwise steps, whose order is kept
constexpr uint64_t kMaxPitch = (1ull << 31) - 1;  // a command's strides have 32 bits
constexpr uint64_t kWorthSparing = 32'768;        // 2 MiB of commands: a loop costs some cycles a turn

/// What may stay in VMEM of a program that does not fit: eighths of it for values, and weights that several products have.
struct Budget {
  uint64_t eighths;
  bool weights_stay;
};
constexpr std::array<Budget, 4> kBudgets{{{5, true}, {3, true}, {0, true}, {0, false}}};  // one after the other

/// `commands` of each step, of the last ones perhaps none.
Error too_many(const Program& program, const std::vector<double>& commands, double most) {
  const auto largest = std::ranges::max_element(commands);
  return {WEFT_ERROR_UNSUPPORTED,
          fmt::format("{}: {:.0f} commands or more, and at most {:.0f} are ordered; {:.0f} of them are of {}",
                      program.name, std::accumulate(commands.begin(), commands.end(), 0.0), most, *largest,
                      text_of(program, static_cast<size_t>(largest - commands.begin())))};
}

bool is_one_product(const Program& program) {
  return program.steps.size() == 1 && std::holds_alternative<DenseStep>(program.steps.front());
}

uint64_t rows_of(const DenseStep& step) { return step.m; }
uint64_t rows_of(const PairProductStep& step) { return step.batch * step.m; }
uint64_t rows_of(const ConvolutionStep& step) { return step.windows.results() * step.spread[0] * step.spread[1]; }
uint64_t rows_of(const WindowStep& step) { return step.windows.results(); }
template <typename Other>
uint64_t rows_of(const Other& step) {
  return step.rows;
}

/// Commands, about, of those that add to the same sums a few: row chunks times column blocks.
double commands_of(const spec::Chip& chip, const Step& step) {
  const auto parts = [&](uint64_t size) { return static_cast<double>((size + chip.n - 1) / chip.n); };
  if (const auto* dense = std::get_if<DenseStep>(&step))
    return parts(dense->m) * parts(dense->n) * std::max(1.0, parts(dense->k) / kTilesOfCommand);
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

/// Nothing, if the program's steps can be laid out.
Status check_steps(const Program& program) {
  for (size_t i = 0; i < program.steps.size(); i++) {
    Step copy = program.steps[i];
    std::vector<TensorPlace> places = operand_places(copy);
    if (const auto* y = result_of(copy)) places.push_back(*y);
    for (const TensorPlace& place : places)
      if (place.pitch_bytes > kMaxPitch)
        return Error{WEFT_ERROR_UNSUPPORTED,
                     fmt::format("{}: {} has a row of {} bytes, and a command's stride is {} at most", program.name,
                                 text_of(program, i), place.pitch_bytes, kMaxPitch)};
  }
  return Ok{};
}

/// Commands of each step, about.
std::vector<double> commands_of(const spec::Chip& chip, const Program& program, const Spills& spills) {
  std::vector<double> commands;
  for (size_t i = 0; i < program.steps.size(); i++) {
    const auto streamed = spills.products.find(i);
    commands.push_back(streamed == spills.products.end() ? commands_of(chip, program.steps[i])
                                                         : streamed_commands(streamed->second));
  }
  return commands;
}

/// The error of a graph, with the step that it is about. `ends`: of each step, the commands up to its last one.
Error named(const CommandGraph& graph, const Program& program, const std::vector<size_t>& ends, const Error& error) {
  if (error.code != WEFT_ERROR_NO_DEVICE_MEMORY)
    return {error.code, fmt::format("{}: {}", program.name, error.message)};
  const auto [command, words] = command_graph::vmem_peak(graph);
  const auto step = std::ranges::upper_bound(ends, size_t{command}) - ends.begin();
  return {error.code, fmt::format("{}: {}; most of all, {} bytes, {}", program.name, error.message,
                                  words * graph.chip().word_bytes, text_of(program, static_cast<size_t>(step)))};
}

enum class Values : uint8_t { kInVmem, kWhereTheyFit };

Result<Kernel> lay_out(const spec::Chip& chip, const Program& program, Values values, const Spills& spills,
                       bool weights_stay = true) {
  const bool one_product = is_one_product(program);
  const bool goes_in_order =
      values == Values::kWhereTheyFit && std::ranges::all_of(program.steps, [](const Step& step) {
        return std::holds_alternative<DenseStep>(step) || std::holds_alternative<VectorStep>(step);
      });
  const double most = goes_in_order ? kMaxInOrder : static_cast<double>(kMostCommands);
  if (const auto commands = commands_of(chip, program, spills);
      std::accumulate(commands.begin(), commands.end(), 0.0) > most)
    return too_many(program, commands, most);
  std::vector<double> commands;  // by step
  std::vector<size_t> ends;
  ProgramBuilder builder(chip);
  CommandGraph graph(chip);
  graph.leave_semaphores(program.semaphores_left);
  graph.set_links({static_cast<double>(program.link_bytes_per_second) / static_cast<double>(chip.clock_hz),
                   spec::kIciHopLatencyNs * (chip.clock_hz / 1'000'000) / 1000});
  StepTiles tiles(graph, builder, program.steps, spills.values, one_product);
  if (program.barrier) tiles.enter_slice(*program.barrier, program.lands_in_memory);
  if (values == Values::kWhereTheyFit) tiles.limit_chunks(program.steps);
  if (!weights_stay) tiles.let_weights_go();
  for (size_t i = 0; i < program.steps.size(); i++) {
    if (const auto streamed = spills.products.find(i); streamed != spills.products.end()) {
      const auto& step = std::get<DenseStep>(program.steps[i]);
      stream_product(graph, builder, step, streamed->second);
      tiles.stored(step.y);
      tiles.begin_behind_product();
    } else {
      tiles.add(program.steps[i], i + 1 == program.steps.size());
    }
    commands.push_back(static_cast<double>(graph.commands().size() - (ends.empty() ? 0 : ends.back())));
    ends.push_back(graph.commands().size());
    if (static_cast<double>(ends.back()) > most) return too_many(program, commands, most);
  }
  if (values == Values::kWhereTheyFit) graph.store_early();
  if (goes_in_order) graph.keep_order();
  if (auto status = command_graph::assemble(graph, builder); !status.ok())
    return named(graph, program, ends, status.error());
  Kernel kernel = builder.kernel(program.name);
  kernel.arguments = program.arguments;
  kernel.constants = program.constants;
  if (!spills.values.empty() || program.lands_in_memory) kernel.scratch_bytes = program.scratch_bytes;
  return kernel;
}

/// Of a streamed product the EPILOGUE has bias and activation alone.
bool streams_fused(const Program& program, const Spills& spills) {
  return std::ranges::any_of(spills.products, [&](const auto& product) {
    const auto& step = std::get<DenseStep>(program.steps[product.first]);
    return step.residual || step.scales || step.y_dtype == WEFT_VPU_DTYPE_I8;
  });
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
  for (size_t i = 0; i < program.steps.size(); i++)
    if (!fits(chip, program.steps[i]))
      return Error{WEFT_ERROR_NO_DEVICE_MEMORY,
                   fmt::format("{}: the result of {} is larger than VMEM, which is {} bytes", program.name,
                               text_of(program, i), chip.vmem_bytes)};
  if (auto status = check_steps(program); !status.ok()) return status.error();
  return lay_out(chip, program, Values::kInVmem, {});
}

Result<Kernel> compile_spilled(const spec::Chip& chip, const Program& unfused) {
  if (auto status = check_steps(unfused); !status.ok()) return status.error();
  if (unfused.barrier)
    return Error{WEFT_ERROR_NO_DEVICE_MEMORY,
                 fmt::format("{}: its values do not fit VMEM beside what chips send each other", unfused.name)};
  const Program fused = with_fused_epilogues(unfused);
  Result<Kernel> found = Error{WEFT_ERROR_NO_DEVICE_MEMORY, unfused.name + ": its values do not fit VMEM"};
  for (const auto& [eighths, weights_stay] : kBudgets) {
    const Program* program = &fused;
    auto spills = choose_spills(chip, fused, eighths);
    if (spills.ok() && streams_fused(fused, spills.value())) {
      program = &unfused;
      spills = choose_spills(chip, unfused, eighths);
    }
    if (!spills.ok()) return spills.error();
    found = lay_out(chip, *program, Values::kWhereTheyFit, spills.value(), weights_stay);
    if (found.ok() || found.error().code == WEFT_ERROR_UNSUPPORTED) break;
  }
  return found;
}

Result<Kernel> compile_fitting(const spec::Chip& chip, const Program& program, Loops loops) {
  if (loops != Loops::kNever)
    if (auto looped = compile_looped(chip, program);
        looped.ok() && (loops == Loops::kAlways || commands_spared(looped.value()) >= kWorthSparing))
      return looped;
  auto resident = compile_resident(chip, program);
  return resident.ok() ? std::move(resident) : compile_spilled(chip, program);
}

}  // namespace weft::compiler::tiles
