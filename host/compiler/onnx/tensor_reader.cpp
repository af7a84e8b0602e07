// Decodes TensorProto, whose data is in raw_data, in a typed field or in another file.
#include "host/compiler/onnx/tensor_reader.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/onnx/operator_table.hpp"

namespace weft::compiler::frontend {
namespace {

using ir::ElementType;
using ir::invalid;
using ir::unsupported;
using ::onnx::TensorProto;

constexpr std::array<std::pair<int, ElementType>, 13> kTypes{{{TensorProto::BOOL, ElementType::kPred},
                                                              {TensorProto::INT8, ElementType::kI8},
                                                              {TensorProto::UINT8, ElementType::kU8},
                                                              {TensorProto::INT16, ElementType::kI16},
                                                              {TensorProto::UINT16, ElementType::kU16},
                                                              {TensorProto::INT32, ElementType::kI32},
                                                              {TensorProto::UINT32, ElementType::kU32},
                                                              {TensorProto::INT64, ElementType::kI64},
                                                              {TensorProto::UINT64, ElementType::kU64},
                                                              {TensorProto::FLOAT16, ElementType::kF16},
                                                              {TensorProto::BFLOAT16, ElementType::kBf16},
                                                              {TensorProto::FLOAT, ElementType::kF32},
                                                              {TensorProto::DOUBLE, ElementType::kF64}}};

uint64_t number(const std::string& text, const std::string& where) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    invalid("{}: '{}' is no number of bytes", where, printable(text));
  return value;
}

/// Bytes of a file beside the model.
struct ExternalBytes {
  std::filesystem::path path;
  uint64_t offset = 0, length = 0;
};

/// Where the tensor's bytes lie. Links are followed first, so that none leads out of the model's folder.
ExternalBytes find_external(const TensorProto& proto, const std::string& where, const std::string& folder,
                            uint64_t bytes) {
  namespace fs = std::filesystem;
  if (folder.empty()) unsupported("{}: the data is in another file, and the model is not read from a file", where);
  std::string location;
  ExternalBytes found{{}, 0, bytes};
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") found.offset = number(entry.value(), where);
    if (entry.key() == "length") found.length = number(entry.value(), where);
  }
  if (found.length != bytes) invalid("{}: {} bytes in another file, the shape needs {}", where, found.length, bytes);
  std::error_code error;
  const fs::path base = fs::weakly_canonical(folder, error);
  if (location.empty() || location.find('\0') != std::string::npos || fs::path(location).is_absolute() || error)
    invalid("{}: the file '{}' is not in the model's folder", where, printable(location));
  found.path = fs::weakly_canonical(base / location, error);
  const auto inside = found.path.lexically_relative(base);
  if (error || inside.empty() || *inside.begin() == "..")
    invalid("{}: the file '{}' is not in the model's folder", where, printable(location));
  if (!fs::is_regular_file(found.path, error)) invalid("{}: there is no file '{}'", where, printable(location));
  const uint64_t size = fs::file_size(found.path, error);
  if (error || found.offset > size || found.length > size - found.offset)
    invalid("{}: {} bytes from {} on of '{}', which has {}", where, found.length, found.offset, printable(location),
            size);
  return found;
}

void read_external(const ExternalBytes& from, const std::string& where, ir::Tensor& tensor) {
  std::ifstream file(from.path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(from.offset));
  file.read(reinterpret_cast<char*>(tensor.data.data()), static_cast<std::streamsize>(from.length));
  if (!file && from.length != 0) invalid("{}: '{}' cannot be read", where, from.path.filename().string());
}

