// Which dimensions stay in parts: no collective where they do, and the same elements always.
#include <catch2/catch.hpp>
#include <functional>

#include "host/compiler/localise/localiser.hpp"
#include "testbench/unit/compiler/localise/local_run.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::compiler::localise;
using ir::Builder;
using ir::ValueId;

namespace {

const TestMesh kMesh{{2, 2}};
using Axes = std::vector<std::vector<size_t>>;

/// A function of x: i32[4, 6, 8], whose parts lie by `axes`, with the result in parts by `result`. How many collectives
/// it takes; the elements are those of the whole program.
size_t collectives(const std::function<ValueId(Builder&, ValueId)>& function, const Axes& axes, const Axes& result) {
  ir::Module module;
  const ValueId x = module.add_parameter("x", {ir::ElementType::kI32, {4, 6, 8}});
  Builder b(module);
  module.outputs.push_back({"y", function(b, x)});
  const std::vector<ir::Tiling> in{kMesh.tiling(axes)}, out{kMesh.tiling(result)};
  const auto local = localise::localise(module, in, out, 4);
  if (!local.ok()) FAIL(local.error().message);
  ir::Dims numbers(4 * 6 * 8);
  for (size_t i = 0; i < numbers.size(); i++) numbers[i] = static_cast<int64_t>(i * i * 7919 % 1009);
  auto tensor = std::make_shared<ir::Tensor>(ir::TensorType{ir::ElementType::kI32, {4, 6, 8}});
  for (size_t i = 0; i < numbers.size(); i++) tensor->as<int32_t>()[i] = static_cast<int32_t>(numbers[i]);
  const auto wanted = reference::evaluate(module, {tensor});
  if (!wanted.ok()) FAIL(wanted.error().message);
  CHECK(run_local(local.value(), {tensor}, in, out, 4)[0]->data == wanted.value()[0]->data);
  return collectives_in(local.value().module);
}

}  // namespace

TEST_CASE("a reshape keeps parts of the slowest dimension of those that become one") {
  const Cut cut{2, {0, 0, 1, 1}};
  const auto keeps = [&](const ir::Dims& from, const ir::Dims& to, size_t in) {
    Shards shards = whole(from.size());
    shards[in] = cut;
    const auto lying = reshaped(from, to, shards);
    for (size_t d = 0; d < to.size(); d++)
      if (!lying.result[d].whole()) return static_cast<int>(d);
    return -1;
  };
  CHECK(keeps({4, 6}, {24}, 0) == 0);
  CHECK(keeps({4, 6}, {24}, 1) == -1);
  CHECK(keeps({24}, {4, 6}, 0) == 0);
  CHECK(keeps({24}, {3, 8}, 0) == -1);  // 3 rows have no halves
  CHECK(keeps({4, 6, 2}, {4, 12}, 1) == 1);
  CHECK(keeps({1, 4}, {4}, 1) == 0);
  CHECK(keeps({4}, {1, 1, 4}, 0) == 2);
  CHECK(keeps({4, 6}, {4, 1, 6}, 1) == 2);
}

TEST_CASE("element by element, and what moves other dimensions, takes no collective") {
  CHECK(collectives([](Builder& b, ValueId x) { return b.plus(b.times(x, 3.0), x); }, {{0}, {}, {1}}, {{0}, {}, {1}}) ==
        0);
  CHECK(collectives(
            [](Builder& b, ValueId x) {
              return b.transpose(x, {2, 0, 1});
            },
            {{0}, {}, {1}}, {{1}, {0}, {}}) == 0);
  CHECK(collectives([](Builder& b, ValueId x) { return b.reverse(x, {1}); }, {{0}, {}, {1}}, {{0}, {}, {1}}) == 0);
  CHECK(collectives([](Builder& b, ValueId x) { return b.slice_of(x, 1, 2, 5); }, {{0}, {}, {1}}, {{0}, {}, {1}}) == 0);
  CHECK(collectives(
            [](Builder& b, ValueId x) {
              return b.pad(x, b.scalar(ir::ElementType::kI32, 9), {0, 1, 0}, {0, 2, 0}, {0, 1, 0});
            },
            {{0}, {}, {1}}, {{0}, {}, {1}}) == 0);
  CHECK(collectives(
            [](Builder& b, ValueId x) {
              return b.concatenate({x, x}, 1);
            },
            {{0}, {}, {1}}, {{0}, {}, {1}}) == 0);
  CHECK(collectives([](Builder& b, ValueId x) { return b.sort({x}, 1, false)[0]; }, {{0}, {}, {1}}, {{0}, {}, {1}}) ==
        0);
  CHECK(collectives([](Builder& b, ValueId x) { return b.reshape(x, {24, 8}); }, {{0}, {}, {1}}, {{0}, {1}}) == 0);
  CHECK(collectives(
            [](Builder& b, ValueId x) {
              return b.reduce_window("add", x, {1, 3, 1}, {1, 1, 1}, {0, 1, 0}, {0, 1, 0}, {1, 1, 1});
            },
            {{0}, {}, {1}}, {{0}, {}, {1}}) == 0);
  CHECK(collectives(
            [](Builder& b, ValueId x) {
              return b.plus(x, b.iota(ir::ElementType::kI32, {4, 6, 8}, 2));
            },
            {{0}, {}, {1}}, {{0}, {}, {1}}) == 0);
}

TEST_CASE("what is in parts along a dimension that changes is gathered first") {
  CHECK(collectives([](Builder& b, ValueId x) { return b.reverse(x, {0}); }, {{0}, {}, {1}}, {{0}, {}, {1}}) == 1);
  CHECK(collectives([](Builder& b, ValueId x) { return b.slice_of(x, 2, 1, 5); }, {{0}, {}, {1}}, {{0}, {}, {1}}) == 1);
  CHECK(collectives([](Builder& b, ValueId x) { return b.reshape(x, {4, 48}); }, {{0}, {}, {1}}, {{0}, {}}) == 1);
  CHECK(collectives([](Builder& b, ValueId x) { return b.sort({x}, 0, false)[0]; }, {{0}, {}, {1}}, {{}, {}, {}}) == 2);
}

TEST_CASE("a reduction over parts is one collective, and along others none") {
  const auto reduce = [](const char* kind, const ir::Dims& dimensions) {
    return [=](Builder& b, ValueId x) { return b.reduce(kind, x, dimensions, Builder::Keep::kNo); };
  };
  CHECK(collectives(reduce("add", {1}), {{0}, {}, {1}}, {{0}, {1}}) == 0);
  CHECK(collectives(reduce("add", {0}), {{0}, {}, {1}}, {{}, {1}}) == 1);
  CHECK(collectives(reduce("maximum", {0, 2}), {{0}, {}, {1}}, {{}}) == 1);
  CHECK(collectives(reduce("minimum", {0, 1, 2}), {{0, 1}, {}, {}}, {}) == 1);
}

TEST_CASE("two operands in different parts agree on one way") {
  // x in halves by one axis, its transpose's twin by the other: both fit together.
  CHECK(collectives([](Builder& b, ValueId x) { return b.plus(x, b.reverse(x, {1})); }, {{0}, {}, {1}},
                    {{0}, {}, {1}}) == 0);
  CHECK(collectives(
            [](Builder& b, ValueId x) {
              return b.plus(b.slice_of(b.slice_of(x, 1, 0, 4), 2, 0, 4),
                            b.transpose(b.slice_of(b.slice_of(x, 1, 0, 4), 2, 0, 4), {1, 0, 2}));
            },
            {{0}, {}, {}}, {{0}, {}, {}}) <= 3);
}
