// ONNX models built in memory: what is imported computes what the model says.
#include <catch2/catch.hpp>
#include <set>

#include "host/compiler/import_graph.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/tiles/step_text.hpp"
#include "host/reference/graph_reference.hpp"
#include "testbench/unit/compiler/onnx_model.hpp"

using namespace weft;
using test::check_runs;
using test::refusal;
using Model = test::OnnxModel;

TEST_CASE("Gemm with alpha, beta and transB, Relu and a second Gemm run as two fused products") {
  Model model;
  model.input("x", {0, 13})
      .weights("w1", {20, 13}, 1)
      .weights("b1", {20}, 2)
      .weights("w2", {20, 9}, 3)
      .weights("b2", {1, 9}, 4);
  model.node("Gemm", {"x", "w1", "b1"}, "h", {{"alpha", 0.5}, {"beta", 2.0}, {"transB", 1}})
      .node("Relu", {"h"}, "r")
      .node("Gemm", {"r", "w2", "b2"}, "y")
      .output("y");
  const auto graph = model.import(33);
  REQUIRE(graph.ok());
  CHECK(graph.value().nodes.size() == 2);
  CHECK(graph.value().tensors[graph.value().outputs[0]].dims == std::vector<int64_t>{33, 9});
  check_runs(model, 33, 11);
}

TEST_CASE("MatMul, Add of a row and Relu join one product") {
  Model model;
  model.input("x", {17, 30})
      .weights("w", {30, 25}, 1)
      .weights("b", {25}, 2)
      .node("MatMul", {"x", "w"}, "p")
      .node("Add", {"b", "p"}, "s")
      .node("Relu", {"s"}, "y")
      .output("y");
  REQUIRE(model.import().ok());
  CHECK(model.import().value().nodes.size() == 1);
  check_runs(model, 0, 12);
}

TEST_CASE("a residual network with Add of two tensors, a row and a scalar runs") {
  Model model;
  model.input("x", {19, 24}).weights("w", {24, 24}, 1).weights("row", {24}, 2).weights("one", {1}, 3);
  model.node("MatMul", {"x", "w"}, "p")
      .node("Add", {"p", "x"}, "s")
      .node("Add", {"s", "row"}, "t")
      .node("Add", {"t", "one"}, "u")
      .node("Relu", {"u"}, "y")
      .output("y");
  check_runs(model, 0, 13);
}

TEST_CASE("Flatten, Reshape, Identity and Cast only rename, and an output that is read again is copied") {
  Model model;
  model.input("x", {5, 3, 4}).integers("shape", {0, -1}).weights("w", {12, 7}, 1).weights("v", {7, 6}, 2);
  model.node("Flatten", {"x"}, "f", {{"axis", 1}})
      .node("Reshape", {"f", "shape"}, "g")
      .node("Identity", {"g"}, "i")
      .node("Cast", {"i"}, "c", {{"to", 1}});
  model.node("MatMul", {"c", "w"}, "h")
      .node("Relu", {"h"}, "r")
      .node("MatMul", {"r", "v"}, "y")
      .output("y")
      .output("r");
  check_runs(model, 0, 14);
}

TEST_CASE("a wide elementwise step runs in chunks through small slots") {
  Model model;
  model.input("a", {300, 700}).input("b", {300, 700}).node("Add", {"a", "b"}, "s").node("Relu", {"s"}, "y").output("y");
  check_runs(model, 0, 15);
}

TEST_CASE("outputs that are one value under several names each get a place of their own, as f32") {
  Model model;
  model.input("x", {6, 12}).weights("w", {12, 4}, 1).integers("shape", {6, 2, 2});
  model.node("Gemm", {"x", "w"}, "y")
      .node("Identity", {"y"}, "z")
      .node("Flatten", {"z"}, "f")
      .node("Reshape", {"y", "shape"}, "r")
      .node("Identity", {"x"}, "i");
  for (const char* name : {"y", "z", "f", "r", "i"}) model.output(name);
  const auto graph = model.import();
  REQUIRE(graph.ok());
  const auto& g = graph.value();
  CHECK(std::set<size_t>(g.outputs.begin(), g.outputs.end()).size() == 5);
  const std::vector<std::pair<std::string, std::vector<int64_t>>> outputs{
      {"y", {6, 4}}, {"z", {6, 4}}, {"f", {6, 4}}, {"r", {6, 2, 2}}, {"i", {6, 12}}};
  for (size_t i = 0; i < outputs.size(); i++) {
    CHECK(g.tensors[g.outputs[i]].name == outputs[i].first);
    CHECK(g.tensors[g.outputs[i]].dims == outputs[i].second);
  }
  check_runs(model, 0, 16);
  // All four are the same bits: no copy has been rounded to bf16.
  const std::vector<float> x(72, 1.0f / 3);
  const auto golden = tools::evaluate_golden(g, {x});
  for (const size_t o : {1, 2, 3}) CHECK(golden[o] == golden[0]);
}

