/// Constant tensors of an ONNX model as fp32 or int64 arrays.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"

namespace onnx {
class TensorProto;
}

namespace weft::compiler {

/// What a constant of the model is; nodes take it as ONNX's types allow.
enum class ConstantType : uint8_t {
  kFloat,       ///< float, as every computed tensor
  kOtherFloat,  ///< double, float16, bfloat16: Cast makes it float
  kInt64,       ///< a shape
  kInt32
};

struct ConstantTensor {
  std::vector<int64_t> dims;
  std::vector<float> values;      ///< of a floating-point tensor
  std::vector<int64_t> integers;  ///< of an integer tensor
  ConstantType type = ConstantType::kFloat;

  [[nodiscard]] bool is_integer() const { return type == ConstantType::kInt64 || type == ConstantType::kInt32; }
  [[nodiscard]] uint64_t count() const {
    uint64_t n = 1;
    for (const int64_t d : dims) n *= static_cast<uint64_t>(d);
    return n;
  }
};

/// float, double, float16 and bfloat16 become fp32; int32 and int64 become int64. External data, segments and other
/// types: UNSUPPORTED. INVALID_ARGUMENT unless the data is as long as the shape says and in one field.
[[nodiscard]] Result<ConstantTensor> read_constant(const onnx::TensorProto& proto, const std::string& where);

}  // namespace weft::compiler
