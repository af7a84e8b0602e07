// Movements, reductions, products, convolutions and windows as device programs: close to the reference, and bit by bit
// what the golden arithmetic gives, in any order of execution over VMEM full of NaN.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <set>

#include "testbench/unit/compiler/partition/operator_check.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::test;

TEST_CASE("elements from anywhere in several matrices come together as any matrix") {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    std::mt19937_64 random(seed);
    Graph graph;
    graph.name = "movement";
    uint64_t elements = 0;
    std::vector<std::vector<float>> inputs;
    for (uint64_t i = 0, count = 1 + random() % 3; i < count; i++) {
      const uint64_t rows = 1 + random() % 20, columns = 1 + random() % 20;
      graph.tensors.push_back({fmt::format("x{}", i),
                               {static_cast<int64_t>(rows), static_cast<int64_t>(columns)},
                               rows,
                               columns,
                               WEFT_VPU_DTYPE_F32});
      graph.inputs.push_back(i);
      elements += rows * columns;
      inputs.push_back(draw(random, rows * columns));
    }
    const uint64_t rows = 1 + random() % 20, columns = 1 + random() % 20;
    graph.tensors.push_back({"y", {static_cast<int64_t>(rows), static_cast<int64_t>(columns)}, rows, columns});
    graph.outputs = {graph.tensors.size() - 1};
    auto from = std::make_shared<std::vector<uint32_t>>(rows * columns);
    // Anything, or steps between rows and columns that go round.
    const uint64_t first = random() % elements, down = random() % 24, across = random() % 24;
    for (uint64_t i = 0; i < from->size(); i++)
      (*from)[i] = static_cast<uint32_t>(
          (seed % 4 == 0 ? random() : first + i / columns * down + i % columns * across) % elements);
    graph.nodes.emplace_back(RearrangeNode{"move", graph.inputs, graph.outputs[0], from});
    REQUIRE(check_graph(graph).ok());
    std::vector<float> all, wanted;
    for (const auto& input : inputs) all.insert(all.end(), input.begin(), input.end());
    for (const uint32_t i : *from) wanted.push_back(all[i]);
    INFO("seed " << seed);
    CHECK(differing(run(*spec::find_chip("nano"), graph, inputs, seed), wanted) == 0);
  }
}

TEST_CASE("operators that move elements") {
  for (const char* order : {"[0, 2, 1]", "[1, 0, 2]", "[1, 2, 0]", "[2, 0, 1]", "[2, 1, 0]"}) {
    ir::Dims to;
    for (const char* c = order; *c != 0; c++)
      if (*c >= '0' && *c <= '2') to.push_back(std::array{9, 4, 11}[static_cast<size_t>(*c - '0')]);
    check(parameter(0, "[9, 4, 11]") +
              fmt::format("%1 = transpose(%0) {{permutation = {}}} : f32[{}]\n", order, fmt::join(to, ", ")) +
              returned(1),
          kExact);
  }
  check(parameter(0, "[4, 3]") +
            "%1 = broadcast_in_dim(%0) {dimensions = [1, 3], dims = [2, 4, 10, 3]} : f32[2, 4, 10, 3]\n" + returned(1),
        kExact);
  check(parameter(0, "[9, 20]") + "%1 = slice(%0) {limit = [9, 18], start = [1, 3], stride = [2, 5]} : f32[4, 3]\n" +
            returned(1),
        kExact);
  check(parameter(0, "[5, 6]") + constant(1, "[]", 1, 7) +
            "%2 = pad(%0, %1) {high = [1, 3], interior = [1, 0], low = [2, 1]} : f32[12, 10]\n" + returned(2),
        kExact);
  check(
      parameter(0, "[3, 5]") + parameter(1, "[3, 9]") +
          "%2 = concatenate(%0, %1) {dimension = 1} : f32[3, 14]\n%3 = reverse(%2) {dimensions = [1]} : f32[3, 14]\n" +
          returned(3),
      kExact);
}

