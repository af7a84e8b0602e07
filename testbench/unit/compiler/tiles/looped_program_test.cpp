// Networks of equal layers as loops: their bits are those of the program that is written out, in any order of execution;
// a turn is there once.
#include "host/compiler/tiles/looped_program.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/tiles/repeated_steps.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "testbench/unit/compiler/program_executor.hpp"
#include "testbench/unit/compiler/unrolled_kernel.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

/// What the layers of a network have.
struct Form {
  uint64_t rows = 8, columns = 8, inner = 16;
  bool residual = false;  ///< the result is a sum with the layer's operand
  bool relu = false, bias = false;
  bool same_bias = false;  ///< of all layers, or of some
  bool outside = false;    ///< each layer adds the network's input, which a step before has made
  bool before = false, behind = false;
  bool single = false;  ///< a layer is one product: its result cannot lie where its operand does
  size_t layers = 3;
};

Form random_form(std::mt19937_64& random) {
  Form form;
  form.rows = 1 + random() % 40, form.columns = 1 + random() % 40, form.inner = 1 + random() % 40;
  form.layers = 4 + random() % 6;
  for (bool* one : {&form.residual, &form.relu, &form.bias, &form.same_bias, &form.outside, &form.before, &form.behind,
                    &form.single})
    *one = random() % 2 != 0;
  return form;
}

/// Products from `columns` to `inner` and back.
Graph network(const Form& form, std::mt19937_64& random) {
  Graph graph;
  graph.name = "layers";
  const auto draw = [&](uint64_t count) {
    std::vector<float> values(count);
    for (float& v : values) v = static_cast<float>(random() % 512) / 1024.0f - 0.25f;
    return values;
  };
  const auto tensor = [&](uint64_t columns) {
    graph.tensors.push_back({"t" + std::to_string(graph.tensors.size()),
                             {static_cast<int64_t>(form.rows), static_cast<int64_t>(columns)},
                             form.rows,
                             columns});
    return graph.tensors.size() - 1;
  };
  const auto bias = draw(form.inner);
  const auto dense = [&](const std::string& name, size_t x, uint64_t n) {
    DenseNode node{name, x, tensor(n), graph.tensors[x].columns, n, draw(graph.tensors[x].columns * n), {}, form.relu};
    if (form.bias) node.bias = form.same_bias && n == form.inner && random() % 2 == 0 ? bias : draw(n);
    graph.nodes.emplace_back(node);
    return node.y;
  };
  const auto vector = [&](const std::string& name, weft_vpu_op op, size_t a, auto b) {
    graph.nodes.emplace_back(VectorNode{name, op, a, tensor(graph.tensors[a].columns), b});
    return graph.tensors.size() - 1;
  };
  size_t x = tensor(form.columns);
  graph.inputs = {x};
  const size_t outside = form.outside ? vector("outside", WEFT_VPU_OP_MUL, x, 0.5f) : x;
  if (form.before) x = dense("before", x, form.columns);
  for (size_t i = 0; i < form.layers; i++) {
    const std::string name = "layer" + std::to_string(i);
    size_t y = form.single ? x : dense(name + "/up", x, form.inner);
    y = dense(name + "/down", y, form.columns);
    if (form.residual) y = vector(name + "/sum", WEFT_VPU_OP_ADD, y, x);
    if (form.outside) y = vector(name + "/outside", WEFT_VPU_OP_ADD, y, outside);
    x = y;
  }
  if (form.behind) x = dense("behind", x, 5);
  x = vector("end", WEFT_VPU_OP_MUL, x, 2.0f);
  graph.outputs = {x};
  REQUIRE(check_graph(graph).ok());
  return graph;
}

std::vector<std::byte> random_input(const Program& program, std::mt19937_64& random) {
  const auto& in = program.arguments[0];
  std::vector<uint16_t> values(in.rows * in.columns);
  for (auto& v : values) v = static_cast<uint16_t>(0x3c00 + random() % 0x0400 + (random() % 2 << 15));
  return pack_rows(std::as_bytes(std::span(values)), in.rows, in.columns, 2);
}

std::vector<std::byte> run(const spec::Chip& chip, const Kernel& kernel, const std::vector<std::byte>& input,
                           uint64_t seed) {
  const Kernel plain = test::unrolled(kernel);
  test::ProgramExecutor executor(chip, plain, {input, std::vector<std::byte>(plain.arguments[1].size_bytes)}, seed);
  const auto error = executor.run();
  INFO(error << ", seed " << seed);
  REQUIRE(error.empty());
  return executor.argument(1, plain.arguments[1].size_bytes);
}

size_t commands_of(const Kernel& kernel) {
  size_t count = 0;
  for (const auto& queue : kernel.queues) count += queue.size();
  for (const auto& block : kernel.control.blocks)
    for (const auto& queue : block) count += queue.size();
  return count;
}

