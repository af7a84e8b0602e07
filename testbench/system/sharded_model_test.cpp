// Any network on slices: a transformer block in several shardings, and products whose sums are in parts.
#include "host/tools/run/sharded_model.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/reference/graph_reference.hpp"

using namespace weft;
using namespace weft::compiler;
using ir::Dims;
using ir::ElementType;
using ir::ValueId;

namespace {

constexpr MeshAxes kX{true, false, false}, kY{false, true, false}, kXY{true, true, false};
constexpr uint64_t kSeed = 11;

ir::TensorPtr draw(const Dims& dims, double scale, std::mt19937_64& random) {
  auto tensor = std::make_shared<ir::Tensor>(ir::TensorType{ElementType::kF32, dims});
  std::normal_distribution<float> normal;
  for (uint64_t i = 0; i < tensor->type.count(); i++)
    tensor->as<float>()[i] = normal(random) * static_cast<float>(scale);
  return tensor;
}

/// x [batch, 16, 32] through attention of two heads and two layers, with residuals.
ir::Module block(int64_t batch) {
  constexpr int64_t kLength = 16, kWidth = 32, kHeads = 2, kHead = kWidth / kHeads;
  std::mt19937_64 random(kSeed);
  ir::Module module;
  const ValueId x = module.add_parameter("x", {ElementType::kF32, {batch, kLength, kWidth}});
  module.inputs = {x};
  ir::Builder b(module);
  const auto dense = [&](ValueId a, int64_t in, int64_t out) {
    return b.dot(a, b.constant(draw({in, out}, 1 / std::sqrt(in), random)), {}, {}, {2}, {0}, ElementType::kF32);
  };
  const auto heads = [&](ValueId a) {
    return b.transpose(b.reshape(a, {batch, kLength, kHeads, kHead}), {0, 2, 1, 3});
  };
  const ValueId q = heads(dense(x, kWidth, kWidth)), k = heads(dense(x, kWidth, kWidth)),
                v = heads(dense(x, kWidth, kWidth));
  const ValueId scores = b.times(b.dot(q, k, {0, 1}, {0, 1}, {3}, {3}, ElementType::kF32), 0.25);
  const Dims all{batch, kHeads, kLength, kLength};
  const auto along = [&](const char* kind, ValueId a) {
    return b.broadcast_in(b.reduce(kind, a, {3}, ir::Builder::Keep::kNo), all, {0, 1, 2});
  };
  const ValueId e = b.exp(b.minus(scores, along("maximum", scores)));
  const ValueId mixed = b.dot(b.over(e, along("add", e)), v, {0, 1}, {0, 1}, {3}, {2}, ElementType::kF32);
  const ValueId joined = b.reshape(b.transpose(mixed, {0, 2, 1, 3}), {batch, kLength, kWidth});
  const ValueId y = b.plus(x, dense(joined, kWidth, kWidth));
  const ValueId up = b.max(dense(y, kWidth, 2 * kWidth), b.fill({ElementType::kF32, {batch, kLength, 2 * kWidth}}, 0));
  module.outputs.push_back({"y", b.plus(y, dense(up, 2 * kWidth, kWidth))});
  auto simplified = passes::run_all(std::move(module));
  if (!simplified.ok()) FAIL(simplified.error().message);
  return std::move(simplified.value());
}

/// x [rows, 64] through three products by constants, relu between them.
ir::Module layers(int64_t rows) {
  std::mt19937_64 random(kSeed);
  ir::Module module;
  ValueId x = module.add_parameter("x", {ElementType::kF32, {rows, 64}});
  module.inputs = {x};
  ir::Builder b(module);
  for (const auto& [in, out] : {std::pair<int64_t, int64_t>{64, 96}, {96, 32}, {32, 64}}) {
    x = b.dot(x, b.constant(draw({in, out}, 1 / std::sqrt(in), random)), {}, {}, {1}, {0}, ElementType::kF32);
    x = b.max(x, b.fill({ElementType::kF32, {rows, out}}, 0));
  }
  module.outputs.push_back({"y", x});
  auto simplified = passes::run_all(std::move(module));
  if (!simplified.ok()) FAIL(simplified.error().message);
  return std::move(simplified.value());
}

struct Run {
  std::vector<float> made, golden, whole;  ///< whole: golden with sums in one part
  bool one_launch = false;
  size_t launches = 0, collectives = 0;
};

enum class Way : uint8_t { kOneLaunch, kParts };
constexpr std::array kWays{Way::kOneLaunch, Way::kParts};

/// What the slice makes, and what golden arithmetic makes of the whole network, with sums of products in `parts` parts.
Run run(const std::string& slice, const ir::Module& module, const Sharding& sharding, unsigned parts,
        Way way = Way::kOneLaunch) {
  auto session = runtime::SliceSession::open(slice);
  REQUIRE(session.ok());
  const auto model = (way == Way::kParts ? tools::compile_sharded_parts : tools::compile_sharded_model)(
      module, session.value().chip(), session.value().shape(), sharding);
  if (!model.ok()) FAIL(model.error().message);
  std::mt19937_64 random(kSeed + 1);
  const auto x = draw(module.type(module.inputs[0]).dims, 1, random);
  const auto result = tools::run_sharded_model(model.value(), {x}, session.value());
  if (!result.ok()) FAIL(result.error().message);
  const auto graph = whole_device_graph(module);
  REQUIRE(graph.ok());
  const std::vector<std::vector<float>> inputs{{x->as<float>(), x->as<float>() + x->type.count()}};
  Run run;
  run.golden = parts == 1 ? tools::evaluate_golden(graph.value(), inputs)[0]
                          : tools::evaluate_golden_in_parts(graph.value(), inputs, parts)[0];
  run.whole = tools::evaluate_golden(graph.value(), inputs)[0];
  const auto& y = result.value().outputs.at(0);
  run.made.assign(y->as<float>(), y->as<float>() + y->type.count());
  run.one_launch = model.value().programs.has_value();
  run.launches = model.value().model.launches.size();
  for (const auto& part : model.value().model.partition.parts) run.collectives += part.collective ? 1 : 0;
  CHECK(model.value().replicated.empty());
  CHECK(result.value().device_cycles != 0);
  return run;
}

size_t differing(const Run& run) {
  REQUIRE(run.made.size() == run.golden.size());
  size_t count = 0;
  for (size_t i = 0; i < run.made.size(); i++)
    count += std::memcmp(&run.made[i], &run.golden[i], sizeof(float)) == 0 ? 0 : 1;
  return count;
}

}  // namespace

