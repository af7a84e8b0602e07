// Arrays: from the host, to the host, from chip to chip.
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "host/pjrt/objects.hpp"

namespace weft::pjrt {
namespace {

using compiler::ir::ElementType;
using compiler::ir::Tensor;
using compiler::ir::TensorType;

constexpr std::array kTypes{
    std::pair{ElementType::kPred, BufferType::kPred}, std::pair{ElementType::kI8, BufferType::kS8},
    std::pair{ElementType::kU8, BufferType::kU8},     std::pair{ElementType::kI16, BufferType::kS16},
    std::pair{ElementType::kU16, BufferType::kU16},   std::pair{ElementType::kI32, BufferType::kS32},
    std::pair{ElementType::kU32, BufferType::kU32},   std::pair{ElementType::kI64, BufferType::kS64},
    std::pair{ElementType::kU64, BufferType::kU64},   std::pair{ElementType::kF16, BufferType::kF16},
    std::pair{ElementType::kBf16, BufferType::kBf16}, std::pair{ElementType::kF32, BufferType::kF32},
    std::pair{ElementType::kF64, BufferType::kF64}};

/// Copies an array between memories whose elements lie `from` and `to` bytes apart in each dimension.
void copy_elements(const std::byte* source, const compiler::ir::Dims& from, std::byte* target,
                   const compiler::ir::Dims& to, const compiler::ir::Dims& dims, size_t bytes) {
  compiler::ir::Dims at(dims.size());
  for (uint64_t left = compiler::ir::count_of(dims); left > 0; left--) {
    int64_t s = 0, t = 0;
    for (size_t d = 0; d < dims.size(); d++) s += at[d] * from[d], t += at[d] * to[d];
    std::memcpy(target + t, source + s, bytes);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
}

compiler::ir::Dims dense_strides(const TensorType& type) {
  auto strides = compiler::ir::strides_of(type.dims);
  for (auto& stride : strides) stride *= static_cast<int64_t>(compiler::ir::bytes_of(type.element));
  return strides;
}

/// The strides of an order of dimensions, the last one of the list slowest.
std::optional<compiler::ir::Dims> strides_of_order(const TensorType& type, const TiledLayout& layout) {
  if (layout.minor_to_major_size != type.rank() || layout.tiles != 0) return std::nullopt;
  compiler::ir::Dims strides(type.rank(), 0);
  auto stride = static_cast<int64_t>(compiler::ir::bytes_of(type.element));
  for (size_t i = 0; i < type.rank(); i++) {
    const int64_t d = layout.minor_to_major[i];
    if (d < 0 || static_cast<size_t>(d) >= type.rank()) return std::nullopt;
    strides[static_cast<size_t>(d)] = stride;
    stride *= type.dims[static_cast<size_t>(d)];
  }
  return strides;
}

Error* deleted() { return made(ErrorCode::kInvalidArgument, "the array has been deleted or donated"); }

Error* copy(const Buffer& from, Device& device, Buffer*& result) {
  if (!from.contents) return deleted();
  auto place = device.chip->reserve(from.type);
  if (!place.ok()) return made(place.error());
  auto target = place.value();
  auto source = from.contents;
  result = new Buffer{target, &device, from.type};
  source->ready->when_done([source, target](const std::optional<weft::Error>& error) {
    if (!error) target->tensor = source->tensor;
    target->ready->finish(error);
  });
  return nullptr;
}

}  // namespace

BufferType buffer_type_of(ElementType type) {
  for (const auto& [ours, theirs] : kTypes)
    if (ours == type) return theirs;
  return BufferType::kInvalid;
}

Result<ElementType> element_type_of(BufferType type) {
  for (const auto& [ours, theirs] : kTypes)
    if (theirs == type) return ours;
  return weft::Error{WEFT_ERROR_UNSUPPORTED,
                     fmt::format("arrays of element type {} of PJRT; supported: bool, integers of 8 to 64 bits, f16, "
                                 "bf16, f32, f64",
                                 static_cast<int>(type))};
}

Error* buffer_from_host(FromHostArguments& a) {
  const auto element = element_type_of(a.type);
  if (!element.ok()) return made(element.error());
  const TensorType type{element.value(), {a.dims, a.dims + a.rank}};
  Device* device = a.memory != nullptr ? a.memory->device : a.device;
  if (device == nullptr) return made(ErrorCode::kInvalidArgument, "an array without a device");
  if (a.byte_stride_count != 0 && a.byte_stride_count != a.rank)
    return made(ErrorCode::kInvalidArgument, fmt::format("{} strides for {}", a.byte_stride_count, type.text()));
  auto place = device->chip->reserve(type);
  if (!place.ok()) return made(place.error());
  auto tensor = std::make_shared<Tensor>(type);
  const auto* data = static_cast<const std::byte*>(a.data);
  const auto dense = dense_strides(type);
  const compiler::ir::Dims strides =
      a.byte_stride_count == 0 ? dense : compiler::ir::Dims{a.byte_strides, a.byte_strides + a.byte_stride_count};
  if (strides == dense && !tensor->data.empty())
    std::memcpy(tensor->data.data(), data, tensor->data.size());
  else
    copy_elements(data, strides, tensor->data.data(), dense, type.dims, compiler::ir::bytes_of(type.element));
  place.value()->tensor = std::move(tensor);
  place.value()->ready->finish();
  a.buffer = new Buffer{place.value(), device, type};
  a.done_with_data = ready_event();
  return nullptr;
}

Error* buffer_to_host(ToHostArguments& a) {
  const Buffer& buffer = *a.buffer;
  if (!buffer.contents) return deleted();
  const uint64_t bytes = buffer.type.bytes();
  if (a.data == nullptr) {
    a.data_size = bytes;
    return nullptr;
  }
  if (a.data_size < bytes)
    return made(ErrorCode::kInvalidArgument, fmt::format("{} bytes for {}", a.data_size, buffer.type.text()));
  std::optional<compiler::ir::Dims> strides = dense_strides(buffer.type);
  if (a.layout != nullptr && a.layout->kind == MemoryLayout::kTiled)
    strides = strides_of_order(buffer.type, a.layout->tiled);
  else if (a.layout != nullptr && a.layout->strides.byte_stride_count == buffer.type.rank())
    strides.emplace(a.layout->strides.byte_strides, a.layout->strides.byte_strides + buffer.type.rank());
  if (!strides)
    return made(ErrorCode::kUnimplemented, "an array in host memory is tiled; supported: any order of dimensions");
  auto done = std::make_shared<Completion>();
  a.event = new Event{done};
  auto contents = buffer.contents;
  contents->ready->when_done([contents, done, strides = *strides,
                              target = static_cast<std::byte*>(a.data)](const std::optional<weft::Error>& error) {
    if (!error) {
      const Tensor& tensor = *contents->tensor;
      if (strides == dense_strides(tensor.type) && !tensor.data.empty())
        std::memcpy(target, tensor.data.data(), tensor.data.size());
      else
        copy_elements(tensor.data.data(), dense_strides(tensor.type), target, strides, tensor.type.dims,
                      compiler::ir::bytes_of(tensor.type.element));
    }
    done->finish(error);
  });
  return nullptr;
}

Error* copy_to_device(CopyArguments& a) { return copy(*a.buffer, *static_cast<Device*>(a.destination), a.copy); }
Error* copy_to_memory(CopyArguments& a) {
  return copy(*a.buffer, *static_cast<Memory*>(a.destination)->device, a.copy);
}

Error* buffer_layout(MemoryLayoutArguments& a) {
  // Dense, the last dimension fastest; the list lives as long as the process.
  static const auto orders = [] {
    std::array<std::array<int64_t, compiler::ir::kMaxRank>, compiler::ir::kMaxRank + 1> lists{};
    for (size_t rank = 0; rank < lists.size(); rank++)
      for (size_t i = 0; i < rank; i++) lists[rank][i] = static_cast<int64_t>(rank - 1 - i);
    return lists;
  }();
  a.layout = {};
  a.layout.size = sizeof a.layout;
  a.layout.kind = MemoryLayout::kTiled;
  a.layout.tiled.size = sizeof a.layout.tiled;
  a.layout.tiled.minor_to_major = orders[a.buffer->type.rank()].data();
  a.layout.tiled.minor_to_major_size = a.buffer->type.rank();
  return nullptr;
}

Error* buffer_ready_event(PartArguments<Buffer, Event>& a) {
  if (!a.object->contents) return deleted();
  a.result = new Event{a.object->contents->ready};
  return nullptr;
}

}  // namespace weft::pjrt