Kernel looped(const spec::Chip& chip, const Graph& graph) {
  const auto program = lower(chip, graph);
  REQUIRE(program.ok());
  const auto kernel = tiles::compile_looped(chip, program.value());
  if (!kernel.ok()) FAIL(kernel.error().message);
  return kernel.value();
}

}  // namespace

TEST_CASE("a loop of equal layers has the bits of the layers written out, in any order of execution") {
  size_t of_one_layer = 0, of_two = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    std::mt19937_64 random(seed);
    const auto& chip = *spec::find_chip(seed % 2 == 0 ? "nano" : "nano-4mxu");
    const Form form = random_form(random);
    const auto graph = network(form, random);
    const auto program = lower(chip, graph);
    REQUIRE(program.ok());
    INFO("seed " << seed);
    const auto kernel = tiles::compile_looped(chip, program.value());
    if (!kernel.ok()) FAIL(kernel.error().message << ", seed " << seed);
    const auto written_out = tiles::compile_resident(chip, program.value());
    REQUIRE(written_out.ok());
    CHECK(kernel.value().macs == written_out.value().macs);
    const auto loop =
        std::ranges::find(kernel.value().control.entries, WEFT_CONTROL_OPCODE_LOOP, &weft_control_entry::opcode);
    REQUIRE(loop != kernel.value().control.entries.end());
    (loop->count == form.layers ? of_one_layer : of_two)++;
    const auto input = random_input(program.value(), random);
    const auto expected = run(chip, written_out.value(), input, seed);
    REQUIRE(!expected.empty());
    for (uint64_t order = 0; order < 4; order++)
      CHECK(run(chip, kernel.value(), input, seed * 100 + order) == expected);
  }
  CHECK(of_one_layer != 0);
  CHECK(of_two != 0);
}

TEST_CASE("twelve equal layers have the commands of one and what stands around a loop") {
  const auto& chip = *spec::find_chip("nano-4mxu");
  Form form{.rows = 64, .columns = 64, .inner = 128, .residual = true, .bias = true, .layers = 12};
  std::mt19937_64 random(1);
  const Kernel twelve = looped(chip, network(form, random));
  form.layers = 24;
  CHECK(commands_of(looped(chip, network(form, random))) == commands_of(twelve));
  form.layers = 1;
  const auto one = lower(chip, network(form, random));
  REQUIRE(one.ok());
  const auto written_out = tiles::compile_resident(chip, one.value());
  REQUIRE(written_out.ok());
  CHECK(2 * commands_of(twelve) <= 3 * commands_of(written_out.value()));
}

TEST_CASE("each turn names its layers") {
  const auto& chip = *spec::find_chip("nano");
  Form form{.residual = true, .layers = 5};
  std::mt19937_64 random(1);
  const Kernel kernel = looped(chip, network(form, random));
  REQUIRE(kernel.turn_names.size() == 5);
  CHECK(kernel.turn_names[0].empty());
  CHECK(kernel.turn_names[3].at("layer0/up") == "layer3/up");
}

TEST_CASE("layers that are not a loop are refused") {
  const auto& chip = *spec::find_chip("nano");
  std::mt19937_64 random(1);
  Form form{.layers = 2};
  const auto two = lower(chip, network(form, random));
  REQUIRE(two.ok());
  const auto kernel = tiles::compile_looped(chip, two.value());
  REQUIRE(!kernel.ok());
  CHECK(kernel.error().code == WEFT_ERROR_UNSUPPORTED);
  // A result of a layer in the middle that somebody reads behind the loop.
  form.layers = 6;
  auto graph = network(form, random);
  graph.tensors.push_back(graph.tensors[graph.outputs[0]]);
  graph.tensors.back().name = "late";
  const size_t middle = result_of(graph.nodes[5]);
  graph.nodes.emplace_back(VectorNode{"late", WEFT_VPU_OP_MUL, middle, graph.tensors.size() - 1, 3.0f});
  graph.outputs.push_back(graph.tensors.size() - 1);
  REQUIRE(check_graph(graph).ok());
  const auto program = lower(chip, graph);
  REQUIRE(program.ok());
  for (const auto& repetition : tiles::repetitions(program.value()))
    if (repetition.layers == 6) CHECK(!tiles::loop_of(program.value(), repetition, 1));
}

TEST_CASE("compile_fitting makes a loop where it is asked to, and by itself where that spares much") {
  const auto& chip = *spec::find_chip("nano");
  std::mt19937_64 random(1);
  const auto program = lower(chip, network({.residual = true, .layers = 8}, random));
  REQUIRE(program.ok());
  const auto entries = [&](tiles::Loops loops) {
    return tiles::compile_fitting(chip, program.value(), loops).value().control.entries.size();
  };
  CHECK(entries(tiles::Loops::kAlways) != 0);
  CHECK(entries(tiles::Loops::kAuto) == 0);
  CHECK(entries(tiles::Loops::kNever) == 0);
}
