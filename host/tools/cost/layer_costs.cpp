// Commands are counted as they stand in the executable; their texts begin with the name of the layer.
#include "host/tools/cost/layer_costs.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "driver/program/executable_loader.hpp"
#include "host/compiler/command_graph/unit_times.hpp"
#include "host/compiler/debug_section.hpp"
#include "weft/spec/commands.hpp"

namespace weft::tools {
namespace {

using compiler::command_graph::bytes_of;
using compiler::command_graph::unit_cycles;

constexpr uint8_t kVmem = 0, kConstants = 1, kScratch = 2, kFirstArgument = 3;

Result<driver::Executable> load(const spec::Chip& chip, const std::vector<std::byte>& file) {
  auto executable = driver::load_executable(file, chip);
  if (!executable.ok()) return Error{executable.status().code(), executable.status().message()};
  if (executable.value().kernels.size() != 1)
    return Error{WEFT_ERROR_UNSUPPORTED, "an executable of more than one kernel"};
  return std::move(executable.value());
}

spec::Command command_at(const driver::Executable& executable, uint64_t index) {
  spec::Command command;
  std::memcpy(command.bytes.data(), &executable.commands[index * sizeof command.bytes], sizeof command.bytes);
  return command;
}

template <typename F>
void for_each_command(const driver::Executable& executable, F visit) {
  const auto& kernel = executable.kernels[0];
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
    for (uint32_t i = 0; i < kernel.queue_count[queue]; i++)
      visit(static_cast<weft_queue_index>(queue), command_at(executable, uint64_t{kernel.queue_first[queue]} + i));
}

/// The layer with the longest name that `text` is, or begins with before a blank.
size_t layer_of_text(const std::map<std::string, size_t>& by_name, const std::string& text, size_t none) {
  for (size_t end = text.size(); end != std::string::npos && end != 0; end = text.rfind(' ', end - 1))
    if (const auto found = by_name.find(text.substr(0, end)); found != by_name.end()) return found->second;
  return none;
}

void add_copy(CommandCosts& to, const spec::DmaCommand& dma) {
  const uint64_t bytes = bytes_of(dma);
  const bool fill = dma.header.opcode == WEFT_OPCODE_FILL;
  if (!fill && dma.src_seg == kConstants) to.constant_bytes += bytes;
  if (!fill && dma.src_seg != kConstants && dma.src_seg != kVmem) to.read_bytes += bytes;
  if (!fill && dma.src_seg == kScratch) to.scratch_read_bytes += bytes;
  if (dma.dst_seg != kVmem) to.written_bytes += bytes;
  if (dma.dst_seg == kScratch) to.scratch_written_bytes += bytes;
}

}  // namespace

CommandCosts& CommandCosts::operator+=(const CommandCosts& other) {
  commands += other.commands;
  mxu_cycles += other.mxu_cycles, vpu_cycles += other.vpu_cycles;
  constant_bytes += other.constant_bytes, read_bytes += other.read_bytes, written_bytes += other.written_bytes;
  scratch_read_bytes += other.scratch_read_bytes, scratch_written_bytes += other.scratch_written_bytes;
  return *this;
}

WorkBound engines_of(const spec::Chip& chip, const CommandCosts& costs) {
  return {static_cast<double>(costs.mxu_cycles) / chip.num_mxu, static_cast<double>(costs.vpu_cycles),
          static_cast<double>(costs.hbm_bytes()) * static_cast<double>(chip.clock_hz) /
              static_cast<double>(chip.hbm_bytes_per_second)};
}

CommandOwners::CommandOwners(const compiler::Part& part, const std::vector<Layer>& layers,
                             const std::vector<std::byte>& executable)
    : none_(layers.size()), first_reader_(part.inputs.size(), none_) {
  std::map<std::string, size_t> by_name;
  for (size_t i = 0; i < layers.size(); i++) by_name.emplace(layers[i].name, i);
  const auto tags = compiler::read_tags(executable);
  if (!tags.empty()) by_tag_.resize(size_t{tags.rbegin()->first} + 1, none_);
  for (const auto& [tag, text] : tags) {
    by_tag_[tag] = layer_of_text(by_name, text, none_);
    if (text.starts_with("load rows ")) argument_loads_.insert(tag);
  }
  for (size_t i = 0; i < part.inputs.size(); i++)
    for (size_t layer = layers.size(); layer-- > 0;)
      if (std::ranges::find(layers[layer].operands, part.inputs[i]) != layers[layer].operands.end())
        first_reader_[i] = layer;
}

size_t CommandOwners::owner(weft_queue_index queue, const spec::Command& command) const {
  const uint16_t tag = spec::decode_header(command).tag;
  if (queue == WEFT_QUEUE_DMA_IN && (argument_loads_.contains(tag) || owner(tag) == none_)) {
    const auto dma = spec::decode_dma(command);
    const size_t argument = size_t{dma.src_seg} - kFirstArgument;
    if (dma.src_seg >= kFirstArgument && argument < first_reader_.size()) return first_reader_[argument];
  }
  return owner(tag);
}

size_t CommandOwners::owner(uint16_t tag) const {
  if (argument_loads_.contains(tag) && !first_reader_.empty()) return first_reader_[0];
  return tag < by_tag_.size() ? by_tag_[tag] : none_;
}

Result<ProgramCosts> command_costs(const spec::Chip& chip, const std::vector<std::byte>& executable,
                                   const std::vector<Layer>& layers, const CommandOwners& owners) {
  const auto loaded = load(chip, executable);
  if (!loaded.ok()) return loaded.error();
  const auto& kernel = loaded.value().kernels[0];
  if (kernel.control)
    return Error{WEFT_ERROR_UNSUPPORTED, "the program has a control list, whose turns are not counted"};
  ProgramCosts costs;
  costs.layers.resize(layers.size() + 1);
  costs.macs = kernel.macs, costs.cycle_estimate = kernel.cycle_estimate;
  costs.vmem_bytes = kernel.vmem_bytes, costs.scratch_bytes = kernel.scratch_bytes;
  costs.constants_bytes = loaded.value().constants.size();
  for (const auto& argument : kernel.arguments) costs.arguments_bytes += argument.size_bytes;
  for_each_command(loaded.value(), [&](weft_queue_index queue, const spec::Command& command) {
    CommandCosts& to = costs.layers[owners.owner(queue, command)];
    to.commands++;
    if (queue == WEFT_QUEUE_MXU) to.mxu_cycles += unit_cycles(chip, spec::decode_mxu(command));
    if (queue == WEFT_QUEUE_VPU) to.vpu_cycles += unit_cycles(chip, spec::decode_vpu(command));
    if (queue == WEFT_QUEUE_DMA_IN || queue == WEFT_QUEUE_DMA_OUT) add_copy(to, spec::decode_dma(command));
  });
  return costs;
}

}  // namespace weft::tools
