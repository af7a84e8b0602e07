// Products of more than one pass of bf16: what is written, how close a device program comes to f32, and what is infinite.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "host/compiler/ir/text.hpp"
#include "host/compiler/passes/pass.hpp"
#include "testbench/unit/compiler/partition/operator_check.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::test;

namespace {

ir::Module parsed(const std::string& text) {
  auto module = ir::parse(text);
  if (!module.ok()) FAIL(module.error().message << "\n" << text);
  return std::move(module.value());
}

ir::Module after_passes(const ir::Module& module) {
  auto changed = passes::run_all(module);
  if (!changed.ok()) FAIL(changed.error().message);
  return std::move(changed.value());
}

size_t count(const ir::Module& module, ir::OpKind kind) {
  return static_cast<size_t>(std::ranges::count(module.ops(), kind, &ir::Op::kind));
}

std::string dot(int a, int b, const std::string& precision, const std::string& type = "f32[6, 9]") {
  return fmt::format(
      "%2 = dot_general(%{}, %{}) {{lhs_batch = [], lhs_contract = [1]{}, rhs_batch = [], rhs_contract = [0]}} : {}\n",
      a, b, precision.empty() ? "" : ", precision = " + precision, type);
}

/// The rest that a device program keeps of an error that one pass of bf16 makes: 2^-8.
void check_close(const std::string& text, const std::string& precision, float bound) {
  const auto module = parsed(text);
  const auto changed = after_passes(module);
  INFO(text << precision);
  for (const auto& op : changed.ops()) CHECK(!op.attributes.contains("precision"));
  CHECK(ir::verify(changed).ok());
  check_like(changed, module, bound, "nano", 3);
  check_like(changed, module, bound, "nano-4mxu", 4);
}

}  // namespace

TEST_CASE("three products of parts for high precision, six for the highest, one where nothing is asked") {
  const std::string inputs = parameter(0, "[6, 40]") + parameter(1, "[40, 9]");
  for (const auto& [precision, products] : {std::pair{"", 1}, {"high", 3}, {"highest", 6}}) {
    INFO(precision);
    const auto changed = passes::split_products(parsed(inputs + dot(0, 1, precision) + returned(2)));
    CHECK(count(changed, ir::OpKind::kDotGeneral) == static_cast<size_t>(products));
    CHECK(ir::verify(changed).ok());
  }
}

TEST_CASE("an operand of several products is split once, and a constant while compiling") {
  const auto changed = after_passes(
      parsed(parameter(0, "[9, 9]") + constant(1, "[9, 9]", 81, 2) + dot(0, 1, "highest", "f32[9, 9]") +
             "%3 = dot_general(%0, %2) {lhs_batch = [], lhs_contract = [1], precision = highest, rhs_batch = [], "
             "rhs_contract = [0]} : f32[9, 9]\n" +
             returned(3)));
  CHECK(count(changed, ir::OpKind::kReducePrecision) == 6);  // of the input and of the first product
}

TEST_CASE("products of bf16 are exact in one pass, those of other types are left") {
  const char* text =
      "%0 = parameter() {{dims = [2, 2], element = {0}, name = \"x\"}} : {0}[2, 2]\n"
      "%1 = dot_general(%0, %0) {{lhs_batch = [], lhs_contract = [1], precision = highest, rhs_batch = [], "
      "rhs_contract = [0]}} : {0}[2, 2]\nreturn \"y\" = %1\n";
  const auto bf16 = passes::split_products(parsed(fmt::format(fmt::runtime(text), "bf16")));
  CHECK(bf16.ops().size() == 2);
  CHECK(!bf16.ops()[1].attributes.contains("precision"));
  const auto f16 = parsed(fmt::format(fmt::runtime(text), "f16"));
  CHECK(ir::print(passes::split_products(f16)) == ir::print(f16));
}