TEST_CASE("a constant broadcasts as ONNX says, within a row") {
  Model model;
  model.input("x", {2, 3, 4}).weights("four", {4}, 1).weights("column", {3, 1}, 2).weights("both", {1, 3, 4}, 3);
  model.node("Add", {"x", "four"}, "a").node("Add", {"column", "a"}, "b").node("Add", {"b", "both"}, "y").output("y");
  const auto graph = model.import();
  if (!graph.ok()) FAIL(graph.error().message);
  const auto golden = tools::evaluate_fp64(graph.value(), {std::vector<float>(24)});
  const auto& nodes = graph.value().nodes;
  const auto& four = std::get<std::vector<float>>(std::get<compiler::VectorNode>(nodes[0]).b);
  const auto& column = std::get<std::vector<float>>(std::get<compiler::VectorNode>(nodes[1]).b);
  REQUIRE((four.size() == 12 && column.size() == 12));
  for (size_t i = 0; i < 12; i++) CHECK((four[i] == four[i % 4] && column[i] == column[i / 4 * 4]));
  CHECK((four[0] != four[1] && column[0] != column[4]));
  check_runs(model, 0, 17);

  Model vector;
  vector.input("x", {5}).weights("c", {1, 5}, 1).weights("one", {1, 1, 1}, 2);
  vector.node("Add", {"x", "c"}, "s").node("Add", {"s", "one"}, "y").output("y");
  const auto imported = vector.import();
  REQUIRE(imported.ok());
  const auto& g = imported.value();
  CHECK(g.tensors[g.outputs[0]].dims == std::vector<int64_t>{1, 1, 5});
  check_runs(vector, 0, 18);
}

TEST_CASE("a constant that makes the sum larger, or differs from row to row, has the sum's shape") {
  const auto add = [](std::vector<int64_t> x, std::vector<int64_t> c) {
    Model model;
    model.input("x", std::move(x)).weights("c", std::move(c), 1).node("Add", {"x", "c"}, "y").output("y");
    const auto graph = model.import(0);
    return graph.ok() ? compiler::ir::dims_text(graph.value().tensors[graph.value().outputs.at(0)].dims)
                      : graph.error().message;
  };
  CHECK(add({2, 3, 1}, {3}) == "[2, 3, 3]");
  CHECK(add({2, 3}, {4, 2, 3}) == "[4, 2, 3]");
  CHECK(add({2, 3}, {2, 3}) == "[2, 3]");
  CHECK(add({2, 3}, {2, 1}) == "[2, 3]");
  CHECK(add({2, 3}, {4}) == "node 0 'y_node' (Add): shapes [2, 3] and [4] do not broadcast");
  CHECK(add({2, 3}, {0}).find("do not broadcast") != std::string::npos);
  Model tensors;
  tensors.input("x", {2, 3}).input("b", {4, 3}).node("Add", {"x", "b"}, "y").output("y");
  CHECK(refusal(tensors) == "node 0 'y_node' (Add): shapes [2, 3] and [4, 3] do not broadcast");
  Model gemm;
  gemm.input("x", {1, 3}).weights("w", {3, 4}, 1).weights("c", {1, 1, 4}, 1);
  gemm.node("Gemm", {"x", "w", "c"}, "y").output("y");
  CHECK(refusal(gemm).find("input 2 of shape [1, 1, 4]") != std::string::npos);
}

