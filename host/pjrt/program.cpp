// Bytecode -> L1 -> passes -> parts, and a run of the parts.
#include "host/pjrt/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/stablehlo/importer.hpp"
#include "host/tools/run/run_parts.hpp"

namespace weft::pjrt {
namespace {

using compiler::Part;
using compiler::ir::Module;
using compiler::ir::OpKind;

/// Whether a device program rounds nothing to bf16 but operands of products. Its inputs and what goes from node to node
/// are bf16: right for what a product reads, wrong for a sum.
bool rounds_only_products(const Module& module, const Part& part) {
  const std::set<uint32_t> own(part.ops.begin(), part.ops.end());
  for (const uint32_t i : part.ops) {
    const auto& op = module.ops()[i];
    if (op.kind != OpKind::kAdd && op.kind != OpKind::kMaximum) continue;
    for (const auto operand : op.operands) {
      const auto& from = module.op_of(operand);
      const bool constant = from.constant != nullptr ||
                            (from.kind == OpKind::kBroadcast && module.op_of(from.operands[0]).constant != nullptr);
      // A bias or a relu joins the product before it, in f32.
      const bool joins = from.kind == OpKind::kDotGeneral || (op.kind == OpKind::kMaximum && from.kind == OpKind::kAdd);
      if (!constant && !(joins && own.contains(module.value(operand).op))) return false;
    }
  }
  return true;
}

uint64_t macs_of(const Module& module) {
  uint64_t macs = 0;
  for (const auto& op : module.ops()) {
    for (const auto& region : op.regions) macs += macs_of(*region);
    if (op.kind != OpKind::kDotGeneral && op.kind != OpKind::kConvolution) continue;
    // Each element of a result is a sum over what the second operand has and the result has not.
    const auto &first = module.type(op.operands[0]), &second = module.type(op.operands[1]);
    const uint64_t results = module.type(op.results[0]).count();
    uint64_t depth = 1;
    if (op.kind == OpKind::kConvolution && second.dims[0] != 0)
      depth = second.count() / static_cast<uint64_t>(second.dims[0]);
    else if (op.kind == OpKind::kDotGeneral)
      for (const int64_t d : op.list("lhs_contract"))
        depth *= static_cast<uint64_t>(first.dims[static_cast<size_t>(d)]);
    macs += results * depth;
  }
  return macs;
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
  Cost cost;
  cost.macs = macs_of(program.model.module);
  for (size_t i = 0; i < program.model.partition.parts.size(); i++) {
    (program.model.partition.parts[i].graph ? cost.device_programs : cost.islands)++;
    cost.device_macs += program.model.programs[i].macs;
  }
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

Result<std::shared_ptr<const Program>> compile_program(std::string code, CompileOptions options,
                                                       const spec::Chip& chip) {
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
  auto simplified = compiler::passes::run_all(std::move(imported.value()));
  if (!simplified.ok()) return simplified.error();
  program->name = simplified.value().name;
  auto model = tools::compile_parts(std::move(simplified.value()), chip, rounds_only_products);
  if (!model.ok()) return model.error();
  program->model = std::move(model.value());
  program->fingerprint = fmt::format("{:016x}", std::hash<std::string>()(code));
  program->code = std::move(code);
  program->options = std::move(options);
  return std::shared_ptr<const Program>(std::move(program));
}

Result<std::vector<compiler::ir::TensorPtr>> run_program(const Program& program,
                                                         const std::vector<compiler::ir::TensorPtr>& inputs,
                                                         runtime::Session& session) {
  auto result = tools::run_parts(program.model, inputs, &session, tools::Verify::kNo);
  if (!result.ok()) return result.error();
  return std::move(result.value().outputs);
}

}  // namespace weft::pjrt