TEST_CASE("a device program of parts comes close to f32, matrices, batches and convolutions") {
  for (const auto& [precision, bound] : {std::pair{"high", 2e-5f}, {"highest", 5e-7f}}) {
    check_close(parameter(0, "[6, 40]") + parameter(1, "[40, 9]") + dot(0, 1, precision) + returned(2), precision,
                bound);
    check_close(parameter(0, "[6, 40]") + constant(1, "[40, 9]", 360, 7) + dot(0, 1, precision) +
                    "%3 = tanh(%2) : f32[6, 9]\n" + returned(3),
                precision, 4 * bound);
    check_close(parameter(0, "[3, 10, 7]") + parameter(1, "[3, 7, 9]") +
                    fmt::format("%2 = dot_general(%0, %1) {{lhs_batch = [0], lhs_contract = [2], precision = {}, "
                                "rhs_batch = [0], rhs_contract = [1]}} : f32[3, 10, 9]\n",
                                precision) +
                    returned(2),
                precision, bound);
    for (const bool computed : {false, true})
      check_close(
          parameter(0, "[2, 3, 6, 7]") +
              (computed ? parameter(1, "[4, 3, 3, 3]") : constant(1, "[4, 3, 3, 3]", 108, 5)) +
              fmt::format("%2 = convolution(%0, %1) {{groups = 1, high = [1, 1], lhs_dilation = [1, 1], low = [1, 1], "
                          "precision = {}, rhs_dilation = [1, 1], strides = [1, 1]}} : f32[2, 4, 6, 7]\n",
                          precision) +
              returned(2),
          precision, bound);
  }
}

TEST_CASE("a depthwise convolution is the vector unit's, and f32 as it is") {
  const auto text =
      parameter(0, "[2, 4, 6, 7]") + constant(1, "[4, 1, 3, 3]", 36, 5) +
      "%2 = convolution(%0, %1) {groups = 4, high = [1, 1], lhs_dilation = [1, 1], low = [1, 1], precision = "
      "highest, rhs_dilation = [1, 1], strides = [1, 1]} : f32[2, 4, 6, 7]\n" +
      returned(2);
  const auto module = parsed(text);
  CHECK(count(passes::split_products(module), ir::OpKind::kConvolution) == 1);
  check_like(module, module, 5e-7f, "nano", 5);
}

TEST_CASE("a loop's products are split too") {
  const auto module = parsed(R"(%0 = parameter() {dims = [2, 2], element = f32, name = "x"} : f32[2, 2]
%1 = constant() [0] : i32[]
%2, %3 = while(%1, %0) {carried = 2} : i32[], f32[2, 2]
  region {
  module "condition"
  %0 = parameter() {dims = [], element = i32, name = "0"} : i32[]
  %1 = parameter() {dims = [2, 2], element = f32, name = "1"} : f32[2, 2]
  %2 = constant() [3] : i32[]
  %3 = compare(%0, %2) {direction = lt} : pred[]
  return "0" = %3
  }
  region {
  module "body"
  %0 = parameter() {dims = [], element = i32, name = "0"} : i32[]
  %1 = parameter() {dims = [2, 2], element = f32, name = "1"} : f32[2, 2]
  %2 = constant() [1] : i32[]
  %3 = add(%0, %2) : i32[]
  %4 = dot_general(%1, %1) {lhs_batch = [], lhs_contract = [1], precision = highest, rhs_batch = [], rhs_contract = [0]} : f32[2, 2]
  return "0" = %3
  return "1" = %4
  }
return "y" = %3
)");
  const auto changed = passes::split_products(module);
  for (const auto& op : changed.ops())
    if (op.kind == ir::OpKind::kWhile) CHECK(count(*op.regions[1], ir::OpKind::kDotGeneral) == 6);
  CHECK(ir::verify(changed).ok());
}

TEST_CASE("infinities and NaN are those of f32") {
  const auto module =
      parsed(parameter(0, "[4, 3]") + parameter(1, "[3, 2]") + dot(0, 1, "highest", "f32[4, 2]") + returned(2));
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> values{{kInf, 1, 1, std::nanf(""), 1, 1, 1, -kInf, 1, 0.1f, 0.2f, 0.3f},
                                               {1, -1, 1, 1, 1, 0.1f}};
  std::vector<ir::TensorPtr> inputs;
  for (size_t i = 0; i < 2; i++) {
    auto tensor = std::make_shared<ir::Tensor>(module.type(module.inputs[i]));
    std::memcpy(tensor->data.data(), values[i].data(), tensor->data.size());
    inputs.push_back(tensor);
  }
  const auto wanted = reference::evaluate(module, inputs), got = reference::evaluate(after_passes(module), inputs);
  REQUIRE(wanted.ok());
  REQUIRE(got.ok());
  for (size_t i = 0; i < 8; i++) {
    const float a = wanted.value()[0]->as<float>()[i], b = got.value()[0]->as<float>()[i];
    INFO(i << ": " << a << " and " << b);
    CHECK((std::isnan(a) ? std::isnan(b) : std::isinf(a) ? a == b : std::abs(a - b) <= 1e-6f));
  }
}