TEST_CASE("sums, largest, smallest and products over dimensions, narrower and wider than N") {
  const auto reduce = [](const char* kind, const char* gone, const char* in, const char* out) {
    check(parameter(0, in) + fmt::format("%1 = reduce(%0) {{dimensions = {}, kind = {}}} : f32{}\n", gone, kind, out) +
              returned(1),
          kF32);
  };
  for (const char* kind : {"add", "maximum", "minimum", "multiply"}) {
    reduce(kind, "[1]", "[11, 5]", "[11]");
    reduce(kind, "[1]", "[11, 8]", "[11]");
    reduce(kind, "[1]", "[70, 16]", "[70]");
    reduce(kind, "[1]", "[11, 21]", "[11]");
    reduce(kind, "[0, 2]", "[3, 4, 5]", "[4]");
    reduce(kind, "[0, 1]", "[6, 7]", "[]");
  }
}

TEST_CASE("a softmax over the last dimension, narrower and wider than N") {
  for (const int width : {6, 8, 19, 24, 64, 100})
    check(parameter(0, fmt::format("[2, 13, {}]", width)) +
              fmt::format("%1 = reduce(%0) {{dimensions = [2], kind = maximum}} : f32[2, 13]\n"
                          "%2 = broadcast_in_dim(%1) {{dimensions = [0, 1], dims = [2, 13, {0}]}} : f32[2, 13, {0}]\n"
                          "%3 = subtract(%0, %2) : f32[2, 13, {0}]\n%4 = exponential(%3) : f32[2, 13, {0}]\n"
                          "%5 = reduce(%4) {{dimensions = [2], kind = add}} : f32[2, 13]\n"
                          "%6 = broadcast_in_dim(%5) {{dimensions = [0, 1], dims = [2, 13, {0}]}} : f32[2, 13, {0}]\n"
                          "%7 = divide(%4, %6) : f32[2, 13, {0}]\n",
                          width) +
              returned(7),
          kF32);
}

TEST_CASE("products of computed matrices, many at a time, with dimensions in any order") {
  check(parameter(0, "[3, 10, 7]") + parameter(1, "[3, 7, 9]") +
            "%2 = dot_general(%0, %1) {lhs_batch = [0], lhs_contract = [2], rhs_batch = [0], rhs_contract = [1]} : "
            "f32[3, 10, 9]\n" +
            returned(2),
        kBf16);
  check(parameter(0, "[10, 3, 20]") + parameter(1, "[9, 3, 20]") +
            "%2 = dot_general(%0, %1) {lhs_batch = [1], lhs_contract = [2], rhs_batch = [1], rhs_contract = [2]} : "
            "f32[3, 10, 9]\n" +
            returned(2),
        kBf16);
  check(parameter(0, "[70, 12]") + constant(1, "[5, 12]", 60, 3) +
            "%2 = dot_general(%1, %0) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [1]} : "
            "f32[5, 70]\n" +
            returned(2),
        kBf16);
}

TEST_CASE("columns of rows in several row chunks become rows together") {
  // Channels of an image, line by line, become pixels: the lines of a pixel lie in several row chunks.
  constexpr size_t kChannels = 3, kLines = 40, kColumns = 13;
  const auto& nano = *spec::find_chip("nano");
  Graph graph;
  graph.name = "pixels";
  graph.tensors.push_back({"x", {kChannels * kLines, kColumns}, kChannels * kLines, kColumns, WEFT_VPU_DTYPE_F32});
  graph.tensors.push_back({"y", {kLines * kColumns, kChannels}, kLines * kColumns, kChannels, WEFT_VPU_DTYPE_F32});
  graph.inputs = {0}, graph.outputs = {1};
  auto from = std::make_shared<std::vector<uint32_t>>();
  for (size_t pixel = 0; pixel < kLines * kColumns; pixel++)
    for (size_t channel = 0; channel < kChannels; channel++)
      from->push_back(static_cast<uint32_t>(channel * kLines * kColumns + pixel));
  graph.nodes.emplace_back(RearrangeNode{"move", {0}, 1, from});
  REQUIRE(check_graph(graph).ok());
  std::mt19937_64 random(1);
  const auto x = draw(random, from->size());
  std::vector<float> wanted;
  for (const uint32_t i : *from) wanted.push_back(x[i]);
  CHECK(differing(run(nano, graph, {x}, 1), wanted) == 0);
  const auto program = lower(nano, graph);
  REQUIRE(program.ok());
  const auto kernel = tiles::compile_resident(nano, program.value());
  REQUIRE(kernel.ok());
  // Of each line two blocks of columns: some copies and a transposition, and not a few for each pixel.
  CHECK(kernel.value().queues[WEFT_QUEUE_VPU].size() <= 2 * kLines * (kChannels + 3));
}

