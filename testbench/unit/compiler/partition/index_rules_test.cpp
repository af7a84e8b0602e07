// Integers, places that are computed, searches and the gradient of a largest value as device programs.
#include "testbench/unit/compiler/partition/device_check.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::compiler::test_support;

TEST_CASE("integers are computed as integers, beyond what f32 holds too") {
  const std::string two = parameter(0, "i32", "[3, 11]") + parameter(1, "i32", "[3, 11]");
  for (const char* op : {"add", "subtract", "multiply", "maximum", "minimum"})
    check(two + fmt::format("%2 = {}(%0, %1) : i32[3, 11]\nreturn \"y\" = %2\n", op),
          {draw(1, 33, -2'000'000'000, 2'000'000'000), draw(2, 33, -2'000'000'000, 2'000'000'000)});
  for (const char* direction : {"eq", "ne", "lt", "le", "gt", "ge"})
    check(two + fmt::format("%2 = compare(%0, %1) {{direction = {}}} : pred[3, 11]\n"
                            "%3 = select(%2, %0, %1) : i32[3, 11]\nreturn \"y\" = %2\nreturn \"z\" = %3\n",
                            direction),
          {draw(1, 33, 2'000'000'000, 2'000'000'003), draw(2, 33, 2'000'000'000, 2'000'000'003)});
  check(parameter(0, "i32", "[12]") +
            "%1 = constant() [16777217] : i32[]\n%2 = broadcast_in_dim(%1) {dimensions = [], dims = [12]} : i32[12]\n"
            "%3 = subtract(%2, %0) : i32[12]\n%4 = negate(%3) : i32[12]\n%5 = abs(%4) : i32[12]\n"
            "%6 = reduce(%5) {dimensions = [0], kind = add} : i32[]\n"
            "%7 = reduce(%5) {dimensions = [0], kind = maximum} : i32[]\n"
            "return \"y\" = %6\nreturn \"z\" = %7\nreturn \"w\" = %3\n",
        {draw(3, 12, -1'000'000'000, 1'000'000'000)});
}

TEST_CASE("conversions between f32, i32 and pred") {
  Numbers reals = draw(1, 40, -4000, 4000, 0.37);
  reals[0] = -0.5, reals[1] = 0.5, reals[2] = 3e9, reals[3] = -3e9, reals[4] = 8388609, reals[5] = 2.0, reals[6] = -7;
  check(parameter(0, "f32", "[4, 10]") +
            "%1 = convert(%0) {element = i32} : i32[4, 10]\n%2 = convert(%1) {element = f32} : f32[4, 10]\n"
            "return \"y\" = %1\nreturn \"z\" = %2\n",
        {reals});
  check(parameter(0, "pred", "[4, 10]") + parameter(1, "i32", "[4, 10]") +
            "%2 = convert(%0) {element = i32} : i32[4, 10]\n%3 = convert(%1) {element = pred} : pred[4, 10]\n"
            "%4 = and(%0, %3) : pred[4, 10]\nreturn \"x\" = %2\nreturn \"y\" = %3\nreturn \"z\" = %4\n",
        {draw(2, 40, 0, 1), draw(3, 40, -1, 1)});
}

TEST_CASE("rows of a table by computed indices, few and many of them, beyond its ends too") {
  for (const auto& [rows, batch] : {std::pair{7, 5}, {40, 60}})
    for (const char* element : {"f32", "i32"}) {
      if (rows == 40 && element[0] == 'i') continue;  // product
      Numbers table = draw(1, static_cast<size_t>(rows) * 9, -8'000'000, 8'000'000, element[0] == 'f' ? 1.7e-3 : 1);
      check(
          parameter(0, element, fmt::format("[{}, 9]", rows)) + parameter(1, "i32", fmt::format("[{}, 1]", batch)) +
              fmt::format("%2 = gather(%0, %1) {{collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], "
                          "slice_sizes = [1, 9], start_index_map = [0]}} : {}[{}, 9]\nreturn \"y\" = %2\n",
                          element, batch),
          {table, draw(2, static_cast<size_t>(batch), -3, rows + 3)});
    }
}

