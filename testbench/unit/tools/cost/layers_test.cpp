// Which operators make a layer, and what they need at least: by hand, from the shapes.
#include "host/tools/cost/layers.hpp"

#include "testbench/unit/tools/cost/layered_model.hpp"

using namespace weft;
using namespace weft::tools;
using namespace weft::tools::testing;

namespace {

std::vector<Layer> layers_of_whole(const ModelProgram& model) {
  REQUIRE(model.partition.parts.size() == 1);
  REQUIRE(model.partition.parts[0].graph);
  return layers_of(model.module, model.partition.parts[0]);
}

}  // namespace

TEST_CASE("a bias and a relu of other names belong to the product that they have joined") {
  const auto model = compiled(two_products(5, 24, 12, 7), "nano");
  const auto layers = layers_of_whole(model);
  REQUIRE(layers.size() == 3);
  CHECK(layers[0].name == "fc1");
  CHECK(operators_text(model.module, layers[0]) == "dot_general, add (bias), maximum (relu)");
  CHECK(operators_text(model.module, layers[1]) == "tanh");
  CHECK(operators_text(model.module, layers[2]) == "dot_general");
  CHECK(layers[0].operands == std::vector{model.module.inputs[0]});
  CHECK(layers[1].operands.size() == 1);
}

TEST_CASE("a layer needs its MACs, its bytes and its passes, without padding") {
  const auto model = compiled(two_products(5, 24, 12, 7), "nano");
  const auto layers = layers_of_whole(model);
  REQUIRE(layers.size() == 3);
  CHECK(layers[0].work.macs == 5 * 24 * 12);
  CHECK(layers[0].work.hbm_bytes == 5 * 24 * 2 + 24 * 12 * 2 + 12 * 4);  // x and weights in bf16, the bias in f32
  CHECK(layers[0].work.vector_elements == 5 * 12);                       // one pass out of ACC: bias and relu are free
  CHECK(layers[1].work.macs == 0);
  CHECK(layers[1].work.hbm_bytes == 0);
  CHECK(layers[1].work.vector_elements == 5 * 12);
  CHECK(layers[2].work.macs == 5 * 12 * 7);
  CHECK(layers[2].work.hbm_bytes == 12 * 7 * 2 + 5 * 7 * 4);  // weights, and y in f32
  LayerWork sum;
  for (const auto& layer : layers) sum += layer.work;
  CHECK(sum.macs == model.programs[0].macs);
}

TEST_CASE("a sum behind a product that something else reads is a pass of its own") {
  Module module;
  const ValueId x = module.add_parameter("x", f32({4, 8}));
  Builder build(module);
  build.origin.node = "fc";
  const ValueId y = product(build, x, 8, 8);
  build.origin.node = "plus";
  auto summands = std::make_shared<compiler::ir::Tensor>(f32({8}));
  summands->as<float>()[3] = 1;
  module.outputs = {{"y", y}, {"z", build.plus(y, build.constant(summands))}};
  const auto model = compiled(std::move(module), "nano");
  const auto layers = layers_of_whole(model);
  uint64_t elements = 0;
  for (const auto& layer : layers) elements += layer.work.vector_elements;
  CHECK(elements == 2 * 4 * 8);
}

TEST_CASE("a scale and a summand that are numbers need no pass at least, a number divided by a value does") {
  Module module;
  const ValueId x = module.add_parameter("x", f32({4, 8}));
  Builder build(module);
  build.origin.node = "fc";
  const ValueId before = product(build, x, 8, 8);
  build.origin.node = "root";
  const ValueId y = build.unary(compiler::ir::OpKind::kRsqrt, before);
  const auto number = [&] { return build.constant(compiler::ir::splat(f32({1}), 3)); };
  build.origin.node = "scale";
  const ValueId scaled = build.times(y, number());
  build.origin.node = "add";
  const ValueId sum = build.plus(number(), scaled);
  build.origin.node = "reciprocal";
  module.outputs = {{"y", build.over(number(), sum)}};
  const auto model = compiled(std::move(module), "nano");
  std::map<std::string, uint64_t> passes;
  for (const auto& layer : layers_of_whole(model)) passes[layer.name] = layer.work.vector_elements / 32;
  CHECK(passes["root"] == 1);
  CHECK(passes["scale"] == 0);
  CHECK(passes["add"] == 0);
  CHECK(passes["reciprocal"] == 2);
}

TEST_CASE("MACs of a product with a batch and of a convolution in groups") {
  Module module;
  Builder build(module);
  const ValueId a = module.add_parameter("a", f32({2, 3, 5})), b = module.add_parameter("b", f32({2, 5, 7}));
  const ValueId dot = build.dot(a, b, {0}, {0}, {2}, {1}, ElementType::kF32);
  CHECK(macs_of(module, module.op_of(dot)) == 2 * 3 * 7 * 5);
  const ValueId image = module.add_parameter("i", f32({1, 4, 6, 6})),
                kernel = module.add_parameter("k", f32({8, 2, 3, 3}));
  Builder::Convolution by{{1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, 2};
  const ValueId convolution = build.convolution(image, kernel, by, ElementType::kF32);
  CHECK(macs_of(module, module.op_of(convolution)) == 8 * 4 * 4 * (2 * 3 * 3));
}

TEST_CASE("the bound is that of the engine that needs most") {
  const auto& chip = *spec::find_chip("nano");  // 64 MACs, 8 lanes, 34 bytes a cycle
  const auto bound = bound_of(chip, {6400, 680, 40});
  CHECK(bound.mxu == Approx(100));
  CHECK(bound.hbm == Approx(20));
  CHECK(bound.vpu == Approx(5));
  CHECK(bound.cycles() == Approx(100));
  CHECK(std::string(bound.engine()) == "MXU");
  CHECK(std::string(bound_of(chip, {0, 680, 800}).engine()) == "VPU");
  CHECK(std::string(bound_of(chip, {64, 680, 8}).engine()) == "HBM");
  CHECK(std::string(bound_of(chip, {}).engine()) == "-");
}
