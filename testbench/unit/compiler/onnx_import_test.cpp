// ONNX models built in memory: what is imported computes what the model says; what is not is refused by name.
#include <onnx/onnx_pb.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <random>
#include <set>

#include "host/compiler/compile.hpp"
#include "host/compiler/import_graph.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/reference/graph_reference.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

using namespace weft;

namespace {

Result<compiler::Graph> import_bytes(std::span<const std::byte> bytes, uint64_t batch) {
  compiler::frontend::Binding binding;
  binding.first = static_cast<int64_t>(batch);
  return compiler::import_graph(bytes, "", binding);
}

/// A model under construction.
class Model {
 public:
  Model() {
    proto_.set_ir_version(8), proto_.mutable_graph()->set_name("test");
    proto_.add_opset_import()->set_version(17);
  }

  Model& input(const char* name, std::vector<int64_t> dims) {
    auto* type = proto_.mutable_graph()->add_input();
    type->set_name(name);
    auto* tensor = type->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(onnx::TensorProto::FLOAT);
    for (const int64_t d : dims) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (d > 0)
        dim->set_dim_value(d);
      else
        dim->set_dim_param("batch");
    }
    return *this;
  }
  Model& output(const char* name) {
    proto_.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  Model& weights(const char* name, std::vector<int64_t> dims, uint64_t seed) {
    std::mt19937_64 random(seed);
    auto* tensor = proto_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (const int64_t d : dims) tensor->add_dims(d), count *= d;
    for (int64_t i = 0; i < count; i++) tensor->add_float_data(static_cast<float>(random() % 2001) / 1000.0f - 1.0f);
    return *this;
  }
  Model& integers(const char* name, std::vector<int64_t> values) {
    auto* tensor = proto_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    tensor->add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t v : values) tensor->add_int64_data(v);
    return *this;
  }
  Model& node(const char* op, std::vector<const char*> inputs, const char* output,
              std::vector<std::pair<const char*, double>> attributes = {}) {
    auto* n = proto_.mutable_graph()->add_node();
    n->set_op_type(op);
    n->set_name(std::string(output) + "_node");
    for (const char* i : inputs) n->add_input(i);
    n->add_output(output);
    for (const auto& [name, value] : attributes) {
      auto* a = n->add_attribute();
      a->set_name(name);
      if (value == static_cast<double>(static_cast<int64_t>(value)) && std::strcmp(name, "alpha") != 0 &&
          std::strcmp(name, "beta") != 0)
        a->set_type(onnx::AttributeProto::INT), a->set_i(static_cast<int64_t>(value));
      else
        a->set_type(onnx::AttributeProto::FLOAT), a->set_f(static_cast<float>(value));
    }
    return *this;
  }
  std::vector<std::byte> bytes() const {
    const std::string text = proto_.SerializeAsString();
    const auto* p = reinterpret_cast<const std::byte*>(text.data());
    return {p, p + text.size()};
  }
  onnx::ModelProto& proto() { return proto_; }
  onnx::GraphProto& graph() { return *proto_.mutable_graph(); }
  onnx::NodeProto& last() { return *graph().mutable_node(graph().node_size() - 1); }
  Result<compiler::Graph> import(uint64_t batch = 0) const { return import_bytes(bytes(), batch); }

 private:
  onnx::ModelProto proto_;
};