TEST_CASE("columns of two sources that lie in other lanes of each become rows together") {
  // Keys of a cache, a row for each head and token, and new ones, a row for each token with all heads: for each head
  // they become a column for each token.
  constexpr size_t kHeads = 2, kPast = 5, kNew = 7, kSize = 6, kTokens = kPast + kNew;
  const auto& nano = *spec::find_chip("nano");
  Graph graph;
  graph.name = "keys";
  graph.tensors.push_back({"past", {kHeads * kPast, kSize}, kHeads * kPast, kSize, WEFT_VPU_DTYPE_F32});
  graph.tensors.push_back({"new", {kNew, kHeads * kSize}, kNew, kHeads * kSize, WEFT_VPU_DTYPE_F32});
  graph.tensors.push_back({"y", {kHeads * kSize, kTokens}, kHeads * kSize, kTokens, WEFT_VPU_DTYPE_F32});
  graph.inputs = {0, 1}, graph.outputs = {2};
  auto from = std::make_shared<std::vector<uint32_t>>();
  for (size_t head = 0; head < kHeads; head++)
    for (size_t i = 0; i < kSize; i++)
      for (size_t token = 0; token < kTokens; token++)
        from->push_back(static_cast<uint32_t>(token < kPast ? (head * kPast + token) * kSize + i
                                                            : kHeads * kPast * kSize +
                                                                  (token - kPast) * kHeads * kSize + head * kSize + i));
  graph.nodes.emplace_back(RearrangeNode{"move", {0, 1}, 2, from});
  REQUIRE(check_graph(graph).ok());
  std::mt19937_64 random(2);
  const auto past = draw(random, kHeads * kPast * kSize), fresh = draw(random, kNew * kHeads * kSize);
  std::vector<float> wanted;
  for (const uint32_t i : *from) wanted.push_back(i < past.size() ? past[i] : fresh[i - past.size()]);
  CHECK(differing(run(nano, graph, {past, fresh}, 2), wanted) == 0);
  const auto program = lower(nano, graph);
  REQUIRE(program.ok());
  const auto kernel = tiles::compile_resident(nano, program.value());
  REQUIRE(kernel.ok());
  // Of three groups of rows two copies and a transposition for each block of tokens, and not one for each element.
  CHECK(kernel.value().queues[WEFT_QUEUE_VPU].size() <= kHeads * kTokens);
}

TEST_CASE("lanes that move together within their rows are rotated, a command for each run of them") {
  const auto commands = [](const std::string& text) {
    check(text, kExact);
    const auto module = ir::parse(text);
    REQUIRE(module.ok());
    const auto graph = whole_device_graph(module.value());
    REQUIRE(graph.ok());
    const auto program = lower(*spec::find_chip("nano"), graph.value());
    REQUIRE(program.ok());
    const auto kernel = tiles::compile_resident(*spec::find_chip("nano"), program.value());
    REQUIRE(kernel.ok());
    int rotations = 0, transpositions = 0;
    for (const auto& command : kernel.value().queues[WEFT_QUEUE_VPU]) {
      const auto c = spec::decode_vpu(command);
      rotations += c.header.opcode == WEFT_OPCODE_ELEMENTWISE && c.op == WEFT_VPU_OP_ROTATE;
      transpositions += c.header.opcode == WEFT_OPCODE_TRANSPOSE;
    }
    return fmt::format("{} rotations, {} transpositions", rotations, transpositions);
  };
  const auto columns = [](int result, int first, int end) {
    return fmt::format("%{} = slice(%0) {{limit = [8, {}], start = [0, {}], stride = [1, 1]}} : f32[8, {}]\n", result,
                       end, first, end - first);
  };
  const auto added = [](int value, const char* type) {
    return fmt::format("%{} = add(%{}, %{}) : f32{}\n", value + 1, value, value, type) + returned(value + 1);
  };
  const auto beside = [](const char* type) {
    return fmt::format("%3 = concatenate(%1, %2) {{dimension = 1}} : f32{}\n", type);
  };
  const std::string wide = parameter(0, "[8, 16]");
  CHECK(commands(wide + columns(1, 3, 7) + added(1, "[8, 4]")) == "1 rotations, 0 transpositions");
  // of both blocks of columns
  CHECK(commands(wide + columns(1, 5, 12) + added(1, "[8, 7]")) == "2 rotations, 0 transpositions");
  // beside lanes that stay where they are, and around the row's end
  CHECK(commands(wide + columns(1, 0, 4) + columns(2, 12, 16) + beside("[8, 8]") + added(3, "[8, 8]")) ==
        "1 rotations, 0 transpositions");
  CHECK(commands(wide + columns(1, 0, 4) + columns(2, 9, 13) + beside("[8, 8]") + added(3, "[8, 8]")) ==
        "1 rotations, 0 transpositions");
  CHECK(commands(parameter(0, "[8, 8]") +
                 "%1 = add(%0, %0) : f32[8, 8]\n"
                 "%2 = slice(%1) {limit = [8, 8], start = [0, 3], stride = [1, 1]} : f32[8, 5]\n"
                 "%3 = slice(%1) {limit = [8, 3], start = [0, 0], stride = [1, 1]} : f32[8, 3]\n"
                 "%4 = concatenate(%2, %3) {dimension = 1} : f32[8, 8]\n" +
                 added(4, "[8, 8]")) == "1 rotations, 0 transpositions");
}

