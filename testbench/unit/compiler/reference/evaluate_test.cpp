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

namespace {

std::string unary(const char* op, const char* attributes, const char* x, const char* from, const char* to) {
  return value(
      fmt::format("%0 = constant() {} : {}\n%1 = {}(%0){} : {}\nreturn \"y\" = %1\n", x, from, op, attributes, to));
}

/// A region on scalars of one type.
std::string region(const char* type, size_t arguments, const char* op, const char* result) {
  std::string text = "  region {\n", operands;
  for (size_t i = 0; i < arguments; i++) {
    text += fmt::format("  %{} = parameter() {{dims = [], element = {}, name = \"{}\"}} : {}[]\n", i, type, i, type);
    operands += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
  }
  return text + fmt::format("  %{0} = {1} : {2}[]\n  return \"0\" = %{0}\n  }}\n", arguments, op, result);
}

}  // namespace

TEST_CASE("bits are counted, shifted with the sign, and read as another type") {
  CHECK(unary("popcnt", "", "[0, -1, 5]", "i8[3]", "i8[3]") == "[0, 8, 2]");
  CHECK(unary("count_leading_zeros", "", "[0, 1, 255]", "u16[3]", "u16[3]") == "[16, 15, 8]");
  CHECK(binary("shift_right_arithmetic", "[-8, -8, 8]", "[1, 40, 2]", "i32[3]") == "[-4, -1, 2]");
  CHECK(unary("bitcast_convert", " {element = i32}", "[1, -0]", "f32[2]", "i32[2]") == "[1065353216, -2147483648]");
  CHECK(unary("bitcast_convert", " {element = u8}", "[258]", "u16[1]", "u8[1, 2]") == "[2, 1]");
  CHECK(unary("bitcast_convert", " {element = u16}", "[2, 1]", "u8[2]", "u16[]") == "[258]");
}

TEST_CASE("rounding away from zero, and to fewer bits") {
  CHECK(unary("round_nearest_afz", "", "[0.5, -0.5, 2.5]", "f32[3]", "f32[3]") == "[1, -1, 3]");
  CHECK(unary("reduce_precision", " {exponent_bits = 5, mantissa_bits = 2}", "[1.125, 1.375, 70000, -1e-9, nan]",
              "f32[5]", "f32[5]") == "[1, 1.5, inf, -0, nan]");
}

TEST_CASE("a dynamic slice is moved inside, and so is an update") {
  const auto slice = [](const char* index, const char* type) {
    return value(
        fmt::format("%0 = constant() [1, 2, 3, 4] : i32[4]\n%1 = constant() [{}] : {}[]\n"
                    "%2 = dynamic_slice(%0, %1) {{slice_sizes = [2]}} : i32[2]\nreturn \"y\" = %2\n",
                    index, type));
  };
  CHECK(slice("1", "i32") == "[2, 3]");
  CHECK(slice("-5", "i64") == "[1, 2]");
  CHECK(slice("18446744073709551615", "u64") == "[3, 4]");
  // The operand is read again: the update is not in place.
  CHECK(value("%0 = constant() [1, 2, 3] : i32[3]\n%1 = constant() [9] : i32[1]\n%2 = constant() [7] : i32[]\n"
              "%3 = dynamic_update_slice(%0, %1, %2) : i32[3]\n%4 = subtract(%3, %0) : i32[3]\nreturn \"y\" = %4\n") ==
        "[0, 0, 6]");
}

TEST_CASE("a loop runs until its condition is false, and a branch by an index beyond is the last one") {
  const std::string start = "%0 = constant() [1] : i32[]\n%1 = constant() [100] : i32[]\n";
  CHECK(value(start + "%2 = while(%0, %1) {carried = 1} : i32[]\n" +
              region("i32", 2, "compare(%0, %1) {direction = lt}", "pred") + region("i32", 2, "add(%0, %0)", "i32") +
              "return \"y\" = %2\n") == "[128]");
  const auto branch = [](const char* index) {
    return value(
        fmt::format("%0 = constant() [{}] : i32[]\n%1 = constant() [5] : i32[]\n%2 = case(%0, %1) : i32[]\n", index) +
        region("i32", 1, "negate(%0)", "i32") + region("i32", 1, "add(%0, %0)", "i32") + "return \"y\" = %2\n");
  };
  CHECK(branch("0") == "[-5]");
  CHECK(branch("1") == "[10]");
  CHECK(branch("2") == "[10]");
  CHECK(branch("-1") == "[10]");
}

TEST_CASE("a reduction by a region keeps the order of its elements, for any number of them") {
  // The left one of each pair: what comes out first is the initial value, then the first element.
  const auto first = [](const char* elements, int count) {
    return value(fmt::format("%0 = constant() {} : i32[2, {}]\n%1 = constant() [0] : i32[]\n"
                             "%2 = reduce_by(%0, %1) {{dimensions = [1]}} : i32[2]\n",
                             elements, count) +
                 region("i32", 2, "subtract(%0, %1)", "i32") + "return \"y\" = %2\n");
  };
  CHECK(first("[5, 7]", 1) == "[-5, -7]");
  CHECK(first("[5, 3, 7, 1]", 2) == "[-2, -6]");
  CHECK(first("[9, 2, 1, 8, 3, 1]", 3) == "[-6, -4]");
  CHECK(first("[]", 0) == "[0, 0]");
}

