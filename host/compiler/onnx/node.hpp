/// One node on its way into L1: what the rules of the operators read and write. Private to the importer.
#pragma once
#include <onnx/onnx_pb.h>

#include <optional>
#include <string>
#include <vector>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::frontend {

class GraphImport;
struct OperatorRow;

using ir::Builder;
using ir::Dims;
using ir::ElementType;
using ir::invalid;
using ir::OpKind;
using ir::TensorPtr;
using ir::unsupported;
using ir::ValueId;

class Node {
 public:
  Node(GraphImport& graph, const ::onnx::NodeProto& proto, const OperatorRow& row, int64_t opset);

  Builder& b;
  const int64_t opset;
  const int since;  ///< opset that defined the operator as it is here

  [[nodiscard]] const std::string& op() const { return proto_.op_type(); }
  [[nodiscard]] size_t inputs() const { return static_cast<size_t>(proto_.input_size()); }
  [[nodiscard]] bool has(size_t i) const { return i < inputs() && !proto_.input(static_cast<int>(i)).empty(); }
  /// Refuses an input that is left out.
  [[nodiscard]] ValueId in(size_t i) const;
  [[nodiscard]] std::vector<ValueId> all_inputs() const;
  [[nodiscard]] size_t outputs() const { return static_cast<size_t>(proto_.output_size()); }
  [[nodiscard]] bool wants(size_t i) const { return i < outputs() && !proto_.output(static_cast<int>(i)).empty(); }
  void out(ValueId value, size_t i = 0);

  /// The value of input i, which must be a constant or computed from values that are bound.
  [[nodiscard]] TensorPtr known(size_t i) const;
  [[nodiscard]] TensorPtr known_value(ValueId value) const;

  [[nodiscard]] bool has_attribute(const char* name) const { return find(name) != nullptr; }
  [[nodiscard]] int64_t integer(const char* name, int64_t otherwise) const;
  [[nodiscard]] double number(const char* name, double otherwise) const;
  [[nodiscard]] std::string word(const char* name, const char* otherwise) const;
  [[nodiscard]] std::optional<Dims> integers(const char* name) const;
  [[nodiscard]] Dims integers(const char* name, Dims otherwise) const;
  [[nodiscard]] std::optional<std::vector<float>> numbers(const char* name) const;
  [[nodiscard]] std::vector<std::string> words(const char* name) const;
  [[nodiscard]] TensorPtr tensor(const char* name) const;
  [[nodiscard]] const ::onnx::GraphProto& graph(const char* name) const;
  /// Input i if there is one, else the attribute: what has moved from one to the other.
  [[nodiscard]] std::optional<Dims> integers_of(size_t input, const char* attribute) const;

  /// The axis, counted from the front. Refuses one outside of the rank.
  [[nodiscard]] static size_t axis(int64_t axis, size_t rank);
  [[nodiscard]] static Dims axes(const Dims& axes, size_t rank);
  /// The element type of TensorProto's number. Refuses others.
  [[nodiscard]] static ElementType element(int64_t data_type);

  /// Writes the body of If, Loop or Scan with these values for its inputs; its outputs.
  std::vector<ValueId> body(const ::onnx::GraphProto& graph, const std::vector<ValueId>& inputs);

 private:
  [[nodiscard]] const ::onnx::AttributeProto* find(const char* name) const;

  GraphImport& graph_;
  const ::onnx::NodeProto& proto_;
};

}  // namespace weft::compiler::frontend
