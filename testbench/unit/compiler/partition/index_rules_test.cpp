// Integers, places that are computed, searches and the gradient of a largest value as device programs: equal to the
// reference, and bit by bit what the golden arithmetic gives, in any order of execution over VMEM full of NaN.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "host/compiler/ir/text.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/reference/graph_reference.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

/// Bits of a tensor as a device program reads and writes them: pred as 0 or 1 in f32.
std::vector<float> bits_of(const ir::Tensor& tensor) {
  std::vector<float> bits(tensor.type.count());
  for (uint64_t i = 0; i < bits.size(); i++) {
    const auto number = static_cast<float>(tensor.number(i));
    bits[i] = tensor.type.element == ir::ElementType::kI32
                  ? std::bit_cast<float>(static_cast<int32_t>(tensor.integer(i)))
                  : number;
  }
  return bits;
}

std::vector<uint32_t> words(const std::vector<float>& values) {
  std::vector<uint32_t> bits(values.size());
  if (!bits.empty()) std::memcpy(bits.data(), values.data(), 4 * bits.size());
  return bits;
}

using Numbers = std::vector<double>;

/// A program of `inputs` in text, whose outputs are to be what the reference computes, as a device program with all its
/// inputs in one argument and all its outputs in another.
void check(const std::string& text, const std::vector<Numbers>& inputs, const char* chip_name = "nano") {
  INFO(text << chip_name);
  const auto& chip = *spec::find_chip(chip_name);
  const auto parsed = ir::parse(text);
  if (!parsed.ok()) FAIL(parsed.error().message);
  const ir::Module& module = parsed.value();
  std::vector<ir::TensorPtr> tensors;
  std::vector<std::vector<float>> bits;
  std::vector<ir::Output> from;
  REQUIRE(module.inputs.size() == inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    auto tensor = std::make_shared<ir::Tensor>(module.type(module.inputs[i]));
    REQUIRE(inputs[i].size() == tensor->type.count());
    for (size_t e = 0; e < inputs[i].size(); e++) {
      if (tensor->type.element == ir::ElementType::kF32) tensor->as<float>()[e] = static_cast<float>(inputs[i][e]);
      if (tensor->type.element == ir::ElementType::kI32) tensor->as<int32_t>()[e] = static_cast<int32_t>(inputs[i][e]);
      if (tensor->type.element == ir::ElementType::kPred) tensor->as<uint8_t>()[e] = inputs[i][e] != 0;
    }
    bits.push_back(bits_of(*tensor));
    tensors.push_back(std::move(tensor));
    from.push_back({module.input_name(module.inputs[i]), module.inputs[i]});
  }
  std::vector<uint32_t> ops;
  for (uint32_t i = 0; i < module.ops().size(); i++) {
    const auto verdict = device_use(module, module.ops()[i]);
    if (module.ops()[i].kind == ir::OpKind::kParameter) continue;
    if (verdict.use == DeviceUse::kNone) FAIL(name_of(module.ops()[i].kind) << ": " << verdict.reason);
    ops.push_back(i);
  }
  const auto graph = device_graph(module, ops, from, module.outputs);
  if (!graph.ok()) FAIL(graph.error().message);
  const auto golden = tools::evaluate_golden(graph.value(), bits);
  const auto expected = reference::evaluate(module, tensors);
  if (!expected.ok()) FAIL(expected.error().message);
  const auto program = lower(chip, graph.value(), Arguments::kOne);
  if (!program.ok()) FAIL(program.error().message);
  const auto& places = program.value().places;
  const auto kernel = tiles::compile_resident(chip, program.value());
  if (!kernel.ok()) FAIL(kernel.error().message);
  REQUIRE(kernel.value().arguments.size() == 2);
  std::vector<std::vector<std::byte>> arguments(1);
  for (size_t i = 0; i < inputs.size(); i++) {
    const auto& tensor = graph.value().tensors[graph.value().inputs[i]];
    const auto rows = pack_rows_as(bits[i], tensor.rows, tensor.columns, tensor.dtype);
    REQUIRE(places[i].argument == 0);
    arguments[0].resize(places[i].offset_bytes);
    arguments[0].insert(arguments[0].end(), rows.begin(), rows.end());
  }
  const uint64_t bytes = kernel.value().arguments[1].size_bytes;
  arguments.emplace_back(bytes);
  test::ProgramExecutor executor(chip, kernel.value(), arguments, 1);
  REQUIRE(executor.run() == "");
  const auto all = executor.argument(1, bytes);
  for (size_t o = 0; o < module.outputs.size(); o++) {
    INFO("output " << o);
    const auto& y = graph.value().tensors[graph.value().outputs[o]];
    const auto& place = places[inputs.size() + o];
    REQUIRE(place.argument == 1);
    const auto dense = unpack_rows(std::span(all).subspan(place.offset_bytes, place.size_bytes), y.rows, y.columns, 4);
    std::vector<float> made(dense.size() / 4);
    std::memcpy(made.data(), dense.data(), dense.size());
    CHECK(words(made) == words(golden[o]));
    CHECK(words(golden[o]) == words(bits_of(*expected.value()[o])));
  }
}

std::string parameter(int number, const char* element, const std::string& dims) {
  return fmt::format("%{} = parameter() {{dims = {}, element = {}, name = \"x{}\"}} : {}{}\n", number, dims, element,
                     number, element, dims);
}

Numbers draw(uint64_t seed, size_t count, int64_t first, int64_t last, double scale = 1) {
  std::mt19937_64 random(seed);
  Numbers numbers(count);
  for (double& n : numbers)
    n = static_cast<double>(first + static_cast<int64_t>(random() % static_cast<uint64_t>(last - first + 1))) * scale;
  return numbers;
}

}  // namespace

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
  CHECK(reason(parameter(0, "i32", "[7]") + parameter(1, "i32", "[7]") + "%2 = divide(%0, %1) : i32[7]\n") ==
        "divide of integers");
}