TEST_CASE("a transformer block in parts of its batch and columns of its weights gives what one chip gives") {
  const auto module = block(4);
  for (const Way way : kWays)
    for (const Sharding& sharding :
         {Sharding{.batch = kX}, Sharding{.batch = kXY}, Sharding{.n = kX}, Sharding{.batch = kY, .n = kX}}) {
      const Run made = run("sim:nano-2x2", module, sharding, 1, way);
      CHECK(differing(made) == 0);
      CHECK(made.one_launch == (way == Way::kOneLaunch));
      if (way == Way::kOneLaunch) continue;
      CHECK(made.launches == 1);
      CHECK((made.collectives == 0) == (sharding.n == MeshAxes{}));
    }
}

TEST_CASE("sums of products in two parts are in the documented order") {
  const auto module = layers(8);
  for (const Way way : kWays)
    for (const Sharding& sharding : {Sharding{.k = kX}, Sharding{.batch = kY, .k = kX}, Sharding{.k = kY, .n = kX}}) {
      const Run made = run("sim:nano-2x2", module, sharding, 2, way);
      CHECK(differing(made) == 0);
      CHECK((way == Way::kOneLaunch || made.collectives >= 3));
      CHECK(made.golden != made.whole);
    }
}

TEST_CASE("a transformer block in parts on RTL cores") {
  for (const Way way : kWays) {
    const Run made = run("sim:nano-2x2?core=rtl", block(2), {.batch = kY, .n = kX}, 1, way);
    CHECK(differing(made) == 0);
  }
}

TEST_CASE("a batch that chips do not share evenly, and an axis that cuts two things, are refused") {
  const SliceShape shape{{2, 2, 1}, {}, 0};
  const auto& chip = *spec::find_chip("nano");
  CHECK(tools::compile_sharded_model(layers(31), chip, shape, {.batch = kX}).error().message ==
        "a batch of 31 rows over 2 chips: each has as many as the others");
  CHECK_FALSE(tools::compile_sharded_model(layers(32), chip, shape, {.batch = kX, .n = kX}).ok());
}