TEST_CASE("equal layers share the maps of the elements that they move") {
  const std::string turned =
      "%{} = transpose(%{}) {{permutation = [1, 0]}} : f32[9, 9]\n%{} = add(%{}, %0) : f32[9, 9]\n";
  std::string text = parameter(0, "[9, 9]");
  for (int i = 0; i < 3; i++) text += fmt::format(fmt::runtime(turned), 2 * i + 1, 2 * i, 2 * i + 2, 2 * i + 1);
  text += returned(6);
  const auto module = ir::parse(text);
  if (!module.ok()) FAIL(module.error().message);
  const auto graph = whole_device_graph(module.value());
  if (!graph.ok()) FAIL(graph.error().message);
  std::set<const void*> maps;
  size_t moves = 0;
  for (const auto& node : graph.value().nodes)
    if (const auto* move = std::get_if<RearrangeNode>(&node)) maps.insert(move->from.get()), moves++;
  CHECK(moves == 3);
  CHECK(maps.size() == 1);
  check(text, kExact);
}

TEST_CASE("of a cache, what a product reads is read where it lies") {
  // A token's queries by its keys, of the second of three layers, and by one more key, a column that comes from a row.
  const auto text = [](const char* last) {
    return parameter(0, "[4, 1, 21]") + parameter(1, "[12, 21, 19]") + parameter(2, "[1, 84]") +
           fmt::format(
               "%3 = slice(%1) {{limit = [8, 21, {0}], start = [4, 0, 0], stride = [1, 1, 1]}} : f32[4, 21, {0}]\n",
               last) +
           fmt::format(
               "%4 = dot_general(%0, %3) {{lhs_batch = [0], lhs_contract = [2], rhs_batch = [0], rhs_contract "
               "= [1]}} : f32[4, 1, {}]\n",
               last) +
           "%5 = reshape(%2) {dims = [4, 21, 1]} : f32[4, 21, 1]\n"
           "%6 = dot_general(%0, %5) {lhs_batch = [0], lhs_contract = [2], rhs_batch = [0], rhs_contract = [1]} : "
           "f32[4, 1, 1]\n" +
           fmt::format(
               "%7 = slice(%4) {{limit = [4, 1, 1], start = [0, 0, 0], stride = [1, 1, 1]}} : f32[4, 1, 1]\n"
               "%8 = add(%6, %7) : f32[4, 1, 1]\n") +
           returned(8);
  };
  const auto moved = [&](const char* last) {
    const auto module = ir::parse(text(last));
    if (!module.ok()) FAIL(module.error().message);
    const auto graph = whole_device_graph(module.value());
    if (!graph.ok()) FAIL(graph.error().message);
    const auto program = lower(*spec::find_chip("nano"), graph.value());
    REQUIRE(program.ok());
    const auto kernel = tiles::compile_resident(*spec::find_chip("nano"), program.value());
    if (!kernel.ok()) FAIL(kernel.error().message);
    std::pair<size_t, size_t> count;  // movements, transpositions
    for (const auto& step : program.value().steps) count.first += std::holds_alternative<RearrangeStep>(step);
    for (const auto& command : kernel.value().queues[WEFT_QUEUE_VPU])
      count.second += spec::load_le(command, 0, 1) == WEFT_OPCODE_TRANSPOSE;
    return count;
  };
  check(text("19"), kBf16);
  check(text("18"), kBf16);
  // The first rows of an input are another matrix at its place, and what else reads them finds them in its own pieces.
  for (const char* other : {"%4 = reduce(%1) {dimensions = [0, 1, 2], kind = maximum} : f32[]\n",
                            "%4 = reduce(%2) {dimensions = [0, 1, 2], kind = maximum} : f32[]\n"})
    check(parameter(0, "[4, 1, 21]") + parameter(1, "[12, 21, 19]") +
              "%2 = slice(%1) {limit = [4, 21, 19], start = [0, 0, 0], stride = [1, 1, 1]} : f32[4, 21, 19]\n"
              "%3 = dot_general(%0, %2) {lhs_batch = [0], lhs_contract = [2], rhs_batch = [0], rhs_contract = [1]} : "
              "f32[4, 1, 19]\n" +
              other +
              "%5 = broadcast_in_dim(%4) {dimensions = [], dims = [4, 1, 19]} : f32[4, 1, 19]\n"
              "%6 = add(%3, %5) : f32[4, 1, 19]\n" +
              returned(6),
          kBf16);
  CHECK(moved("18").first == moved("19").first + 1);  // rows of 18 of the cache's 19 columns
  CHECK(moved("19").second < 84);                     // not one for each element of the last key
}

