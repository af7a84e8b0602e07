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

struct ConstantTensor {
  std::vector<int64_t> dims;
  std::vector<float> values;      ///< of a floating-point tensor
  std::vector<int64_t> integers;  ///< of an integer tensor
  bool is_integer = false;

  [[nodiscard]] uint64_t count() const {
    uint64_t n = 1;
    for (const int64_t d : dims) n *= static_cast<uint64_t>(d);
    return n;
  }
};

/// float, double, float16 and bfloat16 become fp32; int32 and int64 become int64. External data and other types:
/// UNSUPPORTED. INVALID_ARGUMENT if the data is shorter than its shape.
[[nodiscard]] Result<ConstantTensor> read_constant(const onnx::TensorProto& proto, const std::string& where);

}  // namespace weft::compiler
