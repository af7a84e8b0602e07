/// Arrays of .npy files as tensors of L1, and back.
#pragma once
#include <string>

#include "host/compiler/ir/tensor.hpp"
#include "host/compiler/result.hpp"
#include "host/tools/formats/npy.hpp"

namespace weft::tools {

/// Of the array's own type.
[[nodiscard]] compiler::ir::TensorPtr tensor_of(const NpyArray& array);

/// Of type `type`. NumPy has no bf16: float32 is rounded to it. INVALID_ARGUMENT: another shape or element type.
[[nodiscard]] Result<compiler::ir::TensorPtr> input_tensor(const std::string& input, const std::string& path,
                                                           const NpyArray& array, const compiler::ir::TensorType& type);

/// bf16 becomes float32.
[[nodiscard]] NpyArray array_of(const compiler::ir::Tensor& tensor);

}  // namespace weft::tools
