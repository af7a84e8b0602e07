// A pass of a product that is left out is seen, and rounding is not.
#include "testbench/graphs/output_distance.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/ir/text.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "testbench/random/draw.hpp"

using namespace weft;
using namespace weft::graphs;
using compiler::ir::Module;
using compiler::ir::OpKind;
using compiler::ir::Tensor;
using compiler::ir::TensorPtr;

namespace {

constexpr int kNone = -1;

/// The module in passes of bf16, without product `lost`.
Module in_passes(const Module& planned, int lost) {
  const Module module = compiler::passes::split_products(planned);
  compiler::passes::Rewriter rewriter(module);
  compiler::ir::Builder build(rewriter.to());
  int product = 0;
  for (const auto& op : module.ops()) {
    auto mapped = rewriter.mapped(op);
    const bool gone = op.kind == OpKind::kDotGeneral && product++ == lost;
    if (gone)
      rewriter.replace(op, build.fill(module.type(op.results[0]), 0));
    else
      rewriter.add(op, std::move(mapped));
  }
  return rewriter.finish();
}

/// Numbers of [-2, 2) for each input.
std::vector<TensorPtr> drawn_inputs(const Module& planned, uint64_t seed) {
  random::Draw draw(seed);
  std::vector<TensorPtr> inputs;
  for (const auto input : planned.inputs) {
    auto tensor = std::make_shared<Tensor>(planned.type(input));
    for (uint64_t i = 0; i < tensor->type.count(); i++)
      tensor->as<float>()[i] = static_cast<float>(draw.below(1u << 20)) / 262144.0f - 2;
    inputs.push_back(tensor);
  }
  return inputs;
}

/// What is wrong with a square product, and an exponential of it, if one of its passes is lost.
std::string wrong(const std::string& precision, int lost, uint64_t seed) {
  const auto planned = compiler::ir::parse(fmt::format(
      "module \"m\"\n"
      "%0 = parameter() {{dims = [24, 24], element = f32, name = \"x\"}} : f32[24, 24]\n"
      "%1 = parameter() {{dims = [24, 24], element = f32, name = \"w\"}} : f32[24, 24]\n"
      "%2 = tanh(%1) : f32[24, 24]\n"
      "%3 = dot_general(%0, %2) {{lhs_batch = [], lhs_contract = [1], precision = {}, rhs_batch = [], rhs_contract = "
      "[0]}} : f32[24, 24]\n"
      "%4 = logistic(%3) : f32[24, 24]\n"
      "return \"y\" = %4\n",
      precision));
  if (!planned.ok()) FAIL(planned.error().message);
  const auto inputs = drawn_inputs(planned.value(), seed);
  const auto is = compiler::reference::evaluate(in_passes(planned.value(), lost), inputs);
  if (!is.ok()) FAIL(is.error().message);
  const auto verdict = compare_outputs(planned.value(), inputs, is.value());
  CHECK(verdict.outputs == 1);
  return verdict.wrong;
}

}  // namespace

TEST_CASE("each pass of a product that is left out is seen and its rounding is not") {
  for (uint64_t seed = 1; seed <= 10; seed++) {
    INFO("seed " << seed);
    CHECK(wrong("high", kNone, seed).empty());
    for (int lost = 0; lost < 3; lost++) CHECK(wrong("high", lost, seed).ends_with("of its size from the reference"));
    CHECK(wrong("highest", kNone, seed).empty());
    for (int lost = 0; lost < 6; lost++)
      CHECK(wrong("highest", lost, seed).ends_with("of its size from the reference"));
  }
}

TEST_CASE("a convolution of each channel by itself is compared in f32 and another one with operands of bf16") {
  for (const int groups : {4, 1}) {
    const auto planned = compiler::ir::parse(fmt::format(
        "module \"m\"\n"
        "%0 = parameter() {{dims = [1, 4, 6, 6], element = f32, name = \"x\"}} : f32[1, 4, 6, 6]\n"
        "%1 = parameter() {{dims = [4, {0}, 3, 3], element = f32, name = \"w\"}} : f32[4, {0}, 3, 3]\n"
        "%2 = convolution(%0, %1) {{groups = {1}, high = [0, 0], lhs_dilation = [1, 1], low = [0, 0], rhs_dilation = "
        "[1, 1], strides = [1, 1]}} : f32[1, 4, 4, 4]\n"
        "return \"y\" = %2\n",
        4 / groups, groups));
    if (!planned.ok()) FAIL(planned.error().message);
    const auto inputs = drawn_inputs(planned.value(), 1);
    const auto is = compiler::reference::evaluate(planned.value(), inputs);
    if (!is.ok()) FAIL(is.error().message);
    const auto verdict = compare_outputs(planned.value(), inputs, is.value());
    INFO("groups " << groups << ", error " << verdict.error);
    CHECK(verdict.wrong.empty());
    CHECK((verdict.error == 0) == (groups == 4));
  }
}
