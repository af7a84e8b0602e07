// Convolutions in groups, transposed ones and those of three dimensions: what is written for them computes the same, and
// is a device program.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/ir/text.hpp"
#include "host/compiler/passes/pass.hpp"
#include "testbench/unit/compiler/partition/operator_check.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::test;

namespace {

struct Case {
  ir::Dims x, w, strides, low, high, apart, dilation;
  int64_t groups = 1;
};

/// x by constants that are small integers, so that sums are exact in any order; without `constant_weights` w is an input.
ir::Module module_of(const Case& c, bool constant_weights = true) {
  ir::Module module;
  ir::Builder build(module);
  const auto input = [&](const char* name, const ir::Dims& dims) {
    const ir::ValueId value = module.add_parameter(name, {ir::ElementType::kF32, dims});
    return value;
  };
  const ir::ValueId x = input("x", c.x);
  ir::ValueId w = x;
  if (constant_weights) {
    std::mt19937_64 random(7);
    auto values = std::make_shared<ir::Tensor>(ir::TensorType{ir::ElementType::kF32, c.w});
    for (uint64_t i = 0; i < values->type.count(); i++) values->as<float>()[i] = static_cast<float>(random() % 15) - 7;
    w = build.constant(values);
  } else {
    w = input("w", c.w);
  }
  const ir::ValueId y =
      build.convolution(x, w, {c.strides, c.low, c.high, c.apart, c.dilation, c.groups}, ir::ElementType::kF32);
  module.outputs.push_back({"y", y});
  REQUIRE(ir::verify(module).ok());
  return module;
}

ir::Module after_passes(const ir::Module& module) {
  auto changed = passes::run_all(module);
  if (!changed.ok()) FAIL(changed.error().message);
  return std::move(changed.value());
}

std::vector<float> evaluated(const ir::Module& module, const ir::TensorPtr& x) {
  const auto results = reference::evaluate(module, {x});
  if (!results.ok()) FAIL(results.error().message);
  const auto& y = *results.value()[0];
  return {y.as<float>(), y.as<float>() + y.type.count()};
}

/// What the passes write gives the same integers; as a device program it is close to the convolution, and the golden model's.
void check_case(const Case& c) {
  INFO(fmt::format("x {}, w {}, strides {}, low {}, high {}, apart {}, dilation {}, groups {}", c.x, c.w, c.strides,
                   c.low, c.high, c.apart, c.dilation, c.groups));
  const auto module = module_of(c);
  const auto changed = after_passes(module);
  CHECK(ir::verify(changed).ok());
  CHECK(ir::print(passes::plain_convolutions(module)) != ir::print(module));
  std::mt19937_64 random(3);
  auto x = std::make_shared<ir::Tensor>(ir::TensorType{ir::ElementType::kF32, c.x});
  for (uint64_t i = 0; i < x->type.count(); i++) x->as<float>()[i] = static_cast<float>(random() % 31) - 15;
  CHECK(differing(evaluated(changed, x), evaluated(module, x)) == 0);
  check_like(changed, module, kBf16, "nano", 5);
  check_like(changed, module, kBf16, "nano-4mxu", 6);
}

}  // namespace

TEST_CASE("a convolution in groups is one of channels that lie together") {
  check_case({{1, 12, 5, 6}, {8, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 4});
  check_case({{2, 6, 7, 5}, {12, 1, 3, 2}, {2, 1}, {1, 0}, {0, 1}, {1, 1}, {1, 2}, 6});  // several results a channel
  check_case({{1, 144, 3}, {6, 72, 2}, {1}, {0}, {0}, {1}, {1}, 2});  // more channels than lie together
  check_case({{1, 8, 4, 4}, {8, 2, 1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, 4});
}

TEST_CASE("a transposed convolution whose windows overlap, or leave pixels out, is one of residues") {
  check_case({{2, 5, 3, 4}, {6, 5, 4, 4}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, {1, 1}});  // kernel 4, stride 2, padding 1
  check_case({{1, 3, 4, 3}, {5, 3, 3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, {1, 1}});  // results are no multiple of 2
  check_case({{1, 3, 3, 3}, {4, 3, 2, 2}, {1, 1}, {1, 1}, {1, 1}, {3, 3}, {1, 1}});  // some results see no pixel
  check_case({{1, 4, 3, 4}, {4, 4, 3, 5}, {1, 1}, {1, 4}, {2, 3}, {2, 3}, {1, 1}});
  check_case({{1, 4, 6}, {3, 4, 8}, {1}, {5}, {5}, {4}, {1}});
  check_case({{1, 4, 5, 4}, {6, 2, 4, 4}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, {1, 1}, 2});  // in groups
  check_case({{1, 4, 4, 4}, {4, 1, 4, 4}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, {1, 1}, 4});  // channel by channel
}

TEST_CASE("a convolution of three dimensions is a sum over the taps of the first one") {
  check_case({{1, 3, 4, 5, 4}, {4, 3, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}});
  check_case({{2, 2, 5, 4, 6}, {3, 2, 2, 3, 1}, {2, 1, 2}, {1, 0, 0}, {0, 1, 0}, {1, 1, 1}, {2, 1, 1}});
  check_case({{1, 4, 3, 4, 4}, {4, 1, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 4});
}

TEST_CASE("what has a form on the device is left, and so are computed weights") {
  const auto unchanged = [](const ir::Module& module) {
    return ir::print(passes::plain_convolutions(module)) == ir::print(module);
  };
  CHECK(unchanged(module_of({{1, 3, 5, 5}, {4, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}})));
  CHECK(unchanged(module_of({{1, 4, 5, 5}, {4, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 4})));  // depthwise
  CHECK(unchanged(module_of({{1, 12, 5, 6}, {8, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 4}, false)));
}

TEST_CASE("weights that are zero between groups let nothing through but infinities and NaNs") {
  const auto changed = after_passes(module_of({{1, 4, 1, 2}, {2, 2, 1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, 2}));
  auto x = std::make_shared<ir::Tensor>(ir::TensorType{ir::ElementType::kF32, {1, 4, 1, 2}});
  for (size_t i = 0; i < 8; i++) x->as<float>()[i] = 1;
  x->as<float>()[0] = INFINITY;  // channel 0 is of the first group
  const auto y = evaluated(changed, x);
  CHECK(std::isnan(y[2]));
  CHECK(std::isfinite(y[3]));
}
