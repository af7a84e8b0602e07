// ONNX models built in memory: what is imported computes what the model says; what is not is refused by name.
#include "host/compiler/onnx_import.hpp"

#include <onnx/onnx_pb.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "host/compiler/compile.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/tools/graph_reference.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

using namespace weft;

namespace {

/// A model under construction.
class Model {
 public:
  Model() { proto_.set_ir_version(8), proto_.mutable_graph()->set_name("test"); }

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
        a->set_i(static_cast<int64_t>(value));
      else
        a->set_f(static_cast<float>(value));
    }
    return *this;
  }
  std::vector<std::byte> bytes() const {
    const std::string text = proto_.SerializeAsString();
    const auto* p = reinterpret_cast<const std::byte*>(text.data());
    return {p, p + text.size()};
  }
  Result<compiler::Graph> import(uint64_t batch = 0) const { return compiler::import_onnx(bytes(), batch); }

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
    std::vector<uint16_t> bits;
    for (auto& v : values)
      v = static_cast<float>(random() % 4001) / 1000.0f - 2.0f, bits.push_back(compiler::bf16_from_f32(v));
    arguments.push_back(compiler::pack_rows(std::as_bytes(std::span(bits)), tensor.rows, tensor.columns, 2));
    inputs.push_back(values);
  }
  for (size_t i = inputs.size(); i < program.value().arguments.size(); i++)
    arguments.emplace_back(program.value().arguments[i].size_bytes, std::byte{0x33});
  test::ProgramExecutor executor(chip, kernel.value(), arguments, seed);
  INFO("seed " << seed);
  REQUIRE(executor.run() == "");
  const auto expected = tools::evaluate_golden(graph.value(), inputs);
  for (size_t o = 0; o < expected.size(); o++) {
    const auto& tensor = graph.value().tensors[graph.value().outputs[o]];
    const auto got = compiler::unpack_rows(executor.argument(inputs.size() + o, arguments[inputs.size() + o].size()),
                                           tensor.rows, tensor.columns, 4);
    REQUIRE(got.size() == expected[o].size() * 4);
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

TEST_CASE("what is not built is refused with the node, the operator and what is supported") {
  Model conv;
  conv.input("x", {1, 4}).node("Conv", {"x"}, "y").output("y");
  CHECK(refusal(conv) ==
        "node 0 'y_node' (Conv): the operator is not built; supported: Gemm, MatMul, Add, Relu, Flatten, Reshape, "
        "Identity, Constant, Cast");
  Model trans;
  trans.input("x", {4, 4}).weights("w", {4, 4}, 1).node("Gemm", {"x", "w"}, "y", {{"transA", 1}}).output("y");
  CHECK(refusal(trans) == "node 0 'y_node' (Gemm): attribute transA = 1 on a computed tensor; supported: 0");
  Model attribute;
  attribute.input("x", {4, 4}).node("Relu", {"x"}, "y", {{"slope", 1}}).output("y");
  CHECK(refusal(attribute) == "node 0 'y_node' (Relu): attribute 'slope'; supported: none");
}

TEST_CASE("shapes that do not fit are refused with both") {
  Model model;
  model.input("x", {4, 5}).weights("w", {6, 3}, 1).node("MatMul", {"x", "w"}, "y").output("y");
  CHECK(refusal(model) ==
        "node 0 'y_node' (MatMul): input 0 has 5 columns (shape [4, 5]), the weights have 6 rows (shape [6, 3])");
  Model symbolic;
  symbolic.input("x", {0, 5}).node("Relu", {"x"}, "y").output("y");
  CHECK(refusal(symbolic) == "input 'x': the first dimension 'batch' is symbolic: give the batch");
  Model dangling;
  dangling.input("x", {2, 5}).node("Relu", {"x"}, "y").output("z");
  CHECK(refusal(dangling).find("output 'z' is computed by no node") != std::string::npos);
}

TEST_CASE("garbage is no ONNX model, and a model with any byte changed is imported or refused but never crashes") {
  CHECK(!compiler::import_onnx({}, 1).ok());
  std::mt19937_64 random(99);
  std::vector<std::byte> noise(4096);
  for (auto& b : noise) b = static_cast<std::byte>(random());
  const auto refused = compiler::import_onnx(noise, 1);
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
      const auto graph = compiler::import_onnx(bad, 4);
      if (graph.ok()) (void)compiler::lower(*spec::find_chip("nano"), graph.value());
    }
    (void)compiler::import_onnx(std::span(good).first(i), 4);
  }
}

TEST_CASE("a Reshape whose product does not fit 64 bits is refused") {
  for (const auto& shape : {std::vector<int64_t>{3, INT64_MAX, 639}, {3, INT64_MAX, -1}, {3, 1ll << 32, 1ll << 32}}) {
    Model model;
    model.input("x", {3, 8}).integers("shape", shape).node("Reshape", {"x", "shape"}, "y").output("y");
    CHECK(refusal(model).find("cannot become") != std::string::npos);
  }
}
