// What joins a product, or is done in another place because of one.
#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <tuple>

#include "testbench/unit/compiler/partition/operator_check.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::test;

TEST_CASE("a matrix that several products multiply by is rounded once") {
  const auto casts = [](int products) {
    std::string text = parameter(0, "[3, 2, 20]") + parameter(1, "[3, 20, 9]") + "%2 = tanh(%1) : f32[3, 20, 9]\n";
    int next = 3, sum = -1;
    for (int i = 0; i < products; i++) {
      text += fmt::format(
          "%{0} = {2}(%{3}) : f32[3, 2, 20]\n%{1} = dot_general(%{0}, %2) {{lhs_batch = [0], "
          "lhs_contract = [2], rhs_batch = [0], rhs_contract = [1]}} : f32[3, 2, 9]\n",
          next, next + 1, i == 0 ? "tanh" : "exponential", 0);
      if (sum >= 0) text += fmt::format("%{} = add(%{}, %{}) : f32[3, 2, 9]\n", next + 2, sum, next + 1);
      sum = sum >= 0 ? next + 2 : next + 1, next = sum + 1;
    }
    text += returned(sum);
    check(text, kBf16);
    const auto module = ir::parse(text);
    const auto graph = whole_device_graph(module.value());
    if (!graph.ok()) FAIL(graph.error().message);
    const auto kernel =
        tiles::compile_resident(*spec::find_chip("nano"), lower(*spec::find_chip("nano"), graph.value()).value());
    if (!kernel.ok()) FAIL(kernel.error().message);
    size_t count = 0;
    for (const auto& command : kernel.value().queues[WEFT_QUEUE_VPU]) {
      const bool made = spec::load_le(command, 0, 1) == WEFT_OPCODE_CAST;
      count += made && kernel.value().tags.at(static_cast<uint16_t>(spec::load_le(command, 2, 2))).ends_with("weights");
    }
    return count;
  };
  CHECK(casts(1) != 0);
  CHECK(casts(2) == casts(1));
}

TEST_CASE("rows that are divided by their sums are divided behind a product that makes them much shorter") {
  const auto text = [](int width, int columns, const char* what, const char* of = "exponential") {
    return parameter(0, fmt::format("[2, 9, {}]", width)) + parameter(1, fmt::format("[2, {}, {}]", width, columns)) +
           fmt::format(
               "%2 = {3}(%0) : f32[2, 9, {0}]\n"
               "%3 = reduce(%2) {{dimensions = [2], kind = {2}}} : f32[2, 9]\n"
               "%4 = reshape(%3) {{dims = [2, 9, 1]}} : f32[2, 9, 1]\n"
               "%5 = broadcast_in_dim(%4) {{dimensions = [0, 1, 2], dims = [2, 9, {0}]}} : f32[2, 9, {0}]\n"
               "%6 = divide(%2, %5) : f32[2, 9, {0}]\n"
               "%7 = dot_general(%6, %1) {{lhs_batch = [0], lhs_contract = [2], rhs_batch = [0], rhs_contract = [1]}} "
               ": f32[2, 9, {1}]\n",
               width, columns, what, of) +
           returned(7);
  };
  const auto reductions = [](const std::string& of) {
    const auto module = ir::parse(of);
    if (!module.ok()) FAIL(module.error().message);
    const auto graph = whole_device_graph(module.value());
    if (!graph.ok()) FAIL(graph.error().message);
    return std::ranges::count_if(graph.value().nodes,
                                 [](const Node& n) { return std::holds_alternative<ReduceNode>(n); });
  };
  CHECK(reductions(text(512, 10, "add")) == 0);  // the sums are a product by ones
  CHECK(reductions(text(511, 10, "add")) == 1);
  CHECK(reductions(text(512, 129, "add")) == 1);
  CHECK(reductions(text(512, 10, "maximum")) == 1);
  CHECK(reductions(text(512, 10, "add", "tanh")) == 1);  // its sums may cancel
  check(text(512, 10, "add"), kBf16);
}

