/// What ONNX says of its operators in each opset: inputs, outputs, attributes and element types. Private to the
/// importer.
#pragma once
#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::compiler::frontend {

constexpr int64_t kFirstOpset = 6, kLastOpset = 23;

/// A row of operator_table.inc.
struct OperatorRow {
  std::string_view name;
  int since;  ///< opset
  int least_inputs, most_inputs, least_outputs, most_outputs;
  std::string_view attributes, inputs, outputs, types;
};

/// The operator as opset `opset` has it; null: that opset has no operator of this name.
[[nodiscard]] const OperatorRow* find_operator(std::string_view name, int64_t opset);

/// All rows, by name and opset.
[[nodiscard]] const std::vector<OperatorRow>& operator_rows();

/// The node has as many inputs and outputs as the operator takes, and attributes that it has, each once and of its
/// type. Refuses (ir::Refusal) what ONNX does not allow.
void check_node(const ::onnx::NodeProto& node, const OperatorRow& row, int64_t opset);

/// The element types of the inputs (TensorProto's numbers; 0: the input is left out) are those that the operator takes,
/// and equal where it demands that.
void check_types(const OperatorRow& row, const std::vector<int>& inputs);

/// The name for a message: one line, not longer than a line.
[[nodiscard]] std::string printable(const std::string& name);

/// "node 3 'fc1' (Gemm)".
[[nodiscard]] std::string node_text(int index, const ::onnx::NodeProto& node);

}  // namespace weft::compiler::frontend
