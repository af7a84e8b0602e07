// From a plan to a verdict.
#include "testbench/graphs/graph_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/partition/partition.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/reference/graph_reference.hpp"
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

constexpr double kMostError = 0.05;     // of bf16 products behind each other; a wrong element alone is worth more
constexpr double kMostPrecise = 1e-3;   // of products of three or six passes of bf16
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

enum class Operands : uint8_t { kPlain, kNudged };

constexpr double kNudgeOfBf16 = 0x1p-10;   // a quarter of the step of bf16 below a power of two, half of it above
constexpr double kNudgeOfParts = 0x1p-18;  // the same of two parts of bf16
constexpr double kNudgeOfF32 = 0x1p-22;    // about the error of a function of the vector unit

/// A value times 1 + `by` or 1 - `by`, element by element.
ValueId jittered(compiler::ir::Builder& build, ValueId value, double by, uint64_t seed) {
  random::Draw draw(seed);
  auto factors = std::make_shared<Tensor>(build.type(value));
  for (uint64_t i = 0; i < factors->type.count(); i++)
    factors->as<float>()[i] = static_cast<float>(draw.once_in(2) ? 1 + by : 1 - by);
  return build.times(value, build.constant(factors));
}

/// The module with what products of one pass read in f32 rounded to bf16, as docs/numerics.md has it; perhaps with a
/// little more before that. Where terms cancel, as in a mean over a product's rows, rounding can be all that is left.
/// Beside products of several passes, operators are as far off as the device's may be, instead.
Module with_rounded_operands(const Module& module, Operands operands) {
  compiler::passes::Rewriter rewriter(module);
  compiler::ir::Builder build(rewriter.to());
  const auto is_product = [](const compiler::ir::Op& op) {
    return op.kind == compiler::ir::OpKind::kDotGeneral || op.kind == compiler::ir::OpKind::kConvolution;
  };
  const bool precise =
      std::ranges::any_of(module.ops(), [](const auto& op) { return op.attributes.contains("precision"); });
  uint64_t seed = 0;
  for (const auto& op : module.ops()) {
    auto mapped = rewriter.mapped(op);
    const bool in_parts = op.attributes.contains("precision"), nudged = operands == Operands::kNudged;
    for (auto& operand : mapped.operands) {
      if (build.element(operand) != ElementType::kF32) continue;
      if (is_product(op) && !in_parts) {
        if (nudged) operand = build.times(operand, 1 + kNudgeOfBf16);
        operand = build.convert(build.convert(operand, ElementType::kBf16), ElementType::kF32);
      } else if (nudged && precise) {
        const bool high = in_parts && op.word("precision") == "high";
        operand = jittered(build, operand, high ? kNudgeOfParts : kNudgeOfF32, seed++);
      }
    }
    rewriter.add(op, std::move(mapped));
  }
  return rewriter.finish();
}

/// Sums of squares of how far one tensor is from another of its type, and of the other's finite elements.
struct Distance {
  double far = 0, size = 0;
};
Distance distance(const Tensor& is, const Tensor& should) {
  Distance of;
  for (uint64_t i = 0; i < should.type.count(); i++) {
    const double a = is.number(i), b = should.number(i);
    if (std::isfinite(b)) of.size += b * b;
    // The largest of a window that lies over padding alone is an infinity.
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    of.far += (a - b) * (a - b);
  }
  return of;
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
    const auto expected = compiler::reference::evaluate(with_rounded_operands(planned, Operands::kPlain), inputs);
    if (!expected.ok()) return "reference: " + expected.error().message;
    for (size_t o = 0; o < planned.outputs.size(); o++) {
      const Tensor &is = *environment.at(module.outputs[o].value), &should = *expected.value()[o];
      if (is.type != should.type || should.type.count() == 0)
        return fmt::format("{} is {}, and {} in the reference", planned.outputs[o].name, is.type.text(),
                           should.type.text());
      const auto [far, size] = distance(is, should);
      const double error = std::sqrt(far / std::max(size, 1e-6));
      judgement_.referenced = true;
      if (!(error <= (plan_.precision.empty() ? kMostError : kMostPrecise)) &&
          !(far <= moved_by_rounding(planned, inputs, o, should)))
        return fmt::format("{} is {:.3f} of its size from the reference", planned.outputs[o].name, error);
      judgement_.error = std::max(judgement_.error, error);
    }
    return {};
  }

  /// How far an output of the reference moves, as a sum of squares, if a part of what products read is rounded to the
  /// next bf16. The golden arithmetic adds in another order than the reference, so a value that lies between two bf16 can
  /// go to the other one, and an output in which almost everything cancels is made of that.
  static double moved_by_rounding(const Module& planned, const std::vector<TensorPtr>& inputs, size_t output,
                                  const Tensor& should) {
    const auto moved = compiler::reference::evaluate(with_rounded_operands(planned, Operands::kNudged), inputs);
    return moved.ok() ? distance(*moved.value()[output], should).far : 0;
  }

  GraphPlan plan_;
  const core::CoreKind kind_;
  bool too_large_ = false;
  Judgement judgement_;
};

}  // namespace

Judgement judge(const GraphPlan& plan, core::CoreKind kind) { return Judging(plan, kind).run(); }

}  // namespace weft::graphs
