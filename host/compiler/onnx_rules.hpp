/// What ONNX says of a model before its values are looked at: versions, names, and for each operator that the importer
/// has its inputs and attributes. Private to the importer.
#pragma once
#include <onnx/onnx_pb.h>

#include <string>

#include "host/compiler/result.hpp"

namespace weft::compiler {

/// "node 3 'fc1' (Gemm)".
[[nodiscard]] std::string node_text(int index, const onnx::NodeProto& node);

/// The name for a message: one line, not longer than a line.
[[nodiscard]] std::string printable(const std::string& name);

/// Versions, and what of a model is not built: functions, sparse initializers. The result is the opset of ONNX's own
/// operators. INVALID_ARGUMENT, UNSUPPORTED.
[[nodiscard]] Result<int64_t> check_versions(const onnx::ModelProto& model);

/// Every name is given once, and given before it is read. INVALID_ARGUMENT names both places.
[[nodiscard]] Status check_names(const onnx::GraphProto& graph);

/// The operator is one of the importer's; the node has the inputs, the one output and the attributes that the operator
/// has in this opset. UNSUPPORTED: another operator or domain, or an attribute that is not built. INVALID_ARGUMENT.
[[nodiscard]] Status check_node(const onnx::NodeProto& node, int index, int64_t opset);

}  // namespace weft::compiler