TEST_CASE("a scaled softmax is scaled once, and a GELU is four operations") {
  const auto nodes = [](const std::string& text) {
    const auto module = ir::parse(text);
    if (!module.ok()) FAIL(module.error().message);
    const auto graph = whole_device_graph(module.value());
    if (!graph.ok()) FAIL(graph.error().message);
    return graph.value().nodes.size();
  };
  const std::string softmax =
      parameter(0, "[13, 19]") +
      "%1 = constant() [0.3] : f32[]\n%2 = broadcast_in_dim(%1) {dimensions = [], dims = [13, 19]} : f32[13, 19]\n"
      "%3 = multiply(%0, %2) : f32[13, 19]\n%4 = reduce(%3) {dimensions = [1], kind = maximum} : f32[13]\n"
      "%5 = broadcast_in_dim(%4) {dimensions = [0], dims = [13, 19]} : f32[13, 19]\n%6 = subtract(%3, %5) : f32[13, "
      "19]\n"
      "%7 = exponential(%6) : f32[13, 19]\n" +
      returned(7);
  CHECK(nodes(softmax) == 4);
  check(softmax, kF32);
  const auto number = [](int at, const char* value) {
    return fmt::format(
        "%{0} = constant() [{1}] : f32[]\n%{2} = broadcast_in_dim(%{0}) {{dimensions = [], dims = [7, 11]}} : f32[7, "
        "11]\n",
        at, value, at + 1);
  };
  const std::string gelu =
      parameter(0, "[7, 11]") + number(1, "0.5") + number(3, "0.70710678") + number(5, "1") +
      "%7 = multiply(%0, %2) : f32[7, 11]\n%8 = multiply(%0, %4) : f32[7, 11]\n"
      "%9 = erf(%8) : f32[7, 11]\n%10 = add(%9, %6) : f32[7, 11]\n%11 = multiply(%7, %10) : f32[7, 11]\n" +
      returned(11);
  CHECK(nodes(gelu) == 4);
  check(gelu, kF32);
  // Of a product, what erf reads is computed by the product.
  const std::string behind =
      parameter(0, "[7, 5]") + number(1, "0.5") + number(3, "0.70710678") + number(5, "1") +
      constant(7, "[5, 11]", 55, 8) +
      "%8 = dot_general(%0, %7) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]} : f32[7, 11]\n"
      "%9 = multiply(%8, %2) : f32[7, 11]\n%10 = multiply(%8, %4) : f32[7, 11]\n"
      "%11 = erf(%10) : f32[7, 11]\n%12 = add(%11, %6) : f32[7, 11]\n%13 = multiply(%9, %12) : f32[7, 11]\n" +
      returned(13);
  CHECK(nodes(behind) == 4);
  check(behind, kBf16);
}

TEST_CASE("many products of one term are one multiplication with the bits of products") {
  const auto text = [](int batch, int rows, int columns) {
    return parameter(0, fmt::format("[{}, {}, 1]", batch, rows)) +
           parameter(1, fmt::format("[{}, 1, {}]", batch, columns)) +
           fmt::format(
               "%2 = dot_general(%0, %1) {{lhs_batch = [0], lhs_contract = [2], rhs_batch = [0], rhs_contract = [1]}} "
               ": f32[{}, {}, {}]\n",
               batch, rows, columns) +
           returned(2);
  };
  for (const auto& [batch, rows, columns, products] :
       {std::tuple(2000, 1, 1, 0), std::tuple(64, 2, 4, 0), std::tuple(77, 8, 1, 0), std::tuple(77, 1, 5, 0),
        std::tuple(63, 1, 1, 1), std::tuple(64, 3, 3, 1)}) {
    INFO(batch << " products of " << rows << " x " << columns);
    const auto module = ir::parse(text(batch, rows, columns));
    if (!module.ok()) FAIL(module.error().message);
    const auto graph = whole_device_graph(module.value());
    if (!graph.ok()) FAIL(graph.error().message);
    CHECK(std::ranges::count_if(graph.value().nodes,
                                [](const Node& n) { return std::holds_alternative<PairProductNode>(n); }) == products);
    check(text(batch, rows, columns), kBf16);
    // Each result is the product of its own operands alone, in the arithmetic of a graph of one product, whatever they are.
    std::vector<std::vector<float>> values{std::vector<float>(batch * rows), std::vector<float>(batch * columns)};
    constexpr uint32_t kSpecial[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001,
                                     0x00800000, 0x7f7fffff, 0x1f800000, 0x3f812345, 0xbf800000};
    uint32_t next = 0;
    for (auto& operand : values)
      for (float& v : operand) {
        v = std::bit_cast<float>(next % 3 == 0 ? kSpecial[next / 3 % std::size(kSpecial)] : 0x3f000000 + 77777 * next);
        next += 7;
      }
    const auto together = tools::evaluate_golden(graph.value(), values);
    REQUIRE(together.size() == 1);
    REQUIRE(together[0].size() == static_cast<size_t>(batch * rows * columns));
    Graph one;
    one.name = "one";
    one.tensors = {{"x", {rows, 1}, static_cast<uint64_t>(rows), 1},
                   {"w", {1, columns}, 1, static_cast<uint64_t>(columns)},
                   {"y", {rows, columns}, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns)}};
    one.tensors[2].dtype = WEFT_VPU_DTYPE_F32;
    one.nodes.emplace_back(PairProductNode{"product", 0, 1, 2, 1});
    one.inputs = {0, 1}, one.outputs = {2};
    size_t differ = 0;
    for (int b = 0; b < batch; b++) {
      const auto piece = [&](size_t operand, int size) {
        const auto first = values[operand].begin() + b * size;
        return std::vector<float>(first, first + size);
      };
      const auto alone = tools::evaluate_golden(one, {piece(0, rows), piece(1, columns)});
      differ += std::memcmp(alone[0].data(), &together[0][static_cast<size_t>(b * rows * columns)],
                            alone[0].size() * sizeof(float)) != 0;
    }
    CHECK(differ == 0);
  }
}
