// Random networks: the same ones from one seed, every operator among them, small when they fail; and a judge who sees.
#include "testbench/graphs/graph_judge.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "host/compiler/ir/text.hpp"
#include "testbench/graphs/graph_campaign.hpp"

using namespace weft;
using namespace weft::graphs;
using compiler::ir::OpKind;

namespace {

const spec::Chip& nano() { return *spec::find_chip("nano"); }

std::map<OpKind, unsigned> operators_of(const GraphPlan& plan) {
  std::map<OpKind, unsigned> found;
  const PlannedModule planned = build_module(plan);
  for (const auto& op : planned.module.ops()) found[op.kind]++;
  return found;
}

}  // namespace

TEST_CASE("a seed gives the same network each time and another seed another one") {
  const auto text = [](uint64_t seed) {
    return compiler::ir::print(build_module(draw_plan(nano(), seed)).module, 1000);
  };
  CHECK(text(3) == text(3));
  CHECK(text(3) != text(4));
}

TEST_CASE("1000 networks have every operator that the generator knows") {
  std::map<OpKind, unsigned> found;
  unsigned smooth = 0;
  for (uint64_t seed = 1; seed <= 1000; seed++) {
    const GraphPlan plan = draw_plan(nano(), seed);
    for (const auto& [kind, count] : operators_of(plan)) found[kind] += count;
    smooth += build_module(plan).smooth && !plan.special;
  }
  for (const auto kind : {OpKind::kDotGeneral,  OpKind::kConvolution, OpKind::kReduce,          OpKind::kReduceWindow,
                          OpKind::kTranspose,   OpKind::kReshape,     OpKind::kSlice,           OpKind::kPad,
                          OpKind::kConcatenate, OpKind::kReverse,     OpKind::kGather,          OpKind::kBroadcast,
                          OpKind::kCompare,     OpKind::kSelect,      OpKind::kConvert,         OpKind::kAdd,
                          OpKind::kSubtract,    OpKind::kMultiply,    OpKind::kDivide,          OpKind::kMaximum,
                          OpKind::kMinimum,     OpKind::kAbs,         OpKind::kNegate,          OpKind::kTanh,
                          OpKind::kErf,         OpKind::kLogistic,    OpKind::kExponential,     OpKind::kLog,
                          OpKind::kSqrt,        OpKind::kRsqrt,       OpKind::kLogPlusOne,      OpKind::kFloor,
                          OpKind::kCeil,        OpKind::kSign,        OpKind::kRoundNearestEven}) {
    INFO(compiler::ir::name_of(kind));
    CHECK(found[kind] >= 3);
  }
  CHECK(smooth >= 300);
}

TEST_CASE("a network that fails for one operator is shrunk to that operator with few elements") {
  uint64_t seed = 1;
  const auto has = [](const GraphPlan& plan) { return operators_of(plan)[OpKind::kConvolution] != 0; };
  while (draw_plan(nano(), seed).steps.size() < 5 || !has(draw_plan(nano(), seed))) seed++;
  const GraphPlan small = shrink_plan(draw_plan(nano(), seed), has);
  CHECK(small.steps.size() == 1);
  CHECK(small.inputs.size() == 1);
  CHECK(compiler::ir::count_of(small.inputs[0]) <= 16);
}

TEST_CASE("a network is run on a device, and all of its elements are compared") {
  const Judgement of = judge(draw_plan(nano(), 1), core::CoreKind::kFast);
  CHECK(of.wrong == "");
  CHECK(of.device_programs >= 1);
  CHECK(of.elements >= 1);
  CHECK(of.commands >= 1);
}

TEST_CASE("a mean in which all but the rounding of a product's operands cancels is compared with that rounding") {
  const Judgement of = judge(draw_plan(nano(), 5496), core::CoreKind::kFast);
  CHECK(of.wrong == "");
  CHECK(of.referenced);
}

TEST_CASE(
    "behind a convolution of each channel by itself what is left where almost everything cancels is the reference's") {
  const Judgement of = judge(draw_plan(nano(), 11165), core::CoreKind::kFast);
  CHECK(of.wrong == "");
  CHECK(of.referenced);
  CHECK(of.error < 1e-3);
}

TEST_CASE(
    "beside products of several passes an output in which almost everything cancels moves as its operators round") {
  for (const auto& [chip, seed] : {std::pair("nano", 611299u), std::pair("nano-4mxu", 721142u)}) {
    const Judgement of = judge(draw_plan(*spec::find_chip(chip), seed), core::CoreKind::kFast);
    CHECK(of.wrong == "");
    CHECK(of.referenced);
    CHECK(of.error > 0.001);
    CHECK(of.error < 0.01);
  }
}
TEST_CASE("level ci has 2000 networks and nightly 20000") {
  for (const auto& [level, wanted] : {std::pair("ci", 2000u), std::pair("nightly", 20000u)}) {
    uint64_t graphs = 0;
    for (const auto& batch : level_batches(level, 1)) graphs += batch.graphs;
    CHECK(graphs == wanted);
  }
}