/// Compiles for nano, executes in random order, and compares every output with the golden evaluation of the graph.
void check_runs(const Model& model, uint64_t batch, uint64_t seed) {
  const auto& chip = *spec::find_chip("nano");
  const auto graph = model.import(batch);
  if (!graph.ok()) FAIL(graph.error().message);
  const auto program = compiler::lower(chip, graph.value());
  REQUIRE(program.ok());
  const auto kernel = compiler::compile(chip, program.value());
  if (!kernel.ok()) FAIL(kernel.error().message);
  std::mt19937_64 random(seed);
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<std::byte>> arguments;
  for (const size_t t : graph.value().inputs) {
    const auto& tensor = graph.value().tensors[t];
    std::vector<float> values(tensor.rows * tensor.columns);
    for (auto& v : values) v = static_cast<float>(random() % 4001) / 1000.0f - 2.0f;
    arguments.push_back(compiler::pack_rows_as(values, tensor.rows, tensor.columns, tensor.dtype));
    inputs.push_back(values);
  }
  for (size_t i = inputs.size(); i < program.value().arguments.size(); i++)
    arguments.emplace_back(program.value().arguments[i].size_bytes, std::byte{0x33});
  test::ProgramExecutor executor(chip, kernel.value(), arguments, seed);
  INFO("seed " << seed);
  REQUIRE(executor.run() == "");
  const auto expected = tools::evaluate_golden(graph.value(), inputs);
  REQUIRE((!expected.empty() && expected.size() == graph.value().outputs.size()));
  for (size_t o = 0; o < expected.size(); o++) {
    const auto& tensor = graph.value().tensors[graph.value().outputs[o]];
    const auto got = compiler::unpack_rows(executor.argument(inputs.size() + o, arguments[inputs.size() + o].size()),
                                           tensor.rows, tensor.columns, 4);
    REQUIRE((!got.empty() && got.size() == expected[o].size() * 4));
    CHECK(std::memcmp(got.data(), expected[o].data(), got.size()) == 0);
  }
}

std::string refusal(const Model& model, uint64_t batch = 0) {
  const auto graph = model.import(batch);
  REQUIRE(!graph.ok());
  return graph.error().message;
}

}  // namespace

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

TEST_CASE("versions that are not known are refused") {
  const auto with = [](int64_t ir, int64_t opset) {
    Model model;
    model.input("x", {2, 3}).node("Relu", {"x"}, "y").output("y");
    model.proto().set_ir_version(ir);
    model.proto().mutable_opset_import(0)->set_version(opset);
    return model;
  };
  CHECK(with(8, 7).import().ok());
  CHECK(with(14, 23).import().ok());
  CHECK(refusal(with(8, 99)) == "the model is of opset 99; supported: 6 to 23");
  CHECK(refusal(with(8, 5)) == "the model is of opset 5; supported: 6 to 23");
  CHECK(refusal(with(99, 17)) == "the model has ir_version 99; supported: 3 to 14");
  auto none = with(8, 17), two = with(8, 17);
  none.proto().clear_opset_import();
  CHECK(refusal(none).find("does not say which opset") != std::string::npos);
  two.proto().add_opset_import()->set_version(18);
  CHECK(refusal(two).find("imports ONNX's operators twice") != std::string::npos);
  auto function = with(8, 17);
  function.proto().add_functions()->set_name("Relu");
  CHECK(refusal(function) == "node 0 'y_node' (Relu): 1 inputs and 1 outputs; function 'Relu' has 0 and 0");
}

TEST_CASE("a name that is given twice is refused with both places") {
  const auto base = [] {
    Model model;
    model.input("x", {2, 3}).weights("w", {3, 3}, 1).node("MatMul", {"x", "w"}, "y").output("y");
    return model;
  };
  auto again = base();
  again.node("Relu", {"x"}, "y");
  CHECK(refusal(again) == "node 1 'y_node' (Relu): 'y' is the name of node 0 'y_node' (MatMul) already");
  auto of_input = base();
  of_input.node("Relu", {"y"}, "x");
  CHECK(refusal(of_input) == "node 1 'x_node' (Relu): 'x' is the name of input 'x' already");
  auto of_constant = base();
  of_constant.node("Relu", {"y"}, "w");
  CHECK(refusal(of_constant) == "node 1 'w_node' (Relu): 'w' is the name of initializer 'w' already");
  CHECK(refusal(base().input("x", {2, 3})) == "input 'x': 'x' is the name of input 'x' already");
  CHECK(refusal(base().weights("w", {3, 3}, 2)) == "initializer 'w': there are two of this name");
  CHECK(refusal(base().output("y")) == "output 'y' is there twice");
  CHECK(refusal(base().input("", {2, 3})) == "input '': the name is empty");
  auto nodes = base();
  nodes.node("Relu", {"y"}, "z").last().set_name("y_node");
  CHECK(refusal(nodes) == "node 1 'y_node' (Relu): node 0 has this name already");
}

