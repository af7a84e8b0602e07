/// The walk over an ONNX graph that import_onnx makes; private to the importer.
#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/onnx_import.hpp"
#include "host/compiler/onnx_tensor.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler {

inline std::string dims_text(const std::vector<int64_t>& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

/// One model on its way into a Graph. Constants are folded as they are met; Add and Relu join the product before them
/// where that changes no bit.
class OnnxImporter {
 public:
  /// `proto` has passed check_names() and outlives the importer.
  OnnxImporter(const onnx::GraphProto& proto, int64_t opset, const BatchSizes& batch)
      : proto_(proto), opset_(opset), batch_(batch) {}

  /// Once.
  Result<Graph> run();

 private:
  /// A name of the model: a tensor, under a shape that Reshape or Flatten may have given to this name alone. The shape
  /// has the tensor's rows and columns.
  struct Value {
    size_t tensor = 0;
    std::vector<int64_t> dims;
  };
  /// A constant as a row that is added to every row of a tensor, and the shape of the sum.
  struct RowConstant {
    std::vector<float> values;  ///< one for each column, or a single one for all
    std::vector<int64_t> dims;
  };

  Error invalid(const std::string& text) const {
    return {WEFT_ERROR_INVALID_ARGUMENT, where_.empty() ? text : where_ + ": " + text};
  }
  Error unsupported(const std::string& text) const {
    return {WEFT_ERROR_UNSUPPORTED, where_.empty() ? text : where_ + ": " + text};
  }

  // onnx_import.cpp: the walk, and what its operators look up.
  size_t new_tensor(const std::string& name, std::vector<int64_t> dims);
  Status add_input(const onnx::ValueInfoProto& input);
  Status add_node(const onnx::NodeProto& node);
  static const onnx::AttributeProto* attribute(const onnx::NodeProto& node, const char* name);
  Result<Value> tensor_input(const onnx::NodeProto& node, int i) const;
  const ConstantTensor* constant_input(const onnx::NodeProto& node, int i) const;
  /// What the model says of a value's type and shape is what the nodes compute.
  Status check_declared(const onnx::ValueInfoProto& declared, const char* kind);
  /// An output that nodes read too, that is an input, or that is two outputs at once gets a copy of its own.
  void keep_outputs_apart();

  // onnx_products.cpp: Gemm, MatMul, Add, Relu.
  Status add_gemm(const onnx::NodeProto& node);
  Status add_matmul(const onnx::NodeProto& node);
  Result<DenseNode> dense_node(const onnx::NodeProto& node, const Value& x, bool transposed, float alpha) const;
  Status finish_dense(const onnx::NodeProto& node, DenseNode dense);
  /// A constant added to a tensor of shape `to`, by ONNX's broadcasting; refused if the sum has other rows and columns,
  /// or the constant is not the same for every row.
  Result<RowConstant> row_constant(const ConstantTensor& c, const std::vector<int64_t>& to) const;
  /// The product that made tensor `t`, if exactly one node reads it (under whatever name).
  DenseNode* fusable(size_t t);
  /// The node that read `value` last becomes part of the product that made it: its output is the same tensor.
  void fuse(const Value& value, const std::string& output);
  Status add_add(const onnx::NodeProto& node);
  Status add_constant_to(const onnx::NodeProto& node, const Value& x, const ConstantTensor& c);
  Status add_relu(const onnx::NodeProto& node);
  Status finish_vector(const onnx::NodeProto& node, VectorNode vector, std::vector<int64_t> dims);

  // onnx_shapes.cpp: Flatten, Reshape, Identity, Cast, Constant.
  /// The same rows under another shape, or under another name.
  Status add_alias(const onnx::NodeProto& node);
  Result<std::vector<int64_t>> cast(const onnx::NodeProto& node, const std::vector<int64_t>& dims) const;
  Result<std::vector<int64_t>> flatten(const onnx::NodeProto& node, const std::vector<int64_t>& from) const;
  Result<std::vector<int64_t>> reshape(const onnx::NodeProto& node, const std::vector<int64_t>& from) const;
  Status add_constant(const onnx::NodeProto& node);
  Status alias_constant(const onnx::NodeProto& node, ConstantTensor constant);

  const onnx::GraphProto& proto_;
  const int64_t opset_;
  const BatchSizes& batch_;
  Graph graph_;
  std::string where_;
  std::map<std::string, ConstantTensor> constants_;
  std::map<std::string, Value> values_;
  std::map<std::string, int> uses_;    ///< of each name of the model, graph outputs included
  std::map<size_t, int> readers_;      ///< nodes and graph outputs that read a tensor and are not folded away
  std::map<size_t, size_t> producer_;  ///< tensor -> node, products only
};

}  // namespace weft::compiler