TEST_CASE("an element of each row by computed indices, and the way back") {
  // take_along_axis: the index vectors are (row, computed).
  const std::string indices = parameter(1, "i32", "[6, 1]") +
                              "%2 = iota() {dimension = 0, dims = [6, 1], element = i32} : i32[6, 1]\n"
                              "%3 = concatenate(%1, %2) {dimension = 1} : i32[6, 2]\n";
  check(parameter(0, "f32", "[6, 13]") + indices +
            "%4 = gather(%0, %3) {collapsed_slice_dims = [0, 1], index_vector_dim = 1, offset_dims = [], slice_sizes = "
            "[1, 1], start_index_map = [1, 0]} : f32[6]\nreturn \"y\" = %4\n",
        {draw(1, 78, -999, 999, 0.31), draw(2, 6, 0, 12)});
  check(parameter(0, "f32", "[6]") + indices +
            "%4 = constant() [0] : f32[]\n%5 = broadcast_in_dim(%4) {dimensions = [], dims = [6, 13]} : f32[6, 13]\n"
            "%6 = scatter(%5, %3, %0) {index_vector_dim = 1, inserted_window_dims = [0, 1], kind = add, "
            "scatter_dims_to_operand_dims = [1, 0], update_window_dims = []} : f32[6, 13]\nreturn \"y\" = %6\n",
        {draw(1, 6, -999, 999, 0.31), draw(2, 6, -1, 14)});
  check(parameter(0, "i32", "[6]") + indices + parameter(4, "i32", "[6, 13]") +
            "%5 = scatter(%4, %3, %0) {index_vector_dim = 1, inserted_window_dims = [0, 1], kind = set, "
            "scatter_dims_to_operand_dims = [1, 0], update_window_dims = []} : i32[6, 13]\nreturn \"y\" = %5\n",
        {draw(1, 6, -999, 999), draw(2, 6, -1, 14), draw(3, 78, 100'000'000, 200'000'000)});
}

TEST_CASE("rows are added up where indices are equal") {
  // Whole numbers: no order of sums changes them.
  check(parameter(0, "f32", "[50, 9]") + parameter(1, "i32", "[50, 1]") + parameter(2, "f32", "[12, 9]") +
            "%3 = scatter(%2, %1, %0) {index_vector_dim = 1, inserted_window_dims = [0], kind = add, "
            "scatter_dims_to_operand_dims = [0], update_window_dims = [1]} : f32[12, 9]\nreturn \"y\" = %3\n",
        {draw(1, 450, -65'000, 65'000), draw(2, 50, -2, 13), draw(3, 108, -65'000, 65'000)});
}

TEST_CASE("slices at computed places are read and written") {
  for (const char* element : {"f32", "i32"}) {
    const std::string x =
        parameter(0, element, "[10, 6]") + parameter(1, "i32", "[]") + "%2 = constant() [1] : i32[]\n";
    for (const double place : {-3.0, 0.0, 4.0, 8.0, 99.0}) {
      check(x + fmt::format("%3 = dynamic_slice(%0, %1, %2) {{slice_sizes = [2, 5]}} : {}[2, 5]\nreturn \"y\" = %3\n",
                            element),
            {draw(1, 60, -9999, 9999), {place}});
      check(x + parameter(3, element, "[3, 4]") +
                fmt::format("%4 = dynamic_update_slice(%0, %3, %1, %2) : {}[10, 6]\nreturn \"y\" = %4\n", element),
            {draw(1, 60, -9999, 9999), {place}, draw(2, 12, 10'000, 20'000)});
    }
  }
  check(parameter(0, "f32", "[6, 7]") + parameter(1, "i32", "[]") + parameter(2, "i32", "[]") +
            "%3 = dynamic_slice(%0, %1, %2) {slice_sizes = [2, 3]} : f32[2, 3]\nreturn \"y\" = %3\n",
        {draw(1, 42, -9999, 9999), {3}, {2}});
  check(parameter(0, "f32", "[6, 7]") + parameter(1, "f32", "[1, 7]") +
            "%2 = constant() [4] : i32[]\n%3 = constant() [0] : i32[]\n"
            "%4 = dynamic_update_slice(%0, %1, %2, %3) : f32[6, 7]\nreturn \"y\" = %4\n",
        {draw(1, 42, -9999, 9999), draw(2, 7, 10'000, 20'000)});
}