TEST_CASE("Flatten has ONNX's shape for every rank and axis, or is refused") {
  struct Case {
    std::vector<int64_t> from;
    int axis;
    std::vector<int64_t> to;  ///< empty: refused
  };
  for (const auto& [from, axis, to] : {Case{{7}, 1, {7, 1}},
                                       {{7}, 0, {1, 7}},
                                       {{1}, 1, {1, 1}},
                                       {{2, 3, 4}, 1, {2, 12}},
                                       {{2, 3, 4}, -2, {2, 12}},
                                       {{2, 3, 4}, 2, {6, 4}},
                                       {{2, 3, 4}, 0, {1, 24}},
                                       {{1, 3, 4}, 0, {1, 12}},
                                       {{2, 3}, 3, {}},
                                       {{2, 3}, -3, {}}}) {
    Model model;
    model.input("x", from).node("Flatten", {"x"}, "f", {{"axis", axis}}).node("Relu", {"f"}, "y").output("y");
    INFO("rank " << from.size() << ", axis " << axis);
    const auto graph = model.import();
    CHECK(graph.ok() == !to.empty());
    if (!graph.ok()) continue;
    CHECK(graph.value().tensors[graph.value().outputs[0]].dims == to);
    check_runs(model, 0, 19);
  }
  Model old;
  old.input("x", {2, 3}).node("Flatten", {"x"}, "y", {{"axis", -1}}).output("y");
  old.proto().mutable_opset_import(0)->set_version(9);
  CHECK(refusal(old).find("axis -1") != std::string::npos);
}

TEST_CASE("a product takes matrices of float only") {
  Model solid;
  solid.input("x", {2, 3, 4}).weights("w", {12, 5}, 1).node("Gemm", {"x", "w"}, "y").output("y");
  CHECK(refusal(solid) == "node 0 'y_node' (Gemm): a product of f32[2, 3, 4] and f32[12, 5]; Gemm takes matrices");
  Model line;
  line.input("x", {4}).weights("w", {4, 5}, 1).node("MatMul", {"x", "w"}, "y").output("y");
  check_runs(line, 0, 20);  // a vector is one row
  Model wide;
  wide.input("x", {2, 4}).weights("w", {4, 5}, 1).node("MatMul", {"x", "w"}, "y").output("y");
  auto& w = *wide.graph().mutable_initializer(0);
  w.set_data_type(onnx::TensorProto::DOUBLE);
  for (const float value : w.float_data()) w.add_double_data(static_cast<double>(value));
  w.clear_float_data();
  CHECK(refusal(wide).find("input 1 has element type DOUBLE, another input FLOAT") != std::string::npos);
}

TEST_CASE("a constant of another type is cast to float by the model, or refused") {
  Model model;
  model.input("x", {2, 3}).integers("i", {1, -2, 3}).node("Cast", {"i"}, "c", {{"to", 1}});
  model.node("Add", {"x", "c"}, "y").output("y");
  const auto graph = model.import();
  REQUIRE(graph.ok());
  CHECK(std::get<std::vector<float>>(std::get<compiler::VectorNode>(graph.value().nodes[0]).b) ==
        std::vector<float>{1, -2, 3});
  Model plain;
  plain.input("x", {2, 3}).integers("i", {1, -2, 3}).node("Add", {"x", "i"}, "y").output("y");
  CHECK(refusal(plain).find("input 1 has element type INT64, another input FLOAT") != std::string::npos);
}

TEST_CASE("a step in a message has the whole name and the operator of the model's node") {
  Model model;
  model.input("x", {6, 12}).weights("w", {12, 8}, 1).weights("v", {8, 4}, 2);
  const std::string layer = "/encoder/layers.0/attention/output/";  // longer than what tags have of a name
  model.node("MatMul", {"x", "w"}, "h").last().set_name("first");
  model.node("Relu", {"h"}, "r").last().set_name(layer + "act");
  model.node("Gemm", {"r", "v"}, "y").output("y").last().set_name(layer + "dense");
  const auto graph = model.import();
  REQUIRE(graph.ok());
  const auto program = compiler::lower(*spec::find_chip("nano"), graph.value());
  REQUIRE(program.ok());
  const auto& steps = program.value();
  CHECK(compiler::tiles::text_of(steps, 0) == "step 1 of 2, a product by constants (MatMul 'first')");
  CHECK(compiler::tiles::text_of(steps, 1) ==
        "step 2 of 2, a product by constants (Gemm '/encoder/layers.0/attention/output/dense')");

  Model cut;
  cut.input("x", {6, 12}).weights("w", {12, 8}, 1).weights("v", {8, 4}, 2);
  cut.node("MatMul", {"x", "w"}, "h").last().set_name(layer + "first");
  cut.node("Gemm", {"h", "v"}, "y").output("y").last().set_name(layer + "second");
  const auto two = cut.import();
  REQUIRE(two.ok());
  const auto joined = compiler::lower(*spec::find_chip("nano"), two.value());
  REQUIRE(joined.ok());
  CHECK(compiler::tiles::text_of(joined.value(), 0) ==
        "step 1 of 2, a product by constants (Gemm or MatMul '/encoder/layers.0/attention/outp..')");
}