TEST_CASE("nodes that do not stand in the order in which they compute, and cycles, are refused") {
  Model order;
  order.input("x", {2, 3}).node("Relu", {"h"}, "y").node("Relu", {"x"}, "h").output("y");
  CHECK(refusal(order) ==
        "node 0 'y_node' (Relu): input 0 'h' is not defined before the node: node 1 'h_node' (Relu) writes it, and "
        "nodes come in the order in which they compute");
  Model cycle;
  cycle.input("x", {2, 3}).node("Add", {"x", "b"}, "a").node("Relu", {"a"}, "b").output("b");
  CHECK(refusal(cycle).find("input 1 'b' is not defined before the node") != std::string::npos);
}

TEST_CASE("a node has its operator's inputs and its one output, and no others") {
  const auto relu = [](const std::vector<const char*>& inputs) {
    Model model;
    model.input("x", {2, 3}).input("u", {2, 3}).weights("w", {3, 3}, 1).node("Relu", inputs, "y").output("y");
    return model;
  };
  CHECK(refusal(relu({"x", "u"})) == "node 0 'y_node' (Relu): 2 inputs; Relu has 1 in opset 17");
  CHECK(refusal(relu({})) == "node 0 'y_node' (Relu): 0 inputs; Relu has 1 in opset 17");
  CHECK(refusal(relu({""})) == "node 0 'y_node' (Relu): input 0 is missing");
  auto outputs = relu({"x"});
  outputs.last().add_output("more");
  CHECK(refusal(outputs) == "node 0 'y_node' (Relu): 2 outputs; Relu has 1");
  auto unnamed = relu({"x"});
  unnamed.node("Relu", {"x"}, "");
  CHECK(refusal(unnamed).find("1 outputs without a name") != std::string::npos);
  Model gemm;
  gemm.input("x", {2, 3}).weights("w", {3, 3}, 1).node("Gemm", {"x", "w", "", "w"}, "y").output("y");
  CHECK(refusal(gemm) == "node 0 'y_node' (Gemm): 4 inputs; Gemm has 2 to 3 in opset 17");
  Model old;
  old.input("x", {2, 3}).weights("w", {3, 3}, 1).node("Gemm", {"x", "w"}, "y").output("y");
  old.proto().mutable_opset_import(0)->set_version(9);
  CHECK(refusal(old) == "node 0 'y_node' (Gemm): 2 inputs; Gemm has 3 in opset 9");
}

TEST_CASE("attributes are of their operator, of their type, of the opset, and there once") {
  const auto gemm = [](std::vector<std::pair<const char*, double>> attributes) {
    Model model;
    model.input("x", {2, 3}).weights("w", {3, 3}, 1).node("Gemm", {"x", "w"}, "y", std::move(attributes)).output("y");
    return model;
  };
  CHECK(refusal(gemm({{"transB", 0.5}})) ==
        "node 0 'y_node' (Gemm): attribute 'transB' has type FLOAT, Gemm has it as INT");
  auto two = gemm({{"transB", 1}});
  two.last().mutable_attribute(0)->set_f(1);
  CHECK(refusal(two) == "node 0 'y_node' (Gemm): attribute 'transB' has a value of another type than INT");
  CHECK(refusal(gemm({{"transB", 1}, {"transB", 0}})) == "node 0 'y_node' (Gemm): attribute 'transB' is there twice");
  CHECK(refusal(gemm({{"broadcast", 1}})).find("attribute 'broadcast'; Gemm has in opset 17: alpha, beta") !=
        std::string::npos);
  Model reshape;
  reshape.input("x", {2, 3}).integers("s", {2, 3}).node("Reshape", {"x", "s"}, "y", {{"allowzero", 0}}).output("y");
  CHECK(reshape.import().ok());
  reshape.proto().mutable_opset_import(0)->set_version(13);
  CHECK(refusal(reshape) == "node 0 'y_node' (Reshape): attribute 'allowzero'; Reshape has in opset 13: none");
  Model zero;
  zero.input("x", {2, 3}).integers("s", {0, 3}).node("Reshape", {"x", "s"}, "y", {{"allowzero", 1}}).output("y");
  CHECK(refusal(zero).find("reshape: f32[2, 3] has 6 elements, f32[0, 3] has 0") != std::string::npos);
  Model constant;
  constant.input("x", {2, 3}).node("Constant", {}, "c", {{"value_int", 1}, {"value_float", 1.5}});
  constant.node("Relu", {"x"}, "y").output("y");
  CHECK(refusal(constant).find("2 values; Constant has one") != std::string::npos);
}

