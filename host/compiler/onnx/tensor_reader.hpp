/// Constant tensors of an ONNX model, in the model's file or beside it.
#pragma once
#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "host/compiler/ir/tensor.hpp"

namespace weft::compiler::frontend {

/// The element type of TensorProto's number; none: L1 has no such type.
[[nodiscard]] std::optional<ir::ElementType> element_type_of(int data_type);
[[nodiscard]] int data_type_of(ir::ElementType type);
/// "FLOAT", or the number.
[[nodiscard]] std::string data_type_name(int data_type);

/// The tensor; `where` begins the messages. Data beside the model lies in files of `folder` and below it; an empty
/// folder: the model is no file, and has none. Refuses types that L1 does not have, data of another length than the
/// shape says, a file that is not in the folder or too short.
[[nodiscard]] ir::TensorPtr read_tensor(const ::onnx::TensorProto& proto, const std::string& where,
                                        const std::string& folder);

}  // namespace weft::compiler::frontend