TEST_CASE("convolutions with strides, padding, groups and dilation, weights constant or computed") {
  const auto convolution = [](bool computed, const char* x, const char* w, uint64_t count, const char* rest,
                              const char* y) {
    check(parameter(0, x) + (computed ? parameter(1, w) : constant(1, w, count, 5)) +
              fmt::format("%2 = convolution(%0, %1) {{{}}} : f32{}\n", rest, y) + returned(2),
          kBf16);
  };
  for (const bool computed : {false, true}) {
    convolution(
        computed, "[2, 3, 6, 7]", "[4, 3, 3, 3]", 108,
        "groups = 1, high = [1, 1], lhs_dilation = [1, 1], low = [1, 1], rhs_dilation = [1, 1], strides = [1, 1]",
        "[2, 4, 6, 7]");
    convolution(
        computed, "[1, 8, 9, 9]", "[10, 8, 3, 3]", 720,
        "groups = 1, high = [0, 0], lhs_dilation = [1, 1], low = [0, 1], rhs_dilation = [2, 1], strides = [2, 2]",
        "[1, 10, 3, 4]");
    convolution(
        computed, "[2, 6, 5, 5]", "[6, 2, 2, 2]", 48,
        "groups = 3, high = [0, 0], lhs_dilation = [1, 1], low = [0, 0], rhs_dilation = [1, 1], strides = [1, 1]",
        "[2, 6, 4, 4]");
    convolution(
        computed, "[1, 2, 4, 4]", "[3, 2, 3, 3]", 54,
        "groups = 1, high = [2, 2], lhs_dilation = [2, 2], low = [2, 2], rhs_dilation = [1, 1], strides = [1, 1]",
        "[1, 3, 9, 9]");
  }
}

TEST_CASE(
    "between convolutions elements stay pixels: a factor for each image and channel, a concatenation, depthwise and "
    "transposed ones") {
  const auto by = [](const char* rest) {
    return fmt::format("{{groups = {}, rhs_dilation = [1, 1], strides = [1, 1]}}", rest);
  };
  const auto same = by("1, high = [1, 1], lhs_dilation = [1, 1], low = [1, 1]");
  check(parameter(0, "[2, 3, 6, 7]") + constant(1, "[4, 3, 3, 3]", 108, 5) +
            fmt::format("%2 = convolution(%0, %1) {} : f32[2, 4, 6, 7]\n", same) + parameter(3, "[2, 4]") +
            "%4 = broadcast_in_dim(%3) {dimensions = [0, 1], dims = [2, 4, 6, 7]} : f32[2, 4, 6, 7]\n"
            "%5 = multiply(%2, %4) : f32[2, 4, 6, 7]\n" +
            constant(6, "[4, 1, 3, 3]", 36, 7) +
            fmt::format("%7 = convolution(%5, %6) {} : f32[2, 4, 6, 7]\n",
                        by("4, high = [1, 1], lhs_dilation = [1, 1], low = [1, 1]")) +
            "%8 = concatenate(%5, %7) {dimension = 1} : f32[2, 8, 6, 7]\n" + constant(9, "[5, 8, 3, 3]", 360, 8) +
            fmt::format("%10 = convolution(%8, %9) {} : f32[2, 5, 6, 7]\n", same) +
            constant(11, "[3, 5, 2, 2]", 60, 9) +
            fmt::format("%12 = convolution(%10, %11) {} : f32[2, 3, 12, 14]\n",
                        by("1, high = [1, 1], lhs_dilation = [2, 2], low = [1, 1]")) +
            returned(12),
        kBf16);
}

