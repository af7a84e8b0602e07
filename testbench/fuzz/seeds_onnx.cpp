// Small ONNX models, one for each kind of node.
#include <onnx/onnx_pb.h>

#include <string>

#include "testbench/fuzz/seeds.hpp"

namespace weft::fuzz {
namespace {

class Model {
 public:
  Model() {
    proto_.set_ir_version(8);
    proto_.add_opset_import()->set_version(17);
    proto_.mutable_graph()->set_name("seed");
    auto* input = proto_.mutable_graph()->add_input();
    input->set_name("x");
    auto* tensor = input->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(onnx::TensorProto::FLOAT);
    tensor->mutable_shape()->add_dim()->set_dim_param("batch");
    tensor->mutable_shape()->add_dim()->set_dim_value(4);
    proto_.mutable_graph()->add_output()->set_name("y");
  }
  Model& weights(const char* name, std::initializer_list<int64_t> dims) {
    auto* tensor = add_tensor(name, onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (const int64_t d : dims) {
      tensor->add_dims(d);
      count *= d;
    }
    for (int64_t i = 0; i < count; i++) tensor->add_float_data(0.5f);
    return *this;
  }
  Model& shape(const char* name, std::initializer_list<int64_t> values) {
    auto* tensor = add_tensor(name, onnx::TensorProto::INT64);
    tensor->add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t v : values) tensor->add_int64_data(v);
    return *this;
  }
  Model& node(const char* op, std::initializer_list<const char*> inputs, const char* output) {
    node_ = proto_.mutable_graph()->add_node();
    node_->set_op_type(op);
    for (const char* input : inputs) node_->add_input(input);
    node_->add_output(output);
    return *this;
  }
  Model& integer(const char* name, int64_t value) {
    auto* attribute = add_attribute(name);
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(value);
    return *this;
  }
  Model& real(const char* name, float value) {
    auto* attribute = add_attribute(name);
    attribute->set_type(onnx::AttributeProto::FLOAT);
    attribute->set_f(value);
    return *this;
  }
  Model& output(const char* name) {
    proto_.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  std::vector<uint8_t> bytes() const {
    const std::string text = proto_.SerializeAsString();
    return {text.begin(), text.end()};
  }

 private:
  onnx::TensorProto* add_tensor(const char* name, onnx::TensorProto::DataType type) {
    auto* tensor = proto_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    return tensor;
  }
  onnx::AttributeProto* add_attribute(const char* name) {
    auto* attribute = node_->add_attribute();
    attribute->set_name(name);
    return attribute;
  }

  onnx::ModelProto proto_;
  onnx::NodeProto* node_ = nullptr;
};

}  // namespace

Seeds onnx_seeds() {
  Model gemm, matmul, alias;
  gemm.weights("w", {3, 4}).weights("b", {3});
  gemm.node("Gemm", {"x", "w", "b"}, "h").integer("transB", 1).real("alpha", 0.5f).real("beta", 2.0f);
  gemm.node("Relu", {"h"}, "y");
  matmul.weights("w", {4, 4}).weights("c", {1});
  matmul.node("MatMul", {"x", "w"}, "h").node("Add", {"h", "x"}, "s").node("Add", {"c", "s"}, "y");
  alias.shape("shape", {-1, 4});
  alias.node("Flatten", {"x"}, "f").integer("axis", 1).node("Reshape", {"f", "shape"}, "r");
  alias.node("Cast", {"r"}, "c").integer("to", onnx::TensorProto::FLOAT);
  alias.node("Identity", {"c"}, "i").node("Relu", {"i"}, "y").output("i").output("c");
  return {{"gemm", gemm.bytes()}, {"matmul", matmul.bytes()}, {"alias", alias.bytes()}};
}

}  // namespace weft::fuzz
