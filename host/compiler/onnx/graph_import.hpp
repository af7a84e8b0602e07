/// The walk over a model's graphs. Private to the importer.
#pragma once
#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/onnx/importer.hpp"

namespace weft::compiler::frontend {

/// The names of one graph, and the graph around it.
struct Scope {
  std::map<std::string, ir::ValueId> values;
  const Scope* outer = nullptr;
  const ::onnx::GraphProto* graph = nullptr;  ///< whose names they are, if it is one

  [[nodiscard]] const ir::ValueId* find(const std::string& name) const;
};

/// What a graph's nodes mean: the operators' version, and the model's functions.
using Opsets = std::map<std::string, int64_t>;

class GraphImport {
 public:
  GraphImport(::onnx::ModelProto& model, const std::string& folder, const Binding& binding);

  /// Once. Refuses (ir::Refusal).
  Imported run();

  // What a node reaches (node.cpp).
  [[nodiscard]] ir::Builder& builder() { return builder_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] ir::ValueId find(const std::string& name) const;
  void give(const std::string& name, ir::ValueId value);
  [[nodiscard]] ir::TensorPtr known(ir::ValueId value);
  std::vector<ir::ValueId> body(const ::onnx::GraphProto& graph, const std::vector<ir::ValueId>& inputs);

 private:
  void add_input(const ::onnx::ValueInfoProto& input);
  /// What is `read_once` gives its bytes up: a model's weights are not there twice.
  void add_initializers(const ::onnx::GraphProto& graph, ::onnx::GraphProto* read_once = nullptr);
  void add_nodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes, const Opsets& opsets);
  void add_node(const ::onnx::NodeProto& node, const Opsets& opsets);
  void call(const ::onnx::FunctionProto& function, const ::onnx::NodeProto& node);
  /// "node 3 'fc1' (Gemm)", "input 'x'" or "initializer 'w'": what gave a name to a value.
  [[nodiscard]] std::string giver_of(const std::string& name) const;
  void check_declared(const ::onnx::ValueInfoProto& declared, const char* kind) const;

  ::onnx::ModelProto& model_;
  const std::string folder_;
  const Binding& binding_;
  Imported imported_;
  ir::Builder builder_;
  Scope* scope_ = nullptr;
  const Opsets* opsets_ = nullptr;
  int depth_ = 0;  ///< of functions and bodies
  std::map<std::pair<std::string, std::string>, const ::onnx::FunctionProto*> functions_;
  std::map<ir::ValueId, ir::TensorPtr> known_;
};

}  // namespace weft::compiler::frontend