TEST_CASE("what is computed of concatenated channels or of some lies in rows of pixels too") {
  const auto convolved = [](int x, int w, const char* w_dims, uint64_t count, const char* type) {
    return constant(w, w_dims, count, static_cast<uint64_t>(w)) +
           fmt::format(
               "%{} = convolution(%{}, %{}) {{groups = 1, high = [1, 1], lhs_dilation = [1, 1], low = [1, 1], "
               "rhs_dilation = [1, 1], strides = [1, 1]}} : f32{}\n",
               w + 1, x, w, type);
  };
  const std::string two = parameter(0, "[2, 3, 6, 7]") + convolved(0, 1, "[5, 3, 3, 3]", 135, "[2, 5, 6, 7]") +
                          convolved(0, 3, "[6, 3, 3, 3]", 162, "[2, 6, 6, 7]") +
                          "%5 = concatenate(%2, %4) {dimension = 1} : f32[2, 11, 6, 7]\n";
  const std::string scaled = constant(6, "[11]", 11, 6) +
                             "%7 = broadcast_in_dim(%6) {dimensions = [1], dims = [2, 11, 6, 7]} : f32[2, 11, 6, 7]\n"
                             "%8 = multiply(%5, %7) : f32[2, 11, 6, 7]\n";
  const std::string some =
      "%6 = slice(%5) {limit = [2, 9, 6, 7], start = [0, 3, 0, 0], stride = [1, 1, 1, 1]} : f32[2, 6, 6, 7]\n"
      "%7 = tanh(%6) : f32[2, 6, 6, 7]\n%8 = multiply(%7, %4) : f32[2, 6, 6, 7]\n";
  for (const auto& text : {two + scaled + convolved(8, 9, "[4, 11, 3, 3]", 396, "[2, 4, 6, 7]") + returned(10),
                           two + some + convolved(8, 9, "[4, 6, 3, 3]", 216, "[2, 4, 6, 7]") + returned(10)}) {
    check(text, kBf16);
    const auto graph = whole_device_graph(ir::parse(text).value());
    REQUIRE(graph.ok());
    const auto program = lower(*spec::find_chip("nano"), graph.value());
    REQUIRE(program.ok());
    const auto kernel = tiles::compile_resident(*spec::find_chip("nano"), program.value());
    REQUIRE(kernel.ok());
    // As lines of a channel each, as the model has them, pixels would turn twice: 584 commands and more.
    CHECK(kernel.value().queues[WEFT_QUEUE_VPU].size() <= 450);
  }
}

TEST_CASE("lines of an input beside pixels become pixels before they go to their lanes") {
  // A 1 x 1 convolution of a concatenation: of a convolution's result, and of an input, which has lines as rows.
  const std::string text = parameter(0, "[1, 8, 12, 12]") + parameter(1, "[1, 12, 12, 12]") +
                           constant(2, "[12, 8, 3, 3]", 864, 2) +
                           "%3 = convolution(%0, %2) {groups = 1, high = [1, 1], lhs_dilation = [1, 1], low = [1, 1], "
                           "rhs_dilation = [1, 1], "
                           "strides = [1, 1]} : f32[1, 12, 12, 12]\n"
                           "%4 = concatenate(%3, %1) {dimension = 1} : f32[1, 24, 12, 12]\n" +
                           constant(5, "[4, 24, 1, 1]", 96, 5) +
                           "%6 = convolution(%4, %5) {groups = 1, high = [0, 0], lhs_dilation = [1, 1], low = [0, 0], "
                           "rhs_dilation = [1, 1], "
                           "strides = [1, 1]} : f32[1, 4, 12, 12]\n" +
                           returned(6);
  check(text, kBf16);
  const auto graph = whole_device_graph(ir::parse(text).value());
  REQUIRE(graph.ok());
  size_t moved = 0;
  for (const auto& node : graph.value().nodes)
    if (const auto* rearrange = std::get_if<RearrangeNode>(&node))
      moved += rearrange->sources.size() == 1 && graph.value().tensors[rearrange->y].rows == 144 &&
               graph.value().tensors[rearrange->y].columns == 12;
  CHECK(moved == 1);  // the input by itself
}