TEST_CASE("input shapes that are no shapes are refused") {
  const auto with = [](int64_t first, int64_t second) {
    Model model;
    model.input("x", {2, 3}).node("Relu", {"x"}, "y").output("y");
    auto& shape = *model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.mutable_dim(0)->set_dim_value(first), shape.mutable_dim(1)->set_dim_value(second);
    return model;
  };
  CHECK(refusal(with(-1, 3), 4).find("input 'x': dimension 0 is -1") != std::string::npos);
  CHECK(refusal(with(2, 0), 4) == "input 'x' is f32[2, 0]; the device takes f32 that is not empty");
  CHECK(refusal(with(1ll << 40, 3)).find("too large") != std::string::npos);
  auto none = with(2, 3), unnamed = with(2, 3), other = with(2, 3);
  none.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  CHECK(refusal(none, 4) == "input 'x': the input has no shape: give its array");
  unnamed.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->Clear();
  CHECK(refusal(unnamed, 4) == "input 'x': dimension 1 '' is symbolic: give --bind NAME=SIZE");
  other.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  CHECK(refusal(other).find("it is no tensor") != std::string::npos);
}

TEST_CASE("what the model declares of a value is what its node computes, or the model is refused") {
  const auto declared = [](std::vector<int64_t> dims, int32_t type) {
    Model model;
    model.input("x", {2, 3}).node("Relu", {"x"}, "y").output("y");
    auto* tensor = model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (const int64_t d : dims) tensor->mutable_shape()->add_dim()->set_dim_value(d);
    return model;
  };
  CHECK(declared({2, 3}, onnx::TensorProto::FLOAT).import().ok());
  CHECK(refusal(declared({2, 4}, onnx::TensorProto::FLOAT)) ==
        "output 'y' is declared as [2, 4], its node computes [2, 3]");
  CHECK(refusal(declared({6}, onnx::TensorProto::FLOAT)).find("declared as [6]") != std::string::npos);
  CHECK(refusal(declared({2, 3}, onnx::TensorProto::INT64)).find("declared as INT64, its node computes FLOAT") !=
        std::string::npos);
}

TEST_CASE("an output that is a constant is refused") {
  Model model;
  model.input("x", {2, 3}).weights("w", {2, 3}, 1).node("Relu", {"x"}, "y").output("y").output("w");
  CHECK(refusal(model) == "output 'w' is a constant: it is computed by no node from an input");
}

TEST_CASE("a tensor's data is in one field and as long as its shape") {
  const auto weights = [](const std::function<void(onnx::TensorProto&)>& change) {
    Model model;
    model.input("x", {2, 3}).weights("w", {3, 3}, 1).node("MatMul", {"x", "w"}, "y").output("y");
    change(*model.graph().mutable_initializer(0));
    return refusal(model);
  };
  CHECK(weights([](auto& w) { w.add_float_data(1); }).find("its shape needs 9 elements") != std::string::npos);
  CHECK(weights([](auto& w) { w.set_raw_data(std::string(36, 'x')); }).find("in one field") != std::string::npos);
  CHECK(weights([](auto& w) {
          w.clear_float_data();
          w.set_raw_data(std::string(38, 'x'));
        }).find("holds 38 bytes") != std::string::npos);
  CHECK(weights([](auto& w) { w.mutable_segment(); }).find("segment") != std::string::npos);
}

