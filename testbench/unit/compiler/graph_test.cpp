// The rules of a graph: what breaks one is told by name, and not compiled.
#include "host/compiler/graph.hpp"

#include <catch2/catch.hpp>
#include <functional>

#include "host/compiler/lower.hpp"

using namespace weft;
using compiler::CopyNode;
using compiler::DenseNode;
using compiler::Graph;
using compiler::VectorNode;

namespace {

/// y = relu(x + 1), z = y W; y is read by the product, z is the output, c a copy of y.
Graph network() {
  Graph graph;
  graph.name = "g";
  graph.tensors = {{"x", {2, 3}, 2, 3}, {"y", {2, 3}, 2, 3}, {"z", {2, 4}, 2, 4}, {"c", {2, 3}, 2, 3}};
  graph.nodes = {VectorNode{"add", WEFT_VPU_OP_ADD, 0, 1, 1.0f},
                 DenseNode{"product", 1, 2, 3, 4, std::vector<float>(12), std::vector<float>(4), false},
                 CopyNode{"copy", 1, 3}};
  graph.inputs = {0};
  graph.outputs = {2, 3};
  return graph;
}

std::string broken(const std::function<void(Graph&)>& change) {
  Graph graph = network();
  change(graph);
  const auto status = compiler::check_graph(graph);
  REQUIRE(!status.ok());
  CHECK(status.error().code == WEFT_ERROR_INTERNAL);
  CHECK(!compiler::lower(*spec::find_chip("nano"), graph).ok());
  return status.error().message;
}

}  // namespace

TEST_CASE("a graph that keeps the rules is lowered") {
  CHECK(compiler::check_graph(network()).ok());
  CHECK(compiler::lower(*spec::find_chip("nano"), network()).ok());
}

TEST_CASE("dimensions to rows and columns: a vector is one row") {
  using compiler::matrix_shape;
  using compiler::MatrixShape;
  CHECK(matrix_shape({5}) == MatrixShape{1, 5});
  CHECK(matrix_shape({5, 1}) == MatrixShape{5, 1});
  CHECK(matrix_shape({2, 3, 4}) == MatrixShape{2, 12});
}

TEST_CASE("an output that a node reads is refused: it lies as f32") {
  CHECK(broken([](Graph& g) { g.outputs = {1}; }) == "graph 'g': product reads output 'y', which lies as f32");
  CHECK(broken([](Graph& g) {
          std::get<VectorNode>(g.nodes[0]).y = 3, g.nodes[2] = VectorNode{"late", WEFT_VPU_OP_ADD, 0, 1, size_t{3}};
          g.nodes = {g.nodes[0], g.nodes[2], g.nodes[1]};
        }) == "graph 'g': late reads output 'c', which lies as f32");
}

TEST_CASE("a tensor that is two outputs, an input that is an output, and a copy to no output are refused") {
  CHECK(broken([](Graph& g) { g.outputs = {2, 2}; }) == "graph 'g': tensor 'z' is two outputs");
  CHECK(broken([](Graph& g) { g.outputs = {0, 3}; }) == "graph 'g': input 'x' is an output");
  CHECK(broken([](Graph& g) { g.outputs = {2}; }) == "graph 'g': copy copy writes no output");
}

TEST_CASE("what nothing computes, what is computed twice, and indices of no tensor are refused") {
  CHECK(broken([](Graph& g) { g.nodes.erase(g.nodes.begin()); }) ==
        "graph 'g': product reads 'y', which nothing has computed");
  CHECK(broken([](Graph& g) { g.nodes.push_back(CopyNode{"again", 1, 3}); }) == "graph 'g': again writes 'c' again");
  CHECK(broken([](Graph& g) { g.nodes.pop_back(); }) == "graph 'g': nothing computes output 'c'");
  CHECK(broken([](Graph& g) { g.outputs.push_back(9); }) == "graph 'g': an output is no tensor");
  CHECK(broken([](Graph& g) { std::get<DenseNode>(g.nodes[1]).x = 9; }) == "graph 'g': product reads no tensor");
}

TEST_CASE("sizes that do not fit are refused") {
  const std::string product = "graph 'g': the sizes of product product do not fit";
  CHECK(broken([](Graph& g) { std::get<DenseNode>(g.nodes[1]).weights.pop_back(); }) == product);
  CHECK(broken([](Graph& g) { std::get<DenseNode>(g.nodes[1]).bias->pop_back(); }) == product);
  CHECK(broken([](Graph& g) { std::get<DenseNode>(g.nodes[1]).k = 2; }) == product);
  CHECK(broken([](Graph& g) { std::get<VectorNode>(g.nodes[0]).b = std::vector<float>(2); }) ==
        "graph 'g': the sizes of operation add do not fit");
  CHECK(broken([](Graph& g) { g.tensors[3] = {"c", {3, 2}, 3, 2}; }) == "graph 'g': the sizes of copy copy do not fit");
  CHECK(broken([](Graph& g) {
          g.tensors[3].dims = {3, 3};
        }) == "graph 'g': tensor 'c' has 2 x 3 elements and other dimensions");
  CHECK(broken([](Graph& g) {
          g.tensors[3] = {"c", {2, 0}, 2, 0};
        }) == "graph 'g': tensor 'c' has 2 x 0 elements and other dimensions");
}