/// Elements of a typed field: integers of 32 bits and less, and bits of 16-bit floats, lie in int32_data.
void read_field(const TensorProto& proto, ir::Tensor& tensor) {
  const auto copy = [&](const auto& field) {
    ir::visit_type(tensor.type.element, [&](auto t) {
      using T = typename decltype(t)::type;
      for (int i = 0; i < field.size(); i++) {
        if constexpr (std::is_same_v<T, ir::F16> || std::is_same_v<T, ir::Bf16>)
          tensor.as<T>()[i].bits = static_cast<uint16_t>(field.Get(i));
        else if constexpr (std::is_same_v<T, bool>)
          tensor.as<T>()[i] = field.Get(i) != 0;
        else
          tensor.as<T>()[i] = static_cast<T>(field.Get(i));
      }
    });
  };
  switch (tensor.type.element) {
    case ElementType::kF32:
      return copy(proto.float_data());
    case ElementType::kF64:
      return copy(proto.double_data());
    case ElementType::kI64:
      return copy(proto.int64_data());
    case ElementType::kU32:
    case ElementType::kU64:
      return copy(proto.uint64_data());
    default:
      return copy(proto.int32_data());
  }
}

uint64_t field_size(const TensorProto& proto, ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return static_cast<uint64_t>(proto.float_data_size());
    case ElementType::kF64:
      return static_cast<uint64_t>(proto.double_data_size());
    case ElementType::kI64:
      return static_cast<uint64_t>(proto.int64_data_size());
    case ElementType::kU32:
    case ElementType::kU64:
      return static_cast<uint64_t>(proto.uint64_data_size());
    default:
      return static_cast<uint64_t>(proto.int32_data_size());
  }
}

}  // namespace

std::optional<ElementType> element_type_of(int data_type) {
  for (const auto& [number, type] : kTypes)
    if (number == data_type) return type;
  return std::nullopt;
}

int data_type_of(ElementType type) {
  for (const auto& [number, element] : kTypes)
    if (element == type) return number;
  return 0;
}

std::string data_type_name(int data_type) {
  const auto name = TensorProto::DataType_Name(static_cast<TensorProto::DataType>(data_type));
  return name.empty() ? std::to_string(data_type) : name;
}

ir::TensorPtr read_tensor(const TensorProto& proto, const std::string& where, const std::string& folder) {
  const auto named = fmt::format("{}: tensor '{}'", where, printable(proto.name()));
  const auto type = element_type_of(proto.data_type());
  if (!type)
    unsupported("{} has element type {}; supported: floats and integers of 8 to 64 bits, bool", named,
                data_type_name(proto.data_type()));
  ir::TensorType shape{*type, {proto.dims().begin(), proto.dims().end()}};
  for (const int64_t d : shape.dims)
    if (d < 0) invalid("{} has an impossible dimension {}", named, d);
  try {
    check_size(shape);
  } catch (const ir::Refusal& refusal) {
    invalid("{}: {}", named, refusal.error.message);
  }
  if (proto.has_segment()) unsupported("{} is a segment of another; store it whole", named);
  const std::string& raw = proto.raw_data();
  const uint64_t count = shape.count(),
                 fields =
                     static_cast<uint64_t>(proto.float_data_size()) + static_cast<uint64_t>(proto.double_data_size()) +
                     static_cast<uint64_t>(proto.int32_data_size()) + static_cast<uint64_t>(proto.int64_data_size()) +
                     static_cast<uint64_t>(proto.uint64_data_size()) + static_cast<uint64_t>(proto.string_data_size());
  const bool external = proto.data_location() == TensorProto::EXTERNAL;
  const uint64_t own = field_size(proto, *type);
  // Lengths first: a shape alone, with no data behind it, must cost no memory.
  if (external       ? fields != 0 || !raw.empty()
      : !raw.empty() ? raw.size() != shape.bytes() || fields != 0
                     : own != count || fields != own)
    invalid("{} holds {} bytes and {} elements, its shape needs {} elements of {} bytes in one field", named,
            raw.size(), fields, count, bytes_of(*type));
  const auto beside = external ? find_external(proto, named, folder, shape.bytes()) : ExternalBytes{};
  auto tensor = std::make_shared<ir::Tensor>(shape);
  if (external)
    read_external(beside, named, *tensor);
  else if (!raw.empty())
    std::memcpy(tensor->data.data(), raw.data(), raw.size());
  else
    read_field(proto, *tensor);
  if (*type == ElementType::kPred)
    for (auto& byte : tensor->data) byte = byte == std::byte{} ? std::byte{0} : std::byte{1};
  return tensor;
}

}  // namespace weft::compiler::frontend