TEST_CASE("a sort by a region is stable for any number of elements") {
  for (int count = 0; count <= 17; count++) {
    std::string keys, numbers, expected_keys, expected_numbers;
    for (int i = 0; i < count; i++) {
      keys += fmt::format("{}{}", i == 0 ? "" : ", ", i * 7 % 5);
      numbers += fmt::format("{}{}", i == 0 ? "" : ", ", i);
    }
    for (int key = 0; key < 5; key++)
      for (int i = 0; i < count; i++)
        if (i * 7 % 5 == key) expected_numbers += fmt::format("{}{}", expected_numbers.empty() ? "" : ", ", i);
    CHECK(value(fmt::format("%0 = constant() [{}] : i32[{}]\n%1 = constant() [{}] : i32[{}]\n"
                            "%2, %3 = sort_by(%0, %1) {{dimension = 0}} : i32[{}], i32[{}]\n",
                            keys, count, numbers, count, count, count) +
                region("i32", 4, "compare(%0, %1) {direction = lt}", "pred") + "return \"y\" = %3\n") ==
          "[" + expected_numbers + "]");
  }
}

TEST_CASE("updates of one place by a region meet it one after the other") {
  CHECK(value("%0 = constant() [100, 200] : i32[2]\n%1 = constant() [0, 1, 0, 7, 0] : i32[5, 1]\n"
              "%2 = constant() [1, 2, 3, 4, 5] : i32[5]\n"
              "%3 = scatter_by(%0, %1, %2) {index_vector_dim = 1, inserted_window_dims = [0], "
              "scatter_dims_to_operand_dims = [0], update_window_dims = []} : i32[2]\n" +
              region("i32", 2, "subtract(%0, %1)", "i32") + "return \"y\" = %3\n") == "[91, 198]");
}

TEST_CASE("select and scatter gives each source to the element that its window chooses") {
  CHECK(
      value("%0 = constant() [1, 5, 2, 5, 4] : i32[5]\n%1 = constant() [10, 20] : i32[2]\n%2 = constant() [0] : i32[]\n"
            "%3 = select_and_scatter(%0, %1, %2) {high = [0], low = [0], strides = [2], window = [3]} : i32[5]\n" +
            region("i32", 2, "compare(%0, %1) {direction = ge}", "pred") + region("i32", 2, "add(%0, %1)", "i32") +
            "return \"y\" = %3\n") == "[0, 10, 0, 20, 0]");
}

TEST_CASE("a decomposition reads one triangle, and a system is solved from either side") {
  CHECK(unary("cholesky", " {lower = 1}", "[4, 99, 2, 5]", "f32[2, 2]", "f32[2, 2]") == "[2, 0, 1, 2]");
  CHECK(unary("cholesky", " {lower = 0}", "[4, 2, 99, 5]", "f32[2, 2]", "f32[2, 2]") == "[2, 1, 0, 2]");
  const auto solve = [](int left, int lower, int transpose, int unit, const char* b, const char* type) {
    return value(
        fmt::format("%0 = constant() [2, 4, 1, 8] : f32[2, 2]\n%1 = constant() {} : {}\n"
                    "%2 = triangular_solve(%0, %1) {{left_side = {}, lower = {}, transpose = {}, "
                    "unit_diagonal = {}}} : {}\nreturn \"y\" = %2\n",
                    b, type, left, lower, transpose, unit, type));
  };
  CHECK(solve(1, 1, 0, 0, "[6, 19]", "f32[2, 1]") == "[3, 2]");   // 2 x = 6, x + 8 y = 19
  CHECK(solve(1, 0, 0, 0, "[14, 16]", "f32[2, 1]") == "[3, 2]");  // 2 x + 4 y = 14, 8 y = 16
  CHECK(solve(1, 1, 1, 0, "[8, 16]", "f32[2, 1]") == "[3, 2]");   // 2 x + y = 8, 8 y = 16
  CHECK(solve(0, 1, 0, 0, "[8, 16]", "f32[1, 2]") == "[3, 2]");   // 2 x + y = 8, 8 y = 16
  CHECK(solve(0, 0, 0, 0, "[6, 28]", "f32[1, 2]") == "[3, 2]");   // 2 x = 6, 4 x + 8 y = 28
  CHECK(solve(1, 1, 0, 1, "[3, 5]", "f32[2, 1]") == "[3, 2]");    // x = 3, x + y = 5
}

