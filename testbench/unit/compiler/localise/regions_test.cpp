// Loops and branches of parts: what goes from turn to turn lies as it begins, or as a turn leaves it.
#include <catch2/catch.hpp>

#include "testbench/unit/compiler/localise/local_run.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::compiler::localise;
using ir::Builder;
using ir::ValueId;

namespace {

const TestMesh kMesh{{2, 2}};
const ir::TensorType kRows{ir::ElementType::kI32, {4, 6}}, kCount{ir::ElementType::kI32, {}};

/// sum = sum + x, five times; it begins with zeros.
ir::Module sums() {
  ir::Module module;
  const ValueId x = module.add_parameter("x", kRows);
  Builder b(module);
  auto goes_on = std::make_shared<ir::Module>(), turn = std::make_shared<ir::Module>();
  for (const auto& region : {goes_on, turn}) {
    region->add_parameter("0", kCount);
    region->add_parameter("1", kRows);
    region->add_parameter("2", kRows);
  }
  Builder condition(*goes_on), body(*turn);
  goes_on->outputs.push_back({"0", condition.compare("lt", goes_on->inputs[0], condition.scalar(kCount.element, 5))});
  turn->outputs.push_back({"0", body.plus(turn->inputs[0], 1.0)});
  turn->outputs.push_back({"1", body.plus(turn->inputs[1], turn->inputs[2])});
  module.outputs.push_back(
      {"y", b.add_with_regions(ir::OpKind::kWhile, {b.scalar(kCount.element, 0), b.fill(kRows, 0), x},
                               {{"carried", int64_t{2}}}, {goes_on, turn})[1]});
  return module;
}

}  // namespace

TEST_CASE("a sum that begins with zeros lies as what is added to it, and takes no collective") {
  const ir::Module module = sums();
  const std::vector<ir::Tiling> lying{kMesh.tiling({{0}, {1}})};
  const auto local = localise::localise(module, lying, lying, 4);
  if (!local.ok()) FAIL(local.error().message);
  CHECK(ir::verify(local.value().module).ok());
  CHECK(collectives_in(local.value().module) == 0);
  CHECK(local.value().replicated.empty());
  size_t loops = 0;
  for (const auto& op : local.value().module.ops())
    if (op.kind == ir::OpKind::kWhile) {
      loops++;
      CHECK(collectives_in(*op.regions[1]) == 0);
      CHECK(op.regions[1]->type(op.regions[1]->inputs[1]).dims == ir::Dims{2, 3});
    }
  CHECK(loops == 1);
  auto x = std::make_shared<ir::Tensor>(kRows);
  for (int i = 0; i < 24; i++) x->as<int32_t>()[i] = i * i;
  const auto made = run_local(local.value(), {x}, lying, lying, 4);
  for (int i = 0; i < 24; i++) CHECK(made[0]->as<int32_t>()[i] == 5 * i * i);
}

TEST_CASE("a loop of whole values is as it was") {
  const auto local = localise::localise(sums(), {kMesh.tiling({{}, {}})}, {kMesh.tiling({{}, {}})}, 4);
  if (!local.ok()) FAIL(local.error().message);
  CHECK(local.value().replicated.empty());
  CHECK(local.value().extras.empty());
}
