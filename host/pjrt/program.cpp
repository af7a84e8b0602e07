// Bytecode -> L1 -> passes -> parts, and a run of the parts.
#include "host/pjrt/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>

#include "host/compiler/ir/callbacks.hpp"
#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/localise/consecutive_parts.hpp"
#include "host/compiler/partition/value_views.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/stablehlo/importer.hpp"

namespace weft::pjrt {
namespace {

using compiler::ir::Module;
using compiler::ir::Op;
using compiler::ir::OpKind;

/// Multiply-adds of products and convolutions, and elements that elementwise operators compute.
struct Work {
  uint64_t macs = 0, elements = 0;
  void add(const Work& other) { macs += other.macs, elements += other.elements; }
};

Work work_of(const Module& module, const Op& op) {
  Work work;
  for (const auto& region : op.regions)
    for (const auto& inner : region->ops())
      // A region on scalars is an operator's own; it runs element by element.
      if (op.kind == OpKind::kWhile || op.kind == OpKind::kCase || op.kind == OpKind::kManual)
        work.add(work_of(*region, inner));
  const uint64_t results = module.type(op.results[0]).count();
  if (compiler::is_elementwise_kind(op.kind)) work.elements += results;
  if (op.kind != OpKind::kDotGeneral && op.kind != OpKind::kConvolution) return work;
  // Each element of a result is a sum over what the second operand has and the result has not.
  const auto &first = module.type(op.operands[0]), &second = module.type(op.operands[1]);
  uint64_t depth = 1;
  if (op.kind == OpKind::kConvolution && second.dims[0] != 0)
    depth = second.count() / static_cast<uint64_t>(second.dims[0]);
  else if (op.kind == OpKind::kDotGeneral)
    for (const int64_t d : op.list("lhs_contract")) depth *= static_cast<uint64_t>(first.dims[static_cast<size_t>(d)]);
  work.macs += results * depth;
  return work;
}

/// UNSUPPORTED: tiles of different sizes.
Status check_layout(const compiler::stablehlo::Layout& layout, const Module& module) {
  return compiler::ir::guarded([&] {
    for (size_t i = 0; i < layout.inputs.size(); i++) (void)layout.inputs[i].local(module.type(module.inputs[i]));
    for (size_t i = 0; i < layout.outputs.size(); i++)
      (void)layout.outputs[i].local(module.type(module.outputs[i].value));
    return Ok{};
  });
}

}  // namespace

Cost cost_of(const Program& program) {
  const Module& module = program.model.module;
  Work all, device;
  for (const auto& op : module.ops()) all.add(work_of(module, op));
  Cost cost;
  for (const auto& op : module.ops()) cost.collectives += op.kind == OpKind::kCollective ? 1 : 0;
  for (const auto& [kind, count] : program.replicated) cost.replicated += count;
  for (const auto& part : program.model.partition.parts) {
    if (!part.collective) (part.graph ? cost.device_programs : cost.islands)++;
    if (part.graph)
      for (const uint32_t op : part.ops) device.add(work_of(module, module.ops()[op]));
  }
  cost.macs = all.macs, cost.device_macs = device.macs;
  cost.elements = all.elements, cost.device_elements = device.elements;
  return cost;
}

std::string shape_text(const compiler::SliceShape& shape) {
  std::string text;
  for (size_t axis = 0; axis < shape.size.size(); axis++)
    text += fmt::format("{}{}{}", axis == 0 ? "" : "x", shape.size[axis], shape.wraps[axis] ? "*" : "");
  return text;
}

uint64_t code_bytes(const Program& program) {
  uint64_t bytes = 0;
  for (const auto& part : program.model.programs) bytes += part.executable.size();
  for (const auto& launch : program.model.launches)
    if (launch.sequence) bytes += launch.sequence->compiled.executables[0].size();
  return bytes;
}

compiler::ir::TensorType Program::input_type(size_t i) const {
  const auto& type = model.module.type(model.module.inputs.at(i));
  return gathered.empty() ? type : layout.inputs[i].local(type);
}
compiler::ir::TensorType Program::output_type(size_t i) const {
  const auto& type = model.module.type(model.module.outputs.at(i).value);
  return gathered.empty() ? type : layout.outputs[i].local(type);
}

namespace {

/// The module in the place of a program for several devices: each one's, or that of whole arrays.
Module localised(Module module, Program& program, bool on_slice) {
  const size_t devices = program.devices();
  const bool manual = std::ranges::any_of(module.ops(), [](const Op& op) { return op.kind == OpKind::kManual; });
  if (devices == 1 && !manual) return module;
  auto layout = program.layout;
  if (devices == 1) {
    for (const auto input : module.inputs)
      layout.inputs.push_back(compiler::ir::replicated(module.type(input).rank(), 1));
    for (const auto& output : module.outputs)
      layout.outputs.push_back(compiler::ir::replicated(module.type(output.value).rank(), 1));
  }
  auto local = compiler::localise::localise(module, layout.inputs, layout.outputs, devices, {}, layout.open);
  if (local.ok()) {
    if (on_slice) local.value().module = compiler::localise::consecutive_parts(local.value().module);
    auto simplified = compiler::passes::run_all(std::move(local.value().module));
    if (simplified.ok()) {
      program.extras = std::move(local.value().extras);
      program.replicated = std::move(local.value().replicated);
      if (devices > 1) program.layout.outputs = std::move(local.value().outputs);
      return std::move(simplified.value());
    }
    local = simplified.error();
  }
  if (devices > 1) program.gathered = local.error().message;
  return module;
}

/// By extra that is a constant: each device's tile.
std::vector<std::vector<compiler::ir::TensorPtr>> constants_of(const Program& program) {
  std::vector<std::vector<compiler::ir::TensorPtr>> constants(program.extras.size());
  for (size_t i = 0; i < constants.size(); i++)
    for (size_t device = 0; program.extras[i].constant && device < program.devices(); device++)
      constants[i].push_back(compiler::ir::tile_of(program.extras[i].constant, program.extras[i].tiling, device));
  return constants;
}

std::string text_of(const Program& program) {
  std::string text = fmt::format("weft: {}", program.name);
  if (program.devices() > 1) text += fmt::format(" on {} devices", program.devices());
  if (!program.gathered.empty()) text += fmt::format(", gathered because: {}", program.gathered);
  for (const auto& [kind, count] : program.replicated)
    text += fmt::format(", {} {} computed whole on each", count, kind);
  return text + "\n" + tools::parts_text(program.model);
}

}  // namespace

Result<std::shared_ptr<const Program>> compile_program(std::string code, CompileOptions options, const spec::Chip& chip,
                                                       tools::CompiledParts* known, const compiler::SliceShape* slice) {
  auto imported = compiler::stablehlo::import_program(std::as_bytes(std::span(code)));
  if (!imported.ok()) return imported.error();
  auto program = std::make_shared<Program>();
  program->options = options;
  if (options.partitions > 1) {
    auto layout = compiler::stablehlo::layout_of(std::as_bytes(std::span(code)), imported.value(),
                                                 static_cast<size_t>(options.partitions));
    if (!layout.ok()) return layout.error();
    program->layout = std::move(layout.value());
    if (auto status = check_layout(program->layout, imported.value()); !status.ok()) return status.error();
  }
  auto donations = compiler::stablehlo::donations_of(std::as_bytes(std::span(code)), imported.value());
  if (!donations.ok()) return donations.error();
  program->donations = std::move(donations.value());
  auto simplified = compiler::passes::run_all(std::move(imported.value()));
  if (!simplified.ok()) return simplified.error();
  program->name = simplified.value().name;
  for (const int64_t number : compiler::ir::callbacks_of(simplified.value())) {
    auto held = HeldCallback::hold(number);
    if (!held.ok()) return held.error();
    program->callbacks.push_back(std::move(held.value()));
  }
  std::optional<compiler::DeviceSlice> on;
  if (slice != nullptr && options.partitions > 1) on = {*slice, {options.devices.begin(), options.devices.end()}};
  auto local = localised(std::move(simplified.value()), *program, on.has_value());
  if (!program->gathered.empty()) on.reset();
  auto model = tools::compile_parts(std::move(local), chip, known, on ? &*on : nullptr);
  if (!model.ok()) return model.error();
  program->model = std::move(model.value());
  program->constants = constants_of(*program);
  for (auto& [input, output] : program->donations)
    if (output && program->input_type(input).bytes() != program->output_type(*output).bytes()) output.reset();
  if (const char* wanted = std::getenv("WEFT_JAX_LOG"); wanted != nullptr && wanted == std::string_view("parts"))
    fmt::print(stderr, "{}", text_of(*program));
  program->fingerprint = fmt::format("{:016x}", std::hash<std::string>()(code));
  program->code = std::move(code);
  program->chip = chip.name;
  if (std::ranges::any_of(program->model.launches, [](const auto& launch) { return launch.sequence.has_value(); }))
    program->slice = shape_text(*slice);
  return std::shared_ptr<const Program>(std::move(program));
}

Result<tools::PartsResult> run_program(const Program& program, std::vector<compiler::ir::TensorPtr> inputs,
                                       size_t device, runtime::Session& session, tools::SequenceLauncher* launcher) {
  for (size_t i = 0; i < program.extras.size(); i++) {
    const auto& extra = program.extras[i];
    inputs.push_back(extra.constant ? program.constants[i][device]
                                    : compiler::ir::tile_of(inputs[*extra.input], extra.tiling, device));
  }
  return tools::run_parts(program.model, inputs, &session, tools::Verify::kNo, launcher);
}

}  // namespace weft::pjrt