TEST_CASE("largest and sums under windows") {
  for (const char* kind : {"maximum", "add"}) {
    check(parameter(0, "[2, 5, 8, 9]") +
              fmt::format(
                  "%1 = reduce_window(%0) {{dilation = [1, 1, 1, 1], high = [0, 0, 1, 1], kind = {}, low = [0, 0, "
                  "1, 0], strides = [1, 1, 2, 2], window = [1, 1, 3, 2]}} : f32[2, 5, 4, 5]\n",
                  kind) +
              returned(1),
          kF32);
    check(
        parameter(0, "[2, 3, 17]") +
            fmt::format("%1 = reduce_window(%0) {{dilation = [1, 1, 2], high = [0, 0, 0], kind = {}, low = [0, 0, 0], "
                        "strides = [1, 1, 3], window = [1, 1, 3]}} : f32[2, 3, 5]\n",
                        kind) +
            returned(1),
        kF32);
  }
}

TEST_CASE("a window as large as a line has one place, whatever its stride") {
  for (const char* kind : {"maximum", "add"})
    for (const int stride : {1, 2, 3, 5})
      check(parameter(0, "[2, 9, 1, 3]") +
                fmt::format("%1 = reduce_window(%0) {{dilation = [1, 1, 1, 1], high = [0, 0, 0, 0], kind = {}, low = "
                            "[0, 0, 0, 0], "
                            "strides = [1, 1, 2, {}], window = [1, 1, 1, 3]}} : f32[2, 9, 1, 1]\n",
                            kind, stride) +
                returned(1),
            kF32);
}

TEST_CASE("comparisons, choices, whole numbers and powers") {
  const auto function = [](const std::string& text, int last) {
    check(parameter(0, "[7, 11]") + parameter(1, "[7, 11]") + constant(2, "[7, 11]", 77, 9) + text + returned(last),
          kF32);
  };
  for (const char* direction : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    function(
        fmt::format("%3 = compare(%0, %1) {{direction = {}}} : pred[7, 11]\n%4 = select(%3, %0, %1) : f32[7, 11]\n",
                    direction),
        4);
    function(
        fmt::format("%3 = compare(%2, %0) {{direction = {}}} : pred[7, 11]\n%4 = select(%3, %2, %1) : f32[7, 11]\n",
                    direction),
        4);
  }
  for (const char* name : {"floor", "ceil", "round_nearest_even", "sign", "log_plus_one"})
    function(std::string(name[0] == 'l' ? "%3 = abs(%0) : f32[7, 11]\n" : "%3 = multiply(%0, %2) : f32[7, 11]\n") +
                 fmt::format("%4 = {}(%3) : f32[7, 11]\n", name),
             4);
  function("%3 = round_nearest_even(%1) : f32[7, 11]\n%4 = power(%0, %3) : f32[7, 11]\n", 4);
}

TEST_CASE("numbers that are read in other rows than they are computed in, beside a residual") {
  // x W as [12, 2, 8], heads first, transposed back, and x added.
  check(parameter(0, "[12, 16]") + constant(1, "[16, 16]", 256, 4) +
            "%2 = dot_general(%0, %1) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]} : "
            "f32[12, 16]\n"
            "%3 = reshape(%2) {dims = [12, 2, 8]} : f32[12, 2, 8]\n"
            "%4 = transpose(%3) {permutation = [1, 0, 2]} : f32[2, 12, 8]\n%5 = tanh(%4) : f32[2, 12, 8]\n"
            "%6 = dot_general(%5, %4) {lhs_batch = [0], lhs_contract = [2], rhs_batch = [0], rhs_contract = [2]} : "
            "f32[2, 12, 12]\n"
            "%7 = dot_general(%6, %5) {lhs_batch = [0], lhs_contract = [2], rhs_batch = [0], rhs_contract = [1]} : "
            "f32[2, 12, 8]\n"
            "%8 = transpose(%7) {permutation = [1, 0, 2]} : f32[12, 2, 8]\n%9 = reshape(%8) {dims = [12, 16]} : "
            "f32[12, 16]\n"
            "%10 = add(%9, %0) : f32[12, 16]\n" +
            returned(10),
        kBf16);
}
