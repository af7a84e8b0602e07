// Products of parts: which take sums of several devices, and which none.
#include <catch2/catch.hpp>
#include <functional>

#include "testbench/unit/compiler/localise/local_run.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::compiler::localise;
using ir::Builder;
using ir::ValueId;

namespace {

using Axes = std::vector<std::vector<size_t>>;
const TestMesh kMesh{{2, 2}};

ir::TensorPtr numbers(const ir::Dims& dims, int64_t seed) {
  auto tensor = std::make_shared<ir::Tensor>(ir::TensorType{ir::ElementType::kI32, dims});
  for (uint64_t i = 0; i < tensor->type.count(); i++)
    tensor->as<int32_t>()[i] = static_cast<int32_t>((static_cast<int64_t>(i) * 7919 + seed) % 1009);
  return tensor;
}

/// How many collectives the operator takes; its elements are those of the whole one.
size_t collectives(const ir::Dims& a, const ir::Dims& b,
                   const std::function<ValueId(Builder&, ValueId, ValueId)>& function, const Axes& axes_a,
                   const Axes& axes_b, const Axes& result) {
  ir::Module module;
  const ValueId x = module.add_parameter("x", {ir::ElementType::kI32, a}),
                w = module.add_parameter("w", {ir::ElementType::kI32, b});
  Builder builder(module);
  module.outputs.push_back({"y", function(builder, x, w)});
  const std::vector<ir::Tiling> in{kMesh.tiling(axes_a), kMesh.tiling(axes_b)}, out{kMesh.tiling(result)};
  const auto local = localise::localise(module, in, out, 4);
  if (!local.ok()) FAIL(local.error().message);
  const std::vector<ir::TensorPtr> given{numbers(a, 3), numbers(b, 5)};
  const auto wanted = reference::evaluate(module, given);
  if (!wanted.ok()) FAIL(wanted.error().message);
  CHECK(run_local(local.value(), given, in, out, 4)[0]->data == wanted.value()[0]->data);
  return collectives_in(local.value().module);
}

size_t product(const Axes& x, const Axes& w, const Axes& result) {
  return collectives(
      {4, 8}, {8, 6},
      [](Builder& b, ValueId x, ValueId w) { return b.dot(x, w, {}, {}, {1}, {0}, ir::ElementType::kI32); }, x, w,
      result);
}

size_t convolution(const Axes& x, const Axes& w, const Axes& result) {
  return collectives(
      {4, 2, 6, 6}, {8, 2, 3, 3},
      [](Builder& b, ValueId x, ValueId w) {
        return b.convolution(x, w, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}, ir::ElementType::kI32);
      },
      x, w, result);
}

}  // namespace

TEST_CASE("rows by columns of a product take no collective") {
  CHECK(product({{0}, {}}, {{}, {1}}, {{0}, {1}}) == 0);
  CHECK(product({{0, 1}, {}}, {{}, {}}, {{0, 1}, {}}) == 0);
}

TEST_CASE("what is summed in parts is one sum over devices") {
  CHECK(product({{}, {0}}, {{0}, {}}, {{}, {}}) == 1);
  CHECK(product({{0}, {1}}, {{1}, {}}, {{0}, {}}) == 1);
  CHECK(product({{0}, {}}, {{1}, {}}, {{0}, {}}) == 1);  // the rows are cut where the weights are
}

TEST_CASE("weights in parts by the axis of the rows are gathered, not the rows") {
  CHECK(product({{0, 1}, {}}, {{0, 1}, {}}, {{0, 1}, {}}) == 1);
  CHECK(product({{0}, {}}, {{}, {0}}, {{0}, {}}) == 1);
}

TEST_CASE("batches of products side by side take no collective") {
  CHECK(collectives(
            {4, 3, 8}, {4, 8, 5},
            [](Builder& b, ValueId x, ValueId w) { return b.dot(x, w, {0}, {0}, {2}, {1}, ir::ElementType::kI32); },
            {{0}, {}, {}}, {{0}, {}, {}}, {{0}, {}, {}}) == 0);
}

TEST_CASE("convolutions by images and filters, and by channels") {
  CHECK(convolution({{0}, {}, {}, {}}, {{1}, {}, {}, {}}, {{0}, {1}, {}, {}}) == 0);
  CHECK(convolution({{}, {0}, {}, {}}, {{}, {0}, {}, {}}, {{}, {}, {}, {}}) == 1);
  CHECK(convolution({{}, {}, {0}, {}}, {{}, {}, {}, {}}, {{}, {}, {}, {}}) == 1);  // rows of images are gathered
}
