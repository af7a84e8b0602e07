// From a plan to a verdict.
#include "testbench/graphs/graph_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/partition/partition.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/reference/graph_reference.hpp"
#include "testbench/graphs/output_distance.hpp"
#include "testbench/random/compiled_program.hpp"
#include "testbench/random/draw.hpp"
#include "testbench/random/program_runner.hpp"
#include "testbench/unit/compiler/unrolled_kernel.hpp"

namespace weft::graphs {
namespace {

using compiler::Graph;
using compiler::Part;
using compiler::ir::ElementType;
using compiler::ir::Module;
using compiler::ir::Tensor;
using compiler::ir::TensorPtr;
using compiler::ir::ValueId;
using compiler::reference::Environment;

constexpr size_t kMostCommands = 2000;  // of a program: the hazard checker's time grows with their cube

/// Of a device program, what the graph calls f32: i32 as its bits, pred as 0 and 1.
std::vector<float> as_floats(const Tensor& tensor) {
  std::vector<float> values(tensor.type.count());
  if (tensor.type.element == ElementType::kPred)
    for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(tensor.number(i));
  else
    std::memcpy(values.data(), tensor.data.data(), values.size() * 4);
  return values;
}
TensorPtr as_tensor(const compiler::ir::TensorType& type, const std::vector<float>& values) {
  auto tensor = std::make_shared<Tensor>(type);
  for (size_t i = 0; type.element == ElementType::kPred && i < values.size(); i++)
    tensor->as<bool>()[i] = values[i] != 0;
  if (type.element != ElementType::kPred) std::memcpy(tensor->data.data(), values.data(), tensor->data.size());
  return tensor;
}

/// Rows as they lie in an argument, without what lies between them.
void add_rows(std::vector<random::HbmBytes>& pieces, uint64_t address, const std::vector<std::byte>& packed,
              uint64_t rows, uint64_t row_bytes) {
  const uint64_t pitch = packed.size() / rows;
  for (uint64_t r = 0; r < rows; r++) {
    const auto first = packed.begin() + static_cast<ptrdiff_t>(r * pitch);
    pieces.push_back({address + r * pitch, {first, first + static_cast<ptrdiff_t>(row_bytes)}});
  }
}

class Judging {
 public:
  Judging(const GraphPlan& plan, core::CoreKind kind) : plan_(plan), kind_(kind) {}

  Judgement run() {
    for (;;) {
      judgement_ = {}, too_large_ = false;
      try {
        judgement_.wrong = judge_all();
      } catch (const compiler::ir::Refusal& refusal) {
        judgement_.wrong = "refused: " + refusal.error.message;
      }
      if (!too_large_ || plan_.most_elements == 1) return judgement_;
      plan_ = halved(plan_);
    }
  }

 private:
  /// The same with half as large inputs and values.
  static GraphPlan halved(GraphPlan plan) {
    plan.most_elements /= 2;
    for (auto& dims : plan.inputs) {
      const auto largest = std::ranges::max_element(dims);
      *largest = (*largest + 1) / 2;
    }
    return plan;
  }

  std::string judge_all() {
    PlannedModule planned = build_module(plan_);
    const auto inputs = draw_inputs(planned.module);
    const auto passed = compiler::passes::run_all(planned.module);
    if (!passed.ok()) return "passes: " + passed.error().message;
    const Module& module = passed.value();
    Environment environment;
    for (size_t i = 0; i < inputs.size(); i++) environment[module.inputs[i]] = inputs[i];
    if (auto wrong = run_parts(module, environment); !wrong.empty()) return wrong;
    return planned.smooth && !plan_.special ? compare_with_reference(planned.module, module, inputs, environment) : "";
  }

  /// Half of them bf16 values; of special ones an eighth is at the ends of f32 or beyond.
  std::vector<TensorPtr> draw_inputs(const Module& module) const {
    random::Draw draw(plan_.data_seed);
    constexpr uint32_t kSpecial[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
                                     0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f800000};
    std::vector<TensorPtr> tensors;
    for (const ValueId input : module.inputs) {
      auto tensor = std::make_shared<Tensor>(module.type(input));
      for (uint64_t i = 0; i < tensor->type.count(); i++) {
        const bool coarse = draw.once_in(2);
        const auto steps = static_cast<float>(draw.below(coarse ? 257 : 1u << 20));
        tensor->as<float>()[i] = steps / (coarse ? 64.0f : 262144.0f) - 2;
        if (plan_.special && draw.once_in(8))
          std::memcpy(&tensor->as<float>()[i], &kSpecial[draw.below(std::size(kSpecial))], 4);
      }
      tensors.push_back(tensor);
    }
    return tensors;
  }

