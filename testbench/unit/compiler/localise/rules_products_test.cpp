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

/// Two products by constants whose rows and columns are in parts along the axes of a mesh, sums of parts in parts.
/// The kinds of its collectives, and how many devices do each.
std::vector<std::pair<std::string, int64_t>> two_layers(const TestMesh& mesh, int64_t width) {
  ir::Module module;
  const ValueId x = module.add_parameter("x", {ir::ElementType::kI32, {4, width}});
  module.inputs = {x};
  Builder b(module);
  ValueId y = x;
  for (const int64_t seed : {3, 5})
    y = b.dot(y, b.constant(numbers({width, width}, seed)), {}, {}, {1}, {0}, ir::ElementType::kI32);
  module.outputs.push_back({"y", y});
  const auto devices = static_cast<int64_t>(mesh.devices());
  WeightTiling weights{.summed = mesh.sizes[0], .kept = mesh.sizes[1], .scatter_unit = 2};
  for (int64_t device = 0; device < devices; device++) {
    weights.summed_place.push_back(device / mesh.sizes[1]);
    weights.kept_place.push_back(device % mesh.sizes[1]);
  }
  const std::vector<ir::Tiling> whole{mesh.tiling({{}, {}})};
  const auto local = localise::localise(module, whole, whole, mesh.devices(), weights, {true});
  if (!local.ok()) FAIL(local.error().message);
  const std::vector<ir::TensorPtr> given{numbers({4, width}, 7)};
  const auto wanted = reference::evaluate(module, given);
  if (!wanted.ok()) FAIL(wanted.error().message);
  CHECK(run_local(local.value(), given, whole, local.value().outputs, mesh.devices())[0]->data ==
        wanted.value()[0]->data);
  std::vector<std::pair<std::string, int64_t>> found;
  for (const auto& op : local.value().module.ops())
    if (op.kind == ir::OpKind::kCollective) found.emplace_back(op.word("kind"), op.integer("group_size"));
  return found;
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

TEST_CASE("where rows and columns of weights are in parts, devices gather what they multiply a part of and no more") {
  using Found = std::vector<std::pair<std::string, int64_t>>;
  const auto expected = [](int64_t summed, int64_t kept) {
    return Found{{"reduce_scatter", summed}, {"all_gather", kept}, {"reduce_scatter", summed}};
  };
  CHECK(two_layers({{2, 2}}, 24) == expected(2, 2));
  CHECK(two_layers({{2, 4}}, 32) == expected(2, 4));
  CHECK(two_layers({{3, 2}}, 24) == expected(3, 2));
  // Sums that have no whole units stay whole.
  CHECK(two_layers({{2, 2}}, 12) == Found{{"all_reduce", 2}, {"all_gather", 2}, {"all_reduce", 2}});
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