TEST_CASE("what is not built is refused with the node, the operator and what is supported") {
  Model none, sequence;
  none.input("x", {1, 4}).node("Gem", {"x"}, "y").output("y");
  CHECK(refusal(none) ==
        "node 0 'y_node' (Gem): the operator is not built; supported: those of docs/onnx_operators.md");
  sequence.input("x", {1, 4}).node("SequenceConstruct", {"x"}, "y").output("y");
  CHECK(refusal(sequence) ==
        "node 0 'y_node' (SequenceConstruct): the operator is not built: sequences; supported: those of "
        "docs/onnx_operators.md");
  Model sine;
  sine.input("x", {4, 4}).node("Sin", {"x"}, "y").output("y");
  CHECK(refusal(sine) == "'y_node' (sine) is for the host: no command for sine");
  Model attribute;
  attribute.input("x", {4, 4}).node("Relu", {"x"}, "y", {{"slope", 1}}).output("y");
  CHECK(refusal(attribute) == "node 0 'y_node' (Relu): attribute 'slope'; Relu has in opset 17: none");
}

TEST_CASE("shapes that do not fit are refused with both") {
  Model model;
  model.input("x", {4, 5}).weights("w", {6, 3}, 1).node("MatMul", {"x", "w"}, "y").output("y");
  CHECK(refusal(model) == "node 0 'y_node' (MatMul): a product of f32[4, 5] and f32[6, 3]");
  Model symbolic;
  symbolic.input("x", {0, 5}).node("Relu", {"x"}, "y").output("y");
  CHECK(refusal(symbolic) == "input 'x': dimension 0 'batch' is symbolic: give --bind batch=SIZE");
  Model dangling;
  dangling.input("x", {2, 5}).node("Relu", {"x"}, "y").output("z");
  CHECK(refusal(dangling) == "output 'z' is computed by no node");
}

TEST_CASE("garbage is no ONNX model, and a model with any byte changed is imported or refused but never crashes") {
  CHECK(!import_bytes({}, 1).ok());
  std::mt19937_64 random(99);
  std::vector<std::byte> noise(4096);
  for (auto& b : noise) b = static_cast<std::byte>(random());
  const auto refused = import_bytes(noise, 1);
  REQUIRE(!refused.ok());
  CHECK(refused.error().message == "not an ONNX model (4096 bytes)");
  Model model;
  model.input("x", {0, 5})
      .weights("w", {5, 3}, 1)
      .weights("b", {3}, 2)
      .integers("s", {0, 3})
      .node("Gemm", {"x", "w", "b"}, "h")
      .node("Reshape", {"h", "s"}, "r")
      .node("Relu", {"r"}, "y")
      .output("y");
  const auto good = model.bytes();
  for (size_t i = 0; i < good.size(); i++) {
    for (int bit = 0; bit < 8; bit++) {
      auto bad = good;
      bad[i] ^= static_cast<std::byte>(1 << bit);
      const auto graph = import_bytes(bad, 4);
      if (graph.ok()) (void)compiler::lower(*spec::find_chip("nano"), graph.value());
    }
    (void)import_bytes(std::span(good).first(i), 4);
  }
}

TEST_CASE("a Reshape whose product does not fit 64 bits is refused") {
  for (const auto& shape : {std::vector<int64_t>{3, INT64_MAX, 639}, {3, INT64_MAX, -1}, {3, 1ll << 32, 1ll << 32}}) {
    Model model;
    model.input("x", {3, 8}).integers("shape", shape).node("Reshape", {"x", "shape"}, "y").output("y");
    CHECK(refusal(model).starts_with("node 0 'y_node' (Reshape): "));
  }
}