  std::string run_parts(const Module& module, Environment& environment) {
    if (const auto graph = compiler::whole_device_graph(module); graph.ok()) {
      std::vector<ValueId> outputs;
      for (const auto& output : module.outputs) outputs.push_back(output.value);
      return run_graph(module, graph.value(), module.inputs, outputs, compiler::Arguments::kEach, environment);
    }
    const auto parts = compiler::partition(module, compiler::Device::kUsed);
    if (!parts.ok()) return "partition: " + parts.error().message;
    std::vector<ValueId> kept;
    for (const auto& output : module.outputs) kept.push_back(output.value);
    for (const Part& part : parts.value().parts) kept.insert(kept.end(), part.inputs.begin(), part.inputs.end());
    for (const Part& part : parts.value().parts) {
      std::string wrong;
      if (part.graph)
        wrong = run_graph(module, *part.graph, part.inputs, part.outputs, compiler::Arguments::kOne, environment);
      else
        judgement_.islands++, compiler::reference::evaluate_ops(module, part.ops, environment, kept);
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

  std::string run_graph(const Module& module, const Graph& graph, const std::vector<ValueId>& inputs,
                        const std::vector<ValueId>& outputs, compiler::Arguments arguments, Environment& environment) {
    const auto program = compiler::lower(*plan_.chip, graph, arguments);
    if (!program.ok()) return "lower: " + program.error().message;
    const auto loops = plan_.layers != 0 ? compiler::tiles::Loops::kAlways : compiler::tiles::Loops::kNever;
    auto kernel = plan_.spill ? compiler::tiles::compile_spilled(*plan_.chip, program.value())
                              : compiler::tiles::compile_fitting(*plan_.chip, program.value(), loops);
    if (!kernel.ok() && plan_.spill) kernel = compiler::tiles::compile_fitting(*plan_.chip, program.value());
    // Layers can come to more commands than are ordered, and to copies of values each of which may take half of VMEM.
    const bool fills_half = 2 * plan_.most_elements * 2 * plan_.chip->word_bytes >= plan_.chip->vmem_bytes;
    too_large_ = !kernel.ok() && plan_.layers != 0 &&
                 (kernel.error().code == WEFT_ERROR_UNSUPPORTED ||
                  (kernel.error().code == WEFT_ERROR_NO_DEVICE_MEMORY && fills_half));
    if (!kernel.ok()) return "compile: " + kernel.error().message;
    judgement_.loops += !kernel.value().control.entries.empty();
    auto run = random::program_of(*plan_.chip, test::unrolled(kernel.value()));
    if (!run) return "the compiled commands hang";
    if (run->commands.size() > kMostCommands) {
      too_large_ = true;
      return fmt::format("{} commands: too large", run->commands.size());
    }
    std::vector<std::vector<float>> values;
    for (const ValueId input : inputs) values.push_back(as_floats(*environment.at(input)));
    const auto golden = tools::evaluate_golden(graph, values);
    lay_out(*run, kernel.value(), program.value(), graph, values, golden);
    const auto verdict = random::run_program(*run, kind_);
    judgement_.device_programs++, judgement_.commands += verdict.commands, judgement_.cycles += verdict.cycles;
    for (size_t i = 0; i < outputs.size(); i++) {
      if (golden[i].size() != module.type(outputs[i]).count()) return "the graph's output has another size";
      environment[outputs[i]] = as_tensor(module.type(outputs[i]), golden[i]);
      judgement_.elements += golden[i].size();
    }
    return verdict.passed ? "" : verdict.report;
  }

  /// Constants and arguments to HBM, and what the results must be.
  void lay_out(random::Program& run, const compiler::Kernel& kernel, const compiler::Program& program,
               const Graph& graph, const std::vector<std::vector<float>>& inputs,
               const std::vector<std::vector<float>>& golden) const {
    run.seed = plan_.seed, run.data_seed = plan_.data_seed, run.stall_percent = plan_.stall_percent;
    run.jitter = plan_.jitter, run.prefetch = plan_.prefetch;
    run.contents.push_back({run.segments[1].base, kernel.constants});
    for (size_t i = 0; i < program.places.size(); i++) {
      const auto& place = program.places[i];
      const bool in = i < graph.inputs.size();
      const auto& tensor = graph.tensors[in ? graph.inputs[i] : graph.outputs[i - graph.inputs.size()]];
      const uint64_t address = run.segments[3 + place.argument].base + place.offset_bytes;
      if (in) {
        run.contents.push_back({address, compiler::pack_rows_as(inputs[i], tensor.rows, tensor.columns, tensor.dtype)});
        continue;
      }
      const auto dtype = tensor.dtype == WEFT_VPU_DTYPE_I32 ? WEFT_VPU_DTYPE_I32 : WEFT_VPU_DTYPE_F32;
      const auto packed = compiler::pack_rows_as(golden[i - graph.inputs.size()], tensor.rows, tensor.columns, dtype);
      add_rows(run.results, address, packed, tensor.rows, tensor.columns * 4);
    }
  }

  std::string compare_with_reference(const Module& planned, const Module& module, const std::vector<TensorPtr>& inputs,
                                     const Environment& environment) {
    std::vector<TensorPtr> is;
    for (const auto& output : module.outputs) is.push_back(environment.at(output.value));
    auto verdict = compare_outputs(planned, inputs, is);
    judgement_.referenced = verdict.outputs != 0;
    judgement_.error = std::max(judgement_.error, verdict.error);
    return std::move(verdict.wrong);
  }

  GraphPlan plan_;
  const core::CoreKind kind_;
  bool too_large_ = false;
  Judgement judgement_;
};

}  // namespace

Judgement judge(const GraphPlan& plan, core::CoreKind kind) { return Judging(plan, kind).run(); }

}  // namespace weft::graphs
