// The reference on small cases whose results are written down, corners of arithmetic first. ONNX's vectors are its main
// test (testbench/onnx).
#include "host/compiler/reference/evaluate.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "host/compiler/ir/text.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

/// The elements of the only output, as text.
std::string value(const std::string& text) {
  const auto module = ir::parse(text);
  if (!module.ok()) FAIL(module.error().message);
  const auto outputs = reference::evaluate(module.value(), {});
  if (!outputs.ok()) FAIL(outputs.error().message);
  REQUIRE(outputs.value().size() == 1);
  ir::Module shown;
  ir::Op constant;
  constant.constant = outputs.value()[0];
  shown.add(constant);
  const std::string line = ir::print(shown);
  const size_t at = line.find('[');
  return line.substr(at, line.rfind(" :") - at);
}

std::string binary(const char* op, const char* a, const char* b, const char* type) {
  return value(
      fmt::format("%0 = constant() {} : {}\n%1 = constant() {} : {}\n%2 = {}(%0, %1) : {}\nreturn \"y\" = %2\n", a,
                  type, b, type, op, type));
}

}  // namespace

TEST_CASE("integers wrap, and division has a result for every divisor") {
  CHECK(binary("add", "[127, -128]", "[1, -1]", "i8[2]") == "[-128, 127]");
  CHECK(binary("multiply", "[65535]", "[65535]", "u16[1]") == "[1]");
  CHECK(binary("divide", "[-128, 7, -7, 5]", "[-1, 2, 2, 0]", "i8[4]") == "[-128, 3, -3, -1]");
  CHECK(binary("remainder", "[-128, 7, -7, 5]", "[-1, 2, 2, 0]", "i8[4]") == "[0, 1, -1, 5]");
  CHECK(binary("divide", "[-9223372036854775808]", "[-1]", "i64[1]") == "[-9223372036854775808]");
  CHECK(binary("divide", "[9]", "[0]", "u8[1]") == "[255]");
  CHECK(binary("shift_left", "[1, 1]", "[7, 8]", "u8[2]") == "[128, 0]");
  CHECK(binary("power", "[3, 2, -1]", "[4, -1, -3]", "i32[3]") == "[81, 0, -1]");
}

TEST_CASE("a maximum or a minimum with NaN is NaN") {
  CHECK(binary("maximum", "[nan, 1, 2]", "[1, nan, 3]", "f32[3]") == "[nan, nan, 3]");
  CHECK(binary("minimum", "[nan, 1, 2]", "[1, nan, 3]", "f32[3]") == "[nan, nan, 2]");
}

TEST_CASE("conversion rounds once, cuts toward zero and stays in range") {
  const auto convert = [](const char* from, const char* type, const char* to, const char* result) {
    return value(fmt::format("%0 = constant() {} : {}\n%1 = convert(%0) {{element = {}}} : {}\nreturn \"y\" = %1\n",
                             from, type, to, result));
  };
  CHECK(convert("[1.9, -1.9, nan, inf, -300]", "f32[5]", "i8", "i8[5]") == "[1, -1, 0, 127, -128]");
  CHECK(convert("[300, -1]", "i32[2]", "u8", "u8[2]") == "[44, 255]");
  CHECK(convert("[65519, 65520, 6e-08, 2.98e-08]", "f64[4]", "f16", "f16[4]") == "[65504, inf, 5.9604645e-08, 0]");
  CHECK(convert("[0.5, 0, nan]", "f32[3]", "pred", "pred[3]") == "[true, false, true]");
  CHECK(convert("[16777217]", "i32[1]", "f32", "f32[1]") == "[16777216]");
}

TEST_CASE("padding may cut and spread, and reverse turns") {
  CHECK(value("%0 = constant() [1, 2, 3] : i32[3]\n%1 = constant() [9] : i32[]\n"
              "%2 = pad(%0, %1) {high = [1], interior = [1], low = [-1]} : i32[5]\nreturn \"y\" = %2\n") ==
        "[9, 2, 9, 3, 9]");
  CHECK(value("%0 = constant() [1, 2, 3, 4] : i32[2, 2]\n%1 = reverse(%0) {dimensions = [1]} : i32[2, 2]\nreturn \"y\" "
              "= %1\n") == "[2, 1, 4, 3]");
}

TEST_CASE("gather moves its windows into the operand, scatter drops what is beyond it and adds up in order") {
  CHECK(value("%0 = constant() [1, 2, 3, 4, 5, 6] : i32[3, 2]\n%1 = constant() [-5, 1, 99] : i64[3]\n"
              "%2 = gather(%0, %1) {collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], slice_sizes = "
              "[1, 2], "
              "start_index_map = [0]} : i32[3, 2]\nreturn \"y\" = %2\n") == "[1, 2, 3, 4, 5, 6]");
  CHECK(value("%0 = constant() [0, 0, 0] : i32[3]\n%1 = constant() [1, 3, 1, -1] : i64[4]\n%2 = constant() [5, 6, 7, "
              "8] : i32[4]\n"
              "%3 = scatter(%0, %1, %2) {index_vector_dim = 1, inserted_window_dims = [0], kind = add, "
              "scatter_dims_to_operand_dims = [0], update_window_dims = []} : i32[3]\nreturn \"y\" = %3\n") ==
        "[0, 12, 0]");
}

TEST_CASE("sort is stable, and NaN counts as the largest number") {
  CHECK(value("%0 = constant() [2, nan, 1, 2] : f32[4]\n%1 = constant() [0, 1, 2, 3] : i32[4]\n"
              "%2, %3 = sort(%0, %1) {descending = 0, dimension = 0} : f32[4], i32[4]\nreturn \"y\" = %3\n") ==
        "[2, 0, 3, 1]");
}

TEST_CASE("a convolution with stride, padding, dilation and groups is the sum over its taps") {
  CHECK(
      value(
          "%0 = constant() [1, 2, 3, 4, 10, 20, 30, 40] : f32[1, 2, 4]\n%1 = constant() [1, 1, 1, -1] : f32[2, 1, 2]\n"
          "%2 = convolution(%0, %1) {groups = 2, high = [0], lhs_dilation = [1], low = [1], rhs_dilation = [2], "
          "strides = [2]} : "
          "f32[1, 2, 2]\nreturn \"y\" = %2\n") == "[2, 6, -20, -20]");
}

TEST_CASE("an empty reduction has the identity of its operation") {
  CHECK(value("%0 = constant() [] : f32[0, 2]\n%1 = reduce(%0) {dimensions = [0], kind = maximum} : f32[2]\nreturn "
              "\"y\" = %1\n") == "[-inf, -inf]");
  CHECK(value("%0 = constant() [] : i8[0]\n%1 = reduce(%0) {dimensions = [0], kind = multiply} : i8[]\nreturn \"y\" = "
              "%1\n") == "[1]");
}

TEST_CASE("an input of another type is refused by name") {
  const auto module =
      ir::parse("%0 = parameter() {dims = [2], element = f32, name = \"x\"} : f32[2]\nreturn \"y\" = %0\n");
  REQUIRE(module.ok());
  const auto result = reference::evaluate(module.value(), {ir::splat({ir::ElementType::kF64, {2}}, 1)});
  REQUIRE(!result.ok());
  CHECK(result.error().message == "input 'x' is f64[2], the model has it as f32[2]");
}