TEST_CASE("rows are exchanged so that the largest element of a column divides the others") {
  const auto lu = [](const char* a, int result) {
    return value(
        fmt::format("%0 = constant() {} : f32[3, 2]\n%1, %2, %3 = lu(%0) : f32[3, 2], i32[2], i32[3]\n"
                    "return \"y\" = %{}\n",
                    a, result));
  };
  const char* a = "[1, 2, 2, 8, 4, 8]";  // rows (1, 2), (2, 8), (4, 8)
  CHECK(lu(a, 1) == "[4, 8, 0.5, 4, 0.25, 0]");
  CHECK(lu(a, 2) == "[2, 1]");
  CHECK(lu(a, 3) == "[2, 1, 0]");
  CHECK(lu("[0, 0, 0, 0, 0, 0]", 1) == "[0, 0, 0, 0, 0, 0]");
}

TEST_CASE("a matrix is reflected to a triangle, and the reflections make its orthogonal factor") {
  const auto qr = [](const char* a, const char* type, const char* factors, int result) {
    return value(fmt::format("%0 = constant() {} : {}\n%1, %2 = qr(%0) : {}, {}\nreturn \"y\" = %{}\n", a, type, type,
                             factors, result));
  };
  // The column (3, 4) becomes (-5, 0) by 1 - 1.6 v vT with v = (1, 0.5).
  CHECK(qr("[3, 4]", "f32[2, 1]", "f32[1]", 1) == "[-5, 0.5]");
  CHECK(qr("[3, 4]", "f32[2, 1]", "f32[1]", 2) == "[1.6]");
  CHECK(qr("[3, 10, 4, 5]", "f32[2, 2]", "f32[2]", 1) == "[-5, -10, 0.5, -5]");
  CHECK(qr("[7, 2]", "f32[1, 2]", "f32[1]", 1) == "[7, 2]");  // nothing is below
  CHECK(qr("[7, 2]", "f32[1, 2]", "f32[1]", 2) == "[0]");
  const auto product = [](const char* vectors, const char* type, const char* factors, const char* of) {
    return value(
        fmt::format("%0 = constant() {} : {}\n%1 = constant() {} : {}\n%2 = householder_product(%0, %1) : {}\n"
                    "return \"y\" = %2\n",
                    vectors, type, factors, of, type));
  };
  CHECK(product("[-5, 0.5]", "f64[2, 1]", "[1.6]", "f64[1]") == "[-0.6000000000000001, -0.8]");
  CHECK(product("[-5, -10, 0.5, -5]", "f32[2, 2]", "[1.6, 0]", "f32[2]") == "[-0.6, -0.8, -0.8, 0.6]");
}

TEST_CASE("eigenvalues come in order, of the triangle that is asked for") {
  const auto eigh = [](const char* a, const char* type, const char* values, int lower, int result) {
    return value(fmt::format("%0 = constant() {} : {}\n%1, %2 = eigh(%0) {{lower = {}}} : {}, {}\nreturn \"y\" = %{}\n",
                             a, type, lower, type, values, result));
  };
  CHECK(eigh("[2, 99, 1, 2]", "f32[2, 2]", "f32[2]", 1, 2) == "[1, 3]");
  CHECK(eigh("[2, 1, 99, 2]", "f32[2, 2]", "f32[2]", 0, 2) == "[1, 3]");
  CHECK(eigh("[9, 0, 0, 4]", "f32[2, 2]", "f32[2]", 1, 2) == "[4, 9]");
  CHECK(eigh("[9, 0, 0, 4]", "f32[2, 2]", "f32[2]", 1, 1) == "[0, 1, 1, 0]");  // columns go with their values
  // Of two matrices.
  CHECK(eigh("[0, 0, 0, 3, 0, 0, 0, 0, 7, 1, 0, 0, 0, 1, 0, 0, 0, 1]", "f32[2, 3, 3]", "f32[2, 3]", 1, 2) ==
        "[-3, 3, 7, 1, 1, 1]");
  CHECK(eigh("[nan, 0, 0, 4]", "f32[2, 2]", "f32[2]", 1, 2) == "[nan, nan]");
}

TEST_CASE("windows of several tensors are combined together") {
  // The larger of two neighbours, and its place.
  CHECK(value("%0 = constant() [3, 7, 5] : i32[3]\n%1 = constant() [0, 1, 2] : i32[3]\n%2 = constant() [-9] : i32[]\n"
              "%3 = constant() [-1] : i32[]\n%4, %5 = reduce_window_by(%0, %1, %2, %3) {dilation = [1], high = [1], "
              "low = [0], strides = [1], window = [2]} : i32[3], i32[3]\n"
              "  region {\n"
              "  %0 = parameter() {dims = [], element = i32, name = \"0\"} : i32[]\n"
              "  %1 = parameter() {dims = [], element = i32, name = \"1\"} : i32[]\n"
              "  %2 = parameter() {dims = [], element = i32, name = \"2\"} : i32[]\n"
              "  %3 = parameter() {dims = [], element = i32, name = \"3\"} : i32[]\n"
              "  %4 = compare(%0, %2) {direction = ge} : pred[]\n"
              "  %5 = select(%4, %0, %2) : i32[]\n  %6 = select(%4, %1, %3) : i32[]\n"
              "  return \"0\" = %5\n  return \"1\" = %6\n  }\nreturn \"y\" = %5\n") == "[1, 1, 2]");
}
