// Rounding moves what a network computes: how far, the reference itself tells.
#include "testbench/graphs/output_distance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/passes/rewriter.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "testbench/random/draw.hpp"

namespace weft::graphs {
namespace {

using compiler::ir::ElementType;
using compiler::ir::Module;
using compiler::ir::Tensor;
using compiler::ir::TensorPtr;
using compiler::ir::ValueId;

constexpr double kMostError = 0.05;    // of bf16 products behind each other; a wrong element alone is worth more
constexpr double kMostOfThree = 1e-4;  // of products of three passes of bf16; one that is left out is 1e-3
constexpr double kMostOfSix = 1e-6;    // of six; one of the smallest that is left out is 3e-6
constexpr double kTimesMoved = 2;      // of several passes, farther than nudges move it
constexpr uint64_t kNudges = 3;        // of several passes: of few elements one alone may cancel

/// Of the products that ask for one; empty: none does.
std::string precision_of(const Module& module) {
  for (const auto& op : module.ops())
    if (op.attributes.contains("precision")) return op.word("precision");
  return {};
}

enum class Operands : uint8_t { kPlain, kNudged };

constexpr double kNudgeOfBf16 = 0x1p-10;   // a quarter of the step of bf16 below a power of two, half of it above
constexpr double kNudgeOfParts = 0x1p-18;  // the same of two parts of bf16
constexpr double kNudgeOfF32 = 0x1p-22;    // about the error of a function of the vector unit

/// Whether it reads operands in bf16. Convolutions of each channel by itself are f32 (docs/numerics.md).
bool reads_bf16(const Module& module, const compiler::ir::Op& op) {
  using enum compiler::ir::OpKind;
  if (op.kind != kConvolution) return op.kind == kDotGeneral;
  const auto &image = module.type(op.operands[0]).dims, &weights = module.type(op.operands[1]).dims;
  const int64_t channels = image[1];
  if (std::ranges::any_of(op.list("lhs_dilation"), [](int64_t by) { return by != 1; })) return true;
  return channels == 1 || op.integer("groups") != channels || weights[0] != channels;
}

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
/// Beside products of several passes, operators are as far off as the device's may be, instead, at random by `seed`.
Module with_rounded_operands(const Module& module, Operands operands, uint64_t seed = 0) {
  compiler::passes::Rewriter rewriter(module);
  compiler::ir::Builder build(rewriter.to());
  const bool precise = !precision_of(module).empty();
  for (const auto& op : module.ops()) {
    auto mapped = rewriter.mapped(op);
    const bool in_parts = op.attributes.contains("precision"), nudged = operands == Operands::kNudged;
    for (auto& operand : mapped.operands) {
      if (build.element(operand) != ElementType::kF32) continue;
      if (reads_bf16(module, op) && !in_parts) {
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

/// How far an output of the reference moves, as a sum of squares, if a part of what products read is rounded to the
/// next bf16. The golden arithmetic adds in another order than the reference, so a value that lies between two bf16 can
/// go to the other one, and an output in which almost everything cancels is made of that.
double moved_by_rounding(const Module& planned, const std::vector<TensorPtr>& inputs, size_t output,
                         const Tensor& should) {
  double far = 0;
  for (uint64_t nudge = 0; nudge < (precision_of(planned).empty() ? 1 : kNudges); nudge++) {
    const auto module = with_rounded_operands(planned, Operands::kNudged, nudge * planned.ops().size() * 4);
    const auto moved = compiler::reference::evaluate(module, inputs);
    if (moved.ok()) far = std::max(far, distance(*moved.value()[output], should).far);
  }
  return far;
}

}  // namespace

OutputVerdict compare_outputs(const Module& planned, const std::vector<TensorPtr>& inputs,
                              const std::vector<TensorPtr>& outputs) {
  OutputVerdict verdict;
  const auto expected = compiler::reference::evaluate(with_rounded_operands(planned, Operands::kPlain), inputs);
  if (!expected.ok()) {
    verdict.wrong = "reference: " + expected.error().message;
    return verdict;
  }
  const std::string precision = precision_of(planned);
  const double most = precision.empty() ? kMostError : precision == "high" ? kMostOfThree : kMostOfSix;
  const double times = precision.empty() ? 1 : kTimesMoved * kTimesMoved;  // of squares
  for (size_t o = 0; o < planned.outputs.size(); o++) {
    const Tensor &is = *outputs[o], &should = *expected.value()[o];
    if (is.type != should.type || should.type.count() == 0) {
      verdict.wrong =
          fmt::format("{} is {}, and {} in the reference", planned.outputs[o].name, is.type.text(), should.type.text());
      return verdict;
    }
    const auto [far, size] = distance(is, should);
    const double error = std::sqrt(far / std::max(size, 1e-6));
    verdict.outputs++;
    if (!(error <= most) && !(far <= times * moved_by_rounding(planned, inputs, o, should))) {
      verdict.wrong = fmt::format("{} is {:.1e} of its size from the reference", planned.outputs[o].name, error);
      return verdict;
    }
    verdict.error = std::max(verdict.error, error);
  }
  return verdict;
}

}  // namespace weft::graphs
