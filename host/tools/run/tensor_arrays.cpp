// The two kinds of element types, side by side.
#include "host/tools/run/tensor_arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::tools {
namespace {

using compiler::ir::ElementType;
using compiler::ir::Tensor;
using compiler::ir::TensorPtr;
using compiler::ir::TensorType;

constexpr std::array<std::pair<NpyType, ElementType>, 12> kTypes{{{NpyType::kF32, ElementType::kF32},
                                                                  {NpyType::kI8, ElementType::kI8},
                                                                  {NpyType::kI32, ElementType::kI32},
                                                                  {NpyType::kF16, ElementType::kF16},
                                                                  {NpyType::kF64, ElementType::kF64},
                                                                  {NpyType::kI16, ElementType::kI16},
                                                                  {NpyType::kI64, ElementType::kI64},
                                                                  {NpyType::kU8, ElementType::kU8},
                                                                  {NpyType::kU16, ElementType::kU16},
                                                                  {NpyType::kU32, ElementType::kU32},
                                                                  {NpyType::kU64, ElementType::kU64},
                                                                  {NpyType::kBool, ElementType::kPred}}};

NpyType npy_type(ElementType type) {
  const auto found = std::ranges::find(kTypes, type, &std::pair<NpyType, ElementType>::second);
  return found == kTypes.end() ? NpyType::kF32 : found->first;
}

}  // namespace

TensorPtr tensor_of(const NpyArray& array) {
  const auto element = std::ranges::find(kTypes, array.type, &std::pair<NpyType, ElementType>::first)->second;
  auto tensor = std::make_shared<Tensor>(TensorType{element, {array.shape.begin(), array.shape.end()}});
  if (!array.data.empty()) std::memcpy(tensor->data.data(), array.data.data(), tensor->data.size());
  if (element == ElementType::kPred)
    for (auto& byte : tensor->data) byte = byte == std::byte{} ? std::byte{0} : std::byte{1};
  return tensor;
}

Result<TensorPtr> input_tensor(const std::string& input, const std::string& path, const NpyArray& array,
                               const TensorType& type) {
  TensorPtr given = tensor_of(array);
  if (given->type.dims != type.dims)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{}: the shape is ({}), input '{}' needs ({})", path, fmt::join(array.shape, ", "), input,
                             fmt::join(type.dims, ", "))};
  if (given->type == type) return given;
  if (type.element != ElementType::kBf16 || array.type != NpyType::kF32)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{}: the elements are {}, input '{}' needs {}", path, type_name(array.type), input,
                             type_name(npy_type(type.element)))};
  auto rounded = std::make_shared<Tensor>(type);
  for (uint64_t i = 0; i < type.count(); i++)
    rounded->as<compiler::ir::Bf16>()[i] = compiler::ir::Bf16(static_cast<double>(given->as<float>()[i]));
  return TensorPtr(std::move(rounded));
}

NpyArray array_of(const Tensor& tensor) {
  NpyArray array{npy_type(tensor.type.element), {tensor.type.dims.begin(), tensor.type.dims.end()}, tensor.data};
  if (tensor.type.element == ElementType::kBf16) {
    array.data.resize(tensor.type.count() * sizeof(float));
    for (uint64_t i = 0; i < tensor.type.count(); i++) {
      const auto value = static_cast<float>(tensor.number(i));
      std::memcpy(&array.data[i * sizeof value], &value, sizeof value);
    }
  }
  return array;
}

}  // namespace weft::tools
