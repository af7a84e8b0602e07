// Commands are counted as they stand in the executable; their texts begin with the name of the layer.
#include "host/tools/cost/layer_costs.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "driver/program/executable_loader.hpp"
#include "host/compiler/command_graph/unit_times.hpp"
#include "host/compiler/executable/debug_section.hpp"
#include "weft/spec/commands.hpp"

namespace weft::tools {
namespace {

using compiler::command_graph::bytes_of;
using compiler::command_graph::unit_cycles;

constexpr uint64_t kMostTurns = 4096;  // that are counted
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

/// The layer with the longest name that `text` is, or begins with before a blank.
size_t layer_of_text(const std::map<std::string, size_t>& by_name, const std::string& text, size_t none) {
  for (size_t end = text.size(); end != std::string::npos && end != 0; end = text.rfind(' ', end - 1))
    if (const auto found = by_name.find(text.substr(0, end)); found != by_name.end()) return found->second;
  return none;
}

/// What a command of a DMA queue moves. Of rows by indices: as many as there are indices.
spec::DmaCommand moved_by(const spec::Command& command) {
  if (spec::find_opcode(command.bytes[0])->body != spec::Body::kIndexed) return spec::decode_dma(command);
  const auto rows = spec::decode_indexed(command);
  spec::DmaCommand moved;
  moved.header = rows.header;
  moved.src_seg = rows.src_seg, moved.dst_seg = rows.dst_seg;
  moved.size0 = rows.row_bytes, moved.size1 = rows.count;
  return moved;
}

void add_copy(CommandCosts& to, const spec::DmaCommand& dma, bool from_constants) {
  const uint64_t bytes = bytes_of(dma);
  const bool fill = dma.header.opcode == WEFT_OPCODE_FILL;
  if (!fill && from_constants) to.constant_bytes += bytes;
  if (!fill && !from_constants && dma.src_seg != kVmem) to.read_bytes += bytes;
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
  for (const auto& names : compiler::read_turn_names(executable)) {
    auto& layers_here = in_turn_.emplace_back();
    for (const auto& [first, here] : names)
      if (by_name.contains(first) && by_name.contains(here)) layers_here[by_name[first]] = by_name[here];
  }
  for (size_t i = 0; i < part.inputs.size(); i++)
    for (size_t layer = layers.size(); layer-- > 0;)
      if (std::ranges::find(layers[layer].operands, part.inputs[i]) != layers[layer].operands.end())
        first_reader_[i] = layer;
}

size_t CommandOwners::owner(weft_queue_index queue, const spec::Command& command, size_t turn) const {
  const uint16_t tag = spec::decode_header(command).tag;
  if (queue == WEFT_QUEUE_DMA_IN && (argument_loads_.contains(tag) || owner(tag) == none_)) {
    const auto dma = spec::decode_dma(command);
    const size_t argument = size_t{dma.src_seg} - kFirstArgument;
    if (dma.src_seg >= kFirstArgument && argument < first_reader_.size()) return first_reader_[argument];
  }
  return owner(tag, turn);
}

size_t CommandOwners::owner(uint16_t tag, size_t turn) const {
  if (argument_loads_.contains(tag) && !first_reader_.empty()) return first_reader_[0];
  const size_t first = tag < by_tag_.size() ? by_tag_[tag] : none_;
  if (turn >= in_turn_.size()) return first;
  const auto here = in_turn_[turn].find(first);
  return here == in_turn_[turn].end() ? first : here->second;
}

Result<ProgramRuns> ProgramRuns::of(const driver::Executable& executable) {
  ProgramRuns runs;
  runs.constants_.insert(kConstants);
  const auto& kernel = executable.kernels[0];
  if (!kernel.control) {
    runs.blocks_.push_back({kernel.queue_first, kernel.queue_count});
    return runs;
  }
  for (const weft_control_block& block : kernel.control->blocks) {
    auto& to = runs.blocks_.emplace_back(Commands{{}, {}, 0});
    std::ranges::copy(block.queue_first, to.first.begin());
    std::ranges::copy(block.queue_count, to.count.begin());
  }
  for (const weft_control_binding& binding : kernel.control->bindings)
    if (binding.argument == WEFT_EXECUTABLE_CONTROL_CONSTANTS)
      runs.constants_.insert(static_cast<uint8_t>(binding.segment));
  std::vector<uint64_t> open{1};
  for (const weft_control_entry& entry : kernel.control->entries)
    switch (static_cast<weft_control_opcode>(entry.opcode)) {
      case WEFT_CONTROL_OPCODE_LOOP:
        open.push_back(open.back() * entry.count);
        break;
      case WEFT_CONTROL_OPCODE_END:
        open.pop_back();
        break;
      case WEFT_CONTROL_OPCODE_RUN:
        runs.blocks_[entry.first].turns += open.back();
        break;
      case WEFT_CONTROL_OPCODE_BIND:
        break;
      case WEFT_CONTROL_OPCODE_WHILE:
      case WEFT_CONTROL_OPCODE_IF:
      case WEFT_CONTROL_OPCODE_ELSE:
        return Error{WEFT_ERROR_UNSUPPORTED,
                     "the program has a control list with conditions, whose turns are not counted"};
    }
  return runs;
}

Result<std::map<uint16_t, uint64_t>> tags_of_turn(const spec::Chip& chip, const std::vector<std::byte>& executable) {
  const auto loaded = load(chip, executable);
  if (!loaded.ok()) return loaded.error();
  const auto runs = ProgramRuns::of(loaded.value());
  if (!runs.ok()) return runs.error();
  std::map<uint16_t, uint64_t> tags;
  const auto most = std::ranges::max_element(runs.value().blocks(), {}, &ProgramRuns::Commands::turns);
  if (most == runs.value().blocks().end() || most->turns < 2) return tags;
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
    for (uint32_t i = 0; i < most->count[queue]; i++)
      tags[spec::decode_header(command_at(loaded.value(), uint64_t{most->first[queue]} + i)).tag]++;
  return tags;
}

Result<ProgramCosts> command_costs(const spec::Chip& chip, const std::vector<std::byte>& executable,
                                   const std::vector<Layer>& layers, const CommandOwners& owners) {
  const auto loaded = load(chip, executable);
  if (!loaded.ok()) return loaded.error();
  const auto& kernel = loaded.value().kernels[0];
  const auto runs = ProgramRuns::of(loaded.value());
  if (!runs.ok()) return runs.error();
  ProgramCosts costs;
  costs.layers.resize(layers.size() + 1);
  costs.macs = kernel.macs, costs.cycle_estimate = kernel.cycle_estimate;
  costs.vmem_bytes = kernel.vmem_bytes, costs.scratch_bytes = kernel.scratch_bytes;
  costs.constants_bytes = loaded.value().constants.size();
  for (const auto& argument : kernel.arguments) costs.arguments_bytes += argument.size_bytes;
  const auto add = [&](weft_queue_index queue, const spec::Command& command, size_t turn) {
    CommandCosts& to = costs.layers[owners.owner(queue, command, turn)];
    to.commands++;
    if (queue == WEFT_QUEUE_MXU) to.mxu_cycles += unit_cycles(chip, spec::decode_mxu(command));
    if (queue == WEFT_QUEUE_VPU) to.vpu_cycles += unit_cycles(chip, spec::decode_vpu(command));
    if (queue != WEFT_QUEUE_DMA_IN && queue != WEFT_QUEUE_DMA_OUT) return;
    const auto dma = moved_by(command);
    add_copy(to, dma, runs.value().is_constant(dma.src_seg));
  };
  for (const auto& block : runs.value().blocks())
    for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
      for (uint32_t i = 0; i < block.count[queue]; i++) {
        const auto command = command_at(loaded.value(), uint64_t{block.first[queue]} + i);
        for (uint64_t turn = 0; turn < std::min(block.turns, kMostTurns); turn++)
          add(static_cast<weft_queue_index>(queue), command, turn);
      }
  return costs;
}

}  // namespace weft::tools
