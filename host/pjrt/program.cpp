// Bytecode -> L1 -> passes -> parts, and a run of the parts.
#include "host/pjrt/program.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <functional>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/partition/value_views.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/stablehlo/importer.hpp"
#include "host/tools/run/run_parts.hpp"

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
  for (const auto& part : program.model.partition.parts) {
    (part.graph ? cost.device_programs : cost.islands)++;
    if (part.graph)
      for (const uint32_t op : part.ops) device.add(work_of(module, module.ops()[op]));
  }
  cost.macs = all.macs, cost.device_macs = device.macs;
  cost.elements = all.elements, cost.device_elements = device.elements;
  return cost;
}

compiler::ir::TensorType Program::input_type(size_t i) const {
  const auto& whole = model.module.type(model.module.inputs.at(i));
  return layout.inputs.empty() ? whole : layout.inputs[i].local(whole);
}
compiler::ir::TensorType Program::output_type(size_t i) const {
  const auto& whole = model.module.type(model.module.outputs.at(i).value);
  return layout.outputs.empty() ? whole : layout.outputs[i].local(whole);
}

Result<std::shared_ptr<const Program>> compile_program(std::string code, CompileOptions options, const spec::Chip& chip,
                                                       tools::CompiledParts* known) {
  auto imported = compiler::stablehlo::import_program(std::as_bytes(std::span(code)));
  if (!imported.ok()) return imported.error();
  auto program = std::make_shared<Program>();
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
  auto model = tools::compile_parts(std::move(simplified.value()), chip, known);
  if (!model.ok()) return model.error();
  program->model = std::move(model.value());
  for (auto& [input, output] : program->donations)
    if (output && program->input_type(input).bytes() != program->output_type(*output).bytes()) output.reset();
  if (const char* wanted = std::getenv("WEFT_JAX_LOG"); wanted != nullptr && wanted == std::string_view("parts"))
    fmt::print(stderr, "weft: {}\n{}", program->name, tools::parts_text(program->model));
  program->fingerprint = fmt::format("{:016x}", std::hash<std::string>()(code));
  program->code = std::move(code);
  program->chip = chip.name;
  program->options = std::move(options);
  return std::shared_ptr<const Program>(std::move(program));
}

Result<std::vector<compiler::ir::TensorPtr>> run_program(const Program& program,
                                                         const std::vector<compiler::ir::TensorPtr>& inputs,
                                                         runtime::Session& session, tools::LaunchRecord::Call* noted) {
  auto result = tools::run_parts(program.model, inputs, &session, tools::Verify::kNo);
  if (!result.ok()) return result.error();
  // The record keeps the program as long as it needs the model.
  if (noted != nullptr)
    noted->add(program.name, session.chip(), {program.shared_from_this(), &program.model}, result.value());
  return std::move(result.value().outputs);
}

}  // namespace weft::pjrt