TEST_CASE("the place of the largest and of the smallest element, the first of equal ones, or NaN") {
  for (const auto& [better, first] : {std::pair{"gt", "-inf"}, {"lt", "inf"}}) {
    const std::string search = fmt::format(
        "%1 = iota() {{dimension = 1, dims = [9, 21], element = i32}} : i32[9, 21]\n"
        "%2 = constant() [{1}] : f32[]\n%3 = constant() [0] : i32[]\n"
        "%4, %5 = reduce_by(%0, %1, %2, %3) {{dimensions = [1]}} : f32[9], i32[9]\n"
        "  region {{\n  module \"region\"\n"
        "  %0 = parameter() {{dims = [], element = f32, name = \"0\"}} : f32[]\n"
        "  %1 = parameter() {{dims = [], element = i32, name = \"1\"}} : i32[]\n"
        "  %2 = parameter() {{dims = [], element = f32, name = \"2\"}} : f32[]\n"
        "  %3 = parameter() {{dims = [], element = i32, name = \"3\"}} : i32[]\n"
        "  %4 = compare(%0, %2) {{direction = {0}}} : pred[]\n  %5 = compare(%0, %0) {{direction = ne}} : pred[]\n"
        "  %6 = or(%4, %5) : pred[]\n  %7 = compare(%0, %2) {{direction = eq}} : pred[]\n"
        "  %8 = compare(%1, %3) {{direction = lt}} : pred[]\n  %9 = and(%7, %8) : pred[]\n  %10 = or(%6, %9) : pred[]\n"
        "  %11 = select(%6, %0, %2) : f32[]\n  %12 = select(%10, %1, %3) : i32[]\n"
        "  return \"0\" = %11\n  return \"1\" = %12\n  }}\nreturn \"y\" = %5\n",
        better, first);
    Numbers values = draw(1, 189, -4, 4);
    values[30] = NAN, values[35] = NAN;
    for (size_t i = 63; i < 84; i++) values[i] = first[0] == '-' ? -INFINITY : INFINITY;
    check(parameter(0, "f32", "[9, 21]") + search, {values});
  }
}

TEST_CASE("sources go to the first largest element of their windows, which may overlap") {
  const auto text = [](const char* window, const char* strides, const char* low, const char* places) {
    return parameter(0, "f32", "[2, 6, 6, 3]") + parameter(1, "f32", places) +
           fmt::format(
               "%2 = constant() [0] : f32[]\n"
               "%3 = select_and_scatter(%0, %1, %2) {{high = {2}, low = {2}, strides = {1}, window = {0}}} : "
               "f32[2, 6, 6, 3]\n"
               "  region {{\n  module \"region\"\n"
               "  %0 = parameter() {{dims = [], element = f32, name = \"0\"}} : f32[]\n"
               "  %1 = parameter() {{dims = [], element = f32, name = \"1\"}} : f32[]\n"
               "  %2 = compare(%0, %1) {{direction = ge}} : pred[]\n  return \"0\" = %2\n  }}\n"
               "  region {{\n  module \"region\"\n"
               "  %0 = parameter() {{dims = [], element = f32, name = \"0\"}} : f32[]\n"
               "  %1 = parameter() {{dims = [], element = f32, name = \"1\"}} : f32[]\n"
               "  %2 = add(%0, %1) : f32[]\n  return \"0\" = %2\n  }}\nreturn \"y\" = %3\n",
               window, strides, low);
  };
  const Numbers x = draw(1, 216, 0, 5);
  check(text("[1, 2, 2, 1]", "[1, 2, 2, 1]", "[0, 0, 0, 0]", "[2, 3, 3, 3]"), {x, draw(2, 54, 1, 99)});
  check(text("[1, 3, 3, 1]", "[1, 1, 1, 1]", "[0, 1, 1, 0]", "[2, 6, 6, 3]"), {x, draw(3, 216, 1, 99)});
  check(text("[1, 2, 2, 2]", "[1, 2, 2, 1]", "[0, 0, 0, 0]", "[2, 3, 3, 2]"), {x, draw(4, 36, 1, 99)});
}

TEST_CASE("what a device program does not have of places is refused by name") {
  const auto reason = [](const std::string& text) {
    const auto module = ir::parse(text);
    if (!module.ok()) FAIL(module.error().message);
    return device_use(module.value(), module.value().ops().back()).reason;
  };
  const std::string table = parameter(0, "f32", "[50, 9]");
  const char* rows =
      "{collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], slice_sizes = [1, 9], "
      "start_index_map = [0]} : f32[5, 9]\n";
  CHECK(reason(table + parameter(1, "u32", "[5, 1]") + "%2 = gather(%0, %1) " + rows) ==
        "gather at computed places that are not i32");
  CHECK(reason(
            parameter(0, "f32", "[3, 4]") + parameter(1, "i32", "[5, 2]") +
            "%2 = gather(%0, %1) {collapsed_slice_dims = [0, 1], index_vector_dim = 1, offset_dims = [], slice_sizes = "
            "[1, 1], start_index_map = [0, 1]} : f32[5]\n") == "gather at computed places");
  CHECK(reason(parameter(0, "i32", "[12, 9]") + parameter(1, "i32", "[50, 1]") + parameter(2, "i32", "[50, 9]") +
               "%3 = scatter(%0, %1, %2) {index_vector_dim = 1, inserted_window_dims = [0], kind = add, "
               "scatter_dims_to_operand_dims = [0], update_window_dims = [1]} : i32[12, 9]\n") ==
        "scatter at computed places that may be equal");
  CHECK(reason(parameter(0, "i32", "[7]") + parameter(1, "i32", "[7]") + "%2 = power(%0, %1) : i32[7]\n") ==
        "power of integers");
}
