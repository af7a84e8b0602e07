// Plan -> kernels of the programs -> a kernel for each device -> bytes.
#include "host/tools/run/sequence_programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/sequence/sequence_kernel.hpp"

namespace weft::tools {
namespace {

std::string next_key() {
  static std::atomic<uint64_t> next{0};
  return fmt::format("sequence {}", next++);
}

}  // namespace

bool is_sequence(const compiler::Partition& partition, const std::vector<size_t>& parts) {
  return std::ranges::any_of(parts, [&](size_t part) { return partition.parts[part].collective.has_value(); });
}

Result<SequenceProgram> compile_sequence(const ModelProgram& model, const std::vector<size_t>& parts,
                                         const spec::Chip& chip, const compiler::DeviceSlice& slice, size_t& refused) {
  auto plan = compiler::plan_sequence(model.module, model.partition, parts, refused);
  if (!plan.ok()) return plan.error();
  SequenceProgram program{std::move(plan.value()), {}, next_key()};
  const auto blame = [&](const Error& error) {  // a step
    const auto part = std::ranges::find(parts, program.plan.steps.at(refused).part);
    refused = static_cast<size_t>(part - parts.begin());
    return error;
  };
  const auto programs = compiler::compile_sequence_programs(chip, program.plan, refused);
  if (!programs.ok()) return blame(programs.error());
  const auto overlap = compiler::overlap(chip, program.plan, programs.value(), slice);
  for (size_t device = 0; device < slice.chips.size(); device++) {
    const auto kernel = compiler::sequence_kernel(chip, model.module.name, program.plan, programs.value(), overlap,
                                                  slice, device, refused);
    if (!kernel.ok()) return blame(kernel.error());
    auto executable = compiler::write_executable(chip, kernel.value());
    if (!executable.ok()) return executable.error();
    program.compiled.executables.push_back(std::move(executable.value()));
    program.compiled.macs = kernel.value().macs;
  }
  return program;
}

Result<SequenceProgram> known_sequence(const ModelProgram& model, const std::vector<size_t>& parts,
                                       const compiler::DeviceSlice& slice, CompiledSequence compiled) {
  size_t refused = 0;
  auto plan = compiler::plan_sequence(model.module, model.partition, parts, refused);
  if (!plan.ok()) return plan.error();
  if (compiled.executables.size() != slice.chips.size())
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("programs of {} devices for {}", compiled.executables.size(), slice.chips.size())};
  return SequenceProgram{std::move(plan.value()), std::move(compiled), next_key()};
}

}  // namespace weft::tools
