// ONNX models built in memory, and what the tests of the importer ask of one.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstring>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/compiler/import_graph.hpp"

namespace weft::test {

/// Imports with `batch` as the size of the first dimension of every input that has none.
Result<compiler::Graph> import_bytes(std::span<const std::byte> bytes, uint64_t batch);

/// A model under construction.
class OnnxModel {
 public:
  OnnxModel() {
    proto_.set_ir_version(8), proto_.mutable_graph()->set_name("test");
    proto_.add_opset_import()->set_version(17);
  }

  OnnxModel& input(const char* name, std::vector<int64_t> dims) {
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
  OnnxModel& output(const char* name) {
    proto_.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  OnnxModel& weights(const char* name, std::vector<int64_t> dims, uint64_t seed) {
    std::mt19937_64 random(seed);
    auto* tensor = proto_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (const int64_t d : dims) tensor->add_dims(d), count *= d;
    for (int64_t i = 0; i < count; i++) tensor->add_float_data(static_cast<float>(random() % 2001) / 1000.0f - 1.0f);
    return *this;
  }
  OnnxModel& integers(const char* name, std::vector<int64_t> values) {
    auto* tensor = proto_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    tensor->add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t v : values) tensor->add_int64_data(v);
    return *this;
  }
  OnnxModel& node(const char* op, std::vector<const char*> inputs, const char* output,
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
void check_runs(const OnnxModel& model, uint64_t batch, uint64_t seed);

/// The message with which the importer refuses the model; one that is imported fails the test.
std::string refusal(const OnnxModel& model, uint64_t batch = 0);

}  // namespace weft::test
