// Decodes TensorProto, whose data is in raw_data or in a typed field.
#include "host/compiler/onnx_tensor.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "host/compiler/onnx_rules.hpp"

namespace weft::compiler {
namespace {

float f32_from_f16(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  const float sign = half & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa ? std::nanf("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

/// Element i of raw little-endian data.
template <typename T>
T raw_element(const std::string& raw, size_t i) {
  T value;
  std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

Result<ConstantTensor> read_constant(const onnx::TensorProto& proto, const std::string& where) {
  ConstantTensor tensor;
  uint64_t count = 1;
  for (const int64_t d : proto.dims()) {
    if (d < 0 || (d > 0 && count > (1ull << 33) / static_cast<uint64_t>(d)))
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   fmt::format("{}: tensor '{}' has an impossible dimension {}", where, printable(proto.name()), d)};
    tensor.dims.push_back(d);
    count *= static_cast<uint64_t>(d);
  }
  if (proto.has_segment())
    return Error{WEFT_ERROR_UNSUPPORTED, fmt::format("{}: tensor '{}' is a segment of another; store it whole", where,
                                                     printable(proto.name()))};
  if (proto.data_location() == onnx::TensorProto::EXTERNAL || proto.external_data_size() != 0)
    return Error{WEFT_ERROR_UNSUPPORTED,
                 fmt::format("{}: tensor '{}' keeps its data in another file; store it in the model", where,
                             printable(proto.name()))};
  const std::string& raw = proto.raw_data();
  const uint64_t typed_fields =
      static_cast<uint64_t>(proto.float_data_size()) + static_cast<uint64_t>(proto.double_data_size()) +
      static_cast<uint64_t>(proto.int32_data_size()) + static_cast<uint64_t>(proto.int64_data_size()) +
      static_cast<uint64_t>(proto.uint64_data_size()) + static_cast<uint64_t>(proto.string_data_size());
  // Bytes of an element in raw_data, and the number of elements in the typed field.
  size_t width = 0;
  uint64_t typed = 0;
  switch (proto.data_type()) {
    case onnx::TensorProto::FLOAT:
      width = 4, typed = static_cast<uint64_t>(proto.float_data_size());
      break;
    case onnx::TensorProto::DOUBLE:
      width = 8, typed = static_cast<uint64_t>(proto.double_data_size());
      break;
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
      width = 2, typed = static_cast<uint64_t>(proto.int32_data_size());
      break;
    case onnx::TensorProto::INT32:
      width = 4, typed = static_cast<uint64_t>(proto.int32_data_size());
      break;
    case onnx::TensorProto::INT64:
      width = 8, typed = static_cast<uint64_t>(proto.int64_data_size());
      break;
    default:
      return Error{
          WEFT_ERROR_UNSUPPORTED,
          fmt::format("{}: tensor '{}' has element type {}; supported: float, double, float16, bfloat16, int32, int64",
                      where, printable(proto.name()),
                      onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(proto.data_type())))};
  }
  const bool is_raw = !raw.empty();
  if (is_raw ? raw.size() != count * width || typed_fields != 0 : typed != count || typed_fields != typed)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{}: tensor '{}' holds {} bytes and {} elements, its shape needs {} elements of {} bytes "
                             "in one field",
                             where, printable(proto.name()), raw.size(), typed_fields, count, width)};
  tensor.type = proto.data_type() == onnx::TensorProto::FLOAT   ? ConstantType::kFloat
                : proto.data_type() == onnx::TensorProto::INT64 ? ConstantType::kInt64
                : proto.data_type() == onnx::TensorProto::INT32 ? ConstantType::kInt32
                                                                : ConstantType::kOtherFloat;
  for (uint64_t i = 0; i < count; i++) {
    const int at = static_cast<int>(i);
    switch (proto.data_type()) {
      case onnx::TensorProto::FLOAT:
        tensor.values.push_back(is_raw ? raw_element<float>(raw, i) : proto.float_data(at));
        break;
      case onnx::TensorProto::DOUBLE:
        tensor.values.push_back(static_cast<float>(is_raw ? raw_element<double>(raw, i) : proto.double_data(at)));
        break;
      case onnx::TensorProto::FLOAT16:
        tensor.values.push_back(
            f32_from_f16(is_raw ? raw_element<uint16_t>(raw, i) : static_cast<uint16_t>(proto.int32_data(at))));
        break;
      case onnx::TensorProto::BFLOAT16:
        tensor.values.push_back(std::bit_cast<float>(
            static_cast<uint32_t>(is_raw ? raw_element<uint16_t>(raw, i) : static_cast<uint16_t>(proto.int32_data(at)))
            << 16));
        break;
      case onnx::TensorProto::INT32:
        tensor.integers.push_back(is_raw ? raw_element<int32_t>(raw, i) : proto.int32_data(at));
        break;
      case onnx::TensorProto::INT64:
        tensor.integers.push_back(is_raw ? raw_element<int64_t>(raw, i) : proto.int64_data(at));
        break;
      default:
        break;
    }
  }
  return tensor;
}

}  // namespace weft::compiler
