// ONNX models built in memory that are wrong, or ask for what is not built: each is refused by name, and none crashes the importer.
#include "host/compiler/onnx/graph_import.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "host/compiler/lower.hpp"
#include "testbench/unit/compiler/onnx_model.hpp"

using namespace weft;
using test::import_bytes;
using test::refusal;
using Model = test::OnnxModel;

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
  CHECK(nodes.import().ok());  // names of nodes are for people, and onnxruntime takes them twice
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
  const std::string no_size = "input 'x': dimension 0 has no size and no name: give the shape, --bind x=SIZExSIZE";
  CHECK(refusal(with(-1, 3), 0) == no_size);
  CHECK(with(-1, 3).import(4).ok());
  CHECK(refusal(with(2, 0), 4) == "input 'x' is f32[2, 0]; the device takes f32 that is not empty");
  CHECK(refusal(with(1ll << 40, 3)).find("too large") != std::string::npos);
  auto none = with(2, 3), unnamed = with(2, 3), other = with(2, 3);
  none.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  CHECK(refusal(none, 4) == "input 'x': the input has no shape: give its array, or --bind x=SIZExSIZE");
  unnamed.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->Clear();
  CHECK(refusal(unnamed, 4) == "input 'x': dimension 1 has no size and no name: give the shape, --bind x=SIZExSIZE");
  other.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  CHECK(refusal(other).find("it is no tensor") != std::string::npos);
}

TEST_CASE("what the model declares of a value has its element type, or the model is refused") {
  const auto declared = [](std::vector<int64_t> dims, int32_t type) {
    Model model;
    model.input("x", {2, 3}).node("Relu", {"x"}, "y").output("y");
    auto* tensor = model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (const int64_t d : dims) tensor->mutable_shape()->add_dim()->set_dim_value(d);
    return model;
  };
  CHECK(declared({2, 3}, onnx::TensorProto::FLOAT).import().ok());
  // Exporters leave shapes that were true before the network was changed: as in onnxruntime, what is computed counts.
  for (const auto& dims : {std::vector<int64_t>{2, 4}, {6}}) {
    const auto graph = declared(dims, onnx::TensorProto::FLOAT).import();
    REQUIRE(graph.ok());
    CHECK(graph.value().tensors[graph.value().outputs.at(0)].dims == std::vector<int64_t>{2, 3});
  }
  auto initializer = declared({2, 3}, onnx::TensorProto::FLOAT);
  initializer.weights("w", {3, 3}, 1).input("w", {3, 4});
  CHECK(refusal(initializer) == "input 'w' is declared as [3, 4], its initializer is [3, 3]");
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
