/// The walk over an ONNX graph that import_onnx makes; nobody else includes it.
#pragma once
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/onnx_tensor.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler {

inline std::string dims_text(const std::vector<int64_t>& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

/// One model on its way into a Graph. Constants are folded as they are met; Add and Relu join the product before them
/// where that changes no bit.
class OnnxImporter {
 public:
  /// `batch` replaces a symbolic first dimension; 0: none is taken. `proto` outlives the importer.
  OnnxImporter(const onnx::GraphProto& proto, uint64_t batch) : proto_(proto), batch_(batch) {}

  /// Once.
  Result<Graph> run();

 private:
  /// A name of the model: a tensor, under a shape that Reshape or Flatten may have given to this name alone.
  struct Value {
    size_t tensor = 0;
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
  /// Attributes other than `known` are refused by name.
  Status only(const onnx::NodeProto& node, const std::set<std::string>& known) const;
  static const onnx::AttributeProto* attribute(const onnx::NodeProto& node, const char* name);
  Result<Value> tensor_input(const onnx::NodeProto& node, int i) const;
  const ConstantTensor* constant_input(const onnx::NodeProto& node, int i) const;
  /// An output that other nodes read too, that is an input, or that is two outputs at once gets a copy of its own.
  void keep_outputs_apart();

  // onnx_products.cpp: Gemm, MatMul, Add, Relu.
  Status add_gemm(const onnx::NodeProto& node);
  Status add_matmul(const onnx::NodeProto& node);
  Status fill_weights(DenseNode& dense, const Value& x, const ConstantTensor& w, bool transposed, float alpha) const;
  Status finish_dense(const onnx::NodeProto& node, DenseNode dense, std::vector<int64_t> dims);
  /// A constant that is one value, [n], [1, n] as a row of n.
  Result<std::vector<float>> row_constant(const ConstantTensor& c, uint64_t n) const;
  /// The product that made tensor `t`, if exactly one node reads it (under whatever name).
  DenseNode* fusable(size_t t);
  /// The node that read `value` last becomes part of the product that made it: its output is the same tensor.
  void fuse(const Value& value, const std::string& output);
  Status add_add(const onnx::NodeProto& node);
  Status add_relu(const onnx::NodeProto& node);
  Status finish_vector(const onnx::NodeProto& node, VectorNode vector, std::vector<int64_t> dims);

  // onnx_shapes.cpp: Flatten, Reshape, Identity, Cast, Constant.
  /// Flatten, Reshape, Identity, Cast to float: the same rows under another shape.
  Status add_alias(const onnx::NodeProto& node);
  Status reshape(const onnx::NodeProto& node, const Tensor& tensor, const std::vector<int64_t>& from,
                 std::vector<int64_t>& dims) const;
  Status add_constant(const onnx::NodeProto& node);

  const onnx::GraphProto& proto_;
  const uint64_t batch_;
  Graph graph_;
  std::string where_;
  std::map<std::string, ConstantTensor> constants_;
  std::map<std::string, Value> values_;
  std::map<std::string, int> uses_;    ///< of each name of the model, graph outputs included
  std::map<size_t, int> readers_;      ///< nodes and graph outputs that read a tensor and are not folded away
  std::map<size_t, size_t> producer_;  ///< tensor -> node, products only
};

}  // namespace weft::compiler
