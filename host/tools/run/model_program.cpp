// ONNX -> L1 -> parts -> Graph -> Program -> Kernel -> bytes.
#include "host/tools/run/model_program.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "host/compiler/executable/loop_kernel.hpp"
#include "host/compiler/import_graph.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/program.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/tools/run/sequence_programs.hpp"

namespace weft::tools {
namespace {

using compiler::Graph;
using compiler::ir::Module;
using compiler::tiles::Loops;

constexpr size_t kMostCuts = 16;  // of a model's device programs: each takes a compilation or two

/// What has been freed lies in pieces between what is still there, and large pieces come from elsewhere: without this a
/// model's weights count once for each form that they have had.
void give_back_memory() { malloc_trim(0); }

Result<PartProgram> compile_graph(const spec::Chip& chip, const Graph& graph, Loops loops,
                                  compiler::Arguments arguments = compiler::Arguments::kEach) {
  auto program = compiler::lower(chip, graph, arguments);
  if (!program.ok()) return program.error();
  give_back_memory();
  auto kernel = compiler::tiles::compile_fitting(chip, program.value(), loops);
  if (!kernel.ok()) return kernel.error();
  program.value().constants = {};  // the kernel has them
  auto executable = compiler::write_executable(chip, kernel.value());
  if (!executable.ok()) return executable.error();
  return PartProgram{std::move(executable.value()), program.value().places, kernel.value().macs,
                     kernel.value().cycle_estimate};
}

Result<PartProgram> compile_loop(const spec::Chip& chip, const compiler::DeviceLoop& loop) {
  compiler::LoopPrograms programs;
  programs.state = loop.state.size();
  programs.turns = loop.turns;
  programs.slices_read = loop.slices_read, programs.slices_stored = loop.slices_stored;
  compiler::JoinedArguments joined{{loop.state.size(), loop.turn_reads.size()},
                                   {loop.turn.outputs.size() - loop.slices_stored.size()}};
  joined.inputs.resize(2 + loop.slices_read.size(), 1);  // each slice an argument
  joined.outputs.resize(1 + loop.slices_stored.size(), 1);
  auto turn = compiler::lower_joined(chip, loop.turn, joined);
  if (!turn.ok()) return turn.error();
  programs.turn = std::move(turn.value());
  if (loop.begin) {
    auto begin = compiler::lower_joined(chip, *loop.begin,
                                        {{loop.state.size(), loop.begin_reads.size()}, {loop.begin->outputs.size()}});
    if (!begin.ok()) return begin.error();
    programs.begin = std::move(begin.value());
  }
  auto compiled = compiler::compile_loop(chip, programs);
  if (!compiled.ok()) return compiled.error();
  const auto& kernel = compiled.value().kernel;
  auto executable = compiler::write_executable(chip, kernel);
  if (!executable.ok()) return executable.error();
  return PartProgram{std::move(executable.value()), std::move(compiled.value().places), kernel.macs,
                     kernel.cycle_estimate};
}

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Error at(const std::string& path, const Error& error) {
  return {error.code, fmt::format("{}: {}", path, error.message)};
}

/// All of the model in one device program, if the device takes it.
bool compile_whole(ModelProgram& model, const spec::Chip& chip, Loops loops) {
  auto graph = compiler::whole_device_graph(model.module);
  if (!graph.ok()) return false;
  auto program = compile_graph(chip, graph.value(), loops);
  if (!program.ok()) return false;
  compiler::Part part;
  for (uint32_t i = 0; i < model.module.ops().size(); i++)
    if (model.module.ops()[i].kind != compiler::ir::OpKind::kParameter) part.ops.push_back(i);
  part.inputs = model.module.inputs;
  for (const auto& output : model.module.outputs) part.outputs.push_back(output.value);
  part.graph = std::move(graph.value());
  model.partition.parts.push_back(std::move(part));
  model.programs.push_back(std::move(program.value()));
  model.launches = {{{0}, {}}};
  return true;
}

bool is_product(const Module& module, uint32_t op) {
  const auto kind = module.ops()[op].kind;
  return kind == compiler::ir::OpKind::kDotGeneral || kind == compiler::ir::OpKind::kConvolution;
}

size_t products_of_device(const Module& module, const compiler::Partition& partition) {
  size_t count = 0;
  for (const auto& part : partition.parts)
    if (part.graph && !part.loop)
      count +=
          static_cast<size_t>(std::ranges::count_if(part.ops, [&](uint32_t op) { return is_product(module, op); }));
  return count;
}

/// Cuts a program that the device's compiler refuses in the middle of its products, or a product from what is beside it.
/// False: there is nothing to cut.
bool cut_in_two(const Module& module, const compiler::Part& part, compiler::Cuts& cuts) {
  std::vector<uint32_t> products;
  for (const uint32_t op : part.ops)
    if (is_product(module, op)) products.push_back(op);
  if (products.empty() || cuts.before.size() >= kMostCuts) return false;
  const uint32_t middle = products[products.size() / 2];
  bool more = cuts.before.insert(middle).second;
  if (products.size() == 1) more |= cuts.before.insert(middle + 1).second;
  return more;
}

/// Device programs that have been compiled, or refused, by their operators.
using Tried = std::map<std::vector<uint32_t>, Result<PartProgram>>;

/// Compiles the model's device programs. Where one is refused, other cuts are tried: parts of matrices, if they have all
/// products, or this program in two. True: there are other cuts.
Result<bool> compile_all(ModelProgram& model, const spec::Chip& chip, Loops loops, Tried& tried) {
  for (const auto& launch : model.launches) {
    const auto& part = model.partition.parts[launch.parts.front()];
    if (launch.sequence || !part.graph) continue;
    if (!tried.contains(part.ops))
      tried.emplace(part.ops, part.loop ? compile_loop(chip, *part.loop)
                                        : compile_graph(chip, *part.graph, loops, compiler::Arguments::kOne));
    if (part.loop || tried.at(part.ops).ok()) continue;
    if (model.cuts.scope == compiler::DeviceScope::kAll && model.cuts.before.empty()) {
      compiler::Cuts matrices{compiler::DeviceScope::kMatrices};
      const auto other = compiler::partition(model.module, compiler::Device::kUsed, matrices);
      if (!other.ok()) return other.error();
      if (products_of_device(model.module, other.value()) == products_of_device(model.module, model.partition)) {
        model.cuts = std::move(matrices);
        return true;
      }
    }
    if (cut_in_two(model.module, part, model.cuts)) return true;
  }
  return false;
}

/// The model's launches, with those of several parts compiled. True: there are other cuts.
bool compile_sequences(ModelProgram& model, const spec::Chip& chip, const compiler::DeviceSlice* slice) {
  for (bool again = true; again;) {
    again = false;
    model.launches.clear();
    for (auto& parts : compiler::launches_of(model.partition)) model.launches.push_back({std::move(parts), {}});
    for (size_t i = 0; i < model.launches.size() && !again; i++) {
      ModelLaunch& launch = model.launches[i];
      if (!is_sequence(model.partition, launch.parts)) continue;
      size_t refused = 0;
      auto sequence = compile_sequence(model, launch.parts, chip, *slice, refused);
      if (sequence.ok()) {
        launch.sequence = std::move(sequence.value());
        continue;
      }
      const size_t part = launch.parts[refused];
      if (cut_in_two(model.module, model.partition.parts[part], model.cuts)) return true;
      compiler::leave_to_host(model.partition, part, sequence.error().message);
      model.left_to_host.insert(part);
      again = true;
    }
  }
  return false;
}

/// Parts of the model's module, those of the device compiled. What the device's compiler refuses is the host's.
Status cut(ModelProgram& model, const spec::Chip& chip, compiler::Device device, Loops loops,
           const compiler::DeviceSlice* slice = nullptr) {
  Tried tried;
  for (bool again = true; again;) {
    auto parts = compiler::partition(model.module, device, model.cuts, slice);
    if (!parts.ok()) return parts.error();
    model.partition = std::move(parts.value());
    model.left_to_host.clear();
    again = compile_sequences(model, chip, slice);
    if (again) continue;
    const auto other = compile_all(model, chip, loops, tried);
    if (!other.ok()) return other.error();
    again = other.value();
  }
  model.programs.resize(model.partition.parts.size());
  for (const auto& launch : model.launches) {
    const size_t i = launch.parts.front();
    const compiler::Part& part = model.partition.parts[i];
    if (launch.sequence || !part.graph) continue;
    if (auto& program = tried.at(part.ops); program.ok()) {
      model.programs[i] = std::move(program.value());
    } else {
      compiler::leave_to_host(model.partition, i, program.error().message);
      model.left_to_host.insert(i);
    }
  }
  return Ok{};
}

/// The parts of the model's module with the programs that they have been compiled to before.
Status take(ModelProgram& model, CompiledParts& known, const compiler::DeviceSlice* slice) {
  auto parts = compiler::partition(model.module, compiler::Device::kUsed, known.cuts, slice);
  if (!parts.ok()) return parts.error();
  model.partition = std::move(parts.value());
  model.left_to_host = std::move(known.left_to_host);
  for (const size_t part : model.left_to_host)
    if (part < model.partition.parts.size())
      compiler::leave_to_host(model.partition, part, "the device's compiler has refused it");
  for (auto& together : compiler::launches_of(model.partition)) model.launches.push_back({std::move(together), {}});
  model.programs = std::move(known.programs);
  model.cuts = std::move(known.cuts);
  const auto other = [] {
    return Error{WEFT_ERROR_INVALID_ARGUMENT, "device programs that are not those of the program's parts"};
  };
  if (model.programs.size() != model.partition.parts.size()) return other();
  size_t sequences = 0;
  for (auto& launch : model.launches) {
    if (is_sequence(model.partition, launch.parts)) {
      if (sequences == known.sequences.size()) return other();
      auto sequence = known_sequence(model, launch.parts, *slice, std::move(known.sequences[sequences++]));
      if (!sequence.ok()) return sequence.error();
      launch.sequence = std::move(sequence.value());
      continue;
    }
    const auto& graph = model.partition.parts[launch.parts.front()].graph;
    const auto& program = model.programs[launch.parts.front()];
    if (graph.has_value() == program.executable.empty()) return other();
    if (graph && program.places.size() != graph->inputs.size() + graph->outputs.size()) return other();
  }
  return Ok{};
}

}  // namespace

const Graph* ModelProgram::whole() const {
  if (partition.parts.size() != 1 || !partition.parts[0].graph) return nullptr;
  const auto& graph = *partition.parts[0].graph;
  if (graph.inputs.size() != module.inputs.size() || graph.outputs.size() != module.outputs.size()) return nullptr;
  // Programs of other types have all inputs in one argument, and all outputs.
  const auto f32 = [&](compiler::ir::ValueId value) {
    return module.type(value).element == compiler::ir::ElementType::kF32;
  };
  if (!std::ranges::all_of(module.inputs, f32) ||
      !std::ranges::all_of(module.outputs, [&](const auto& output) { return f32(output.value); }))
    return nullptr;
  for (size_t i = 0; i < module.inputs.size(); i++)
    if (graph.tensors[graph.inputs[i]].name != module.input_name(module.inputs[i])) return nullptr;
  for (size_t i = 0; i < module.outputs.size(); i++)
    if (graph.tensors[graph.outputs[i]].name != module.outputs[i].name) return nullptr;
  for (size_t i = 0; i < programs[0].places.size(); i++)
    if (programs[0].places[i].argument != i) return nullptr;
  return &graph;
}

Result<ModelProgram> compile_model(const std::string& path, const std::vector<std::byte>& file, const spec::Chip& chip,
                                   const compiler::frontend::Binding& binding, compiler::Device device, Loops loops) {
  auto imported = compiler::import_simplified(file, folder_of(path), binding);
  if (!imported.ok()) return at(path, imported.error());
  ModelProgram model;
  model.module = std::move(imported.value().module);
  model.decided_by = std::move(imported.value().decided_by);
  if (device == compiler::Device::kUsed && compile_whole(model, chip, loops)) return model;
  auto parts = cut(model, chip, device, loops);
  if (!parts.ok()) return at(path, parts.error());
  return model;
}

Result<ModelProgram> compile_parts(Module module, const spec::Chip& chip, CompiledParts* known,
                                   const compiler::DeviceSlice* slice) {
  ModelProgram model;
  model.module = std::move(module);
  auto status =
      known != nullptr ? take(model, *known, slice) : cut(model, chip, compiler::Device::kUsed, Loops::kNever, slice);
  if (!status.ok()) return status.error();
  return model;
}

Result<PartProgram> compile_part(const ModelProgram& model, size_t part, const spec::Chip& chip) {
  return compile_graph(chip, *model.partition.parts[part].graph, Loops::kNever, compiler::Arguments::kOne);
}

Result<Graph> import_graph(const std::string& path, const std::vector<std::byte>& file,
                           const compiler::frontend::Binding& binding) {
  auto graph = compiler::import_graph(file, folder_of(path), binding);
  if (!graph.ok()) return at(path, graph.error());
  return graph;
}

Result<DeviceProgram> compile_for_device(const std::string& path, std::vector<std::byte> file, const spec::Chip& chip,
                                         const compiler::frontend::Binding& binding, Loops loops) {
  // File, module and graph each hold all weights: one goes when the next is there.
  const auto import = [&]() -> Result<Graph> {
    const auto imported = compiler::import_simplified(file, folder_of(path), binding);
    file = std::vector<std::byte>();
    if (!imported.ok()) return imported.error();
    return compiler::whole_device_graph(imported.value().module);
  };
  auto graph = import();
  if (!graph.ok()) return at(path, graph.error());
  give_back_memory();
  auto program = compile_graph(chip, graph.value(), loops);
  if (!program.ok()) return at(path, program.error());
  return DeviceProgram{std::move(graph.value()), std::move(program.value())};
}

bool is_executable(const std::vector<std::byte>& file) {
  uint64_t magic = 0;
  if (file.size() >= sizeof magic) std::memcpy(&magic, file.data(), sizeof magic);
  return magic == WEFT_EXECUTABLE_MAGIC;
}

}  // namespace weft::tools
