// Sizes of tensors, and elements whatever their type.
#include "host/compiler/ir/tensor.hpp"

#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::ir {
namespace {

template <typename T>
T element_from(double value) {
  if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else
    return static_cast<T>(value);
}

}  // namespace

uint64_t count_of(std::span<const int64_t> dims) {
  uint64_t count = 1;
  for (const int64_t d : dims) count *= static_cast<uint64_t>(d);
  return count;
}

std::string dims_text(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

std::string TensorType::text() const { return fmt::format("{}{}", name_of(element), dims_text(dims)); }

void check_size(const TensorType& type) {
  if (type.rank() > kMaxRank) unsupported("a tensor of {} dimensions; supported: {}", type.rank(), kMaxRank);
  uint64_t bytes = bytes_of(type.element);
  for (const int64_t d : type.dims) {
    if (d < 0) invalid("shape {} has a negative dimension", dims_text(type.dims));
    if (d != 0 && bytes > kMaxBytes / static_cast<uint64_t>(d))
      unsupported("the shape {} is too large: more than {} bytes", dims_text(type.dims), kMaxBytes);
    // An empty tensor is checked by its other dimensions, so that products of them stay in range.
    if (d != 0) bytes *= static_cast<uint64_t>(d);
  }
}

double Tensor::number(uint64_t i) const {
  return visit_type(type.element, [&](auto t) { return static_cast<double>(as<typename decltype(t)::type>()[i]); });
}

int64_t Tensor::integer(uint64_t i) const {
  return visit_type(type.element, [&](auto t) -> int64_t {
    using T = typename decltype(t)::type;
    if constexpr (std::is_integral_v<T>)
      return static_cast<int64_t>(as<T>()[i]);
    else
      return static_cast<int64_t>(static_cast<double>(as<T>()[i]));
  });
}

Dims Tensor::integers() const {
  Dims values(type.count());
  for (uint64_t i = 0; i < values.size(); i++) values[i] = integer(i);
  return values;
}

TensorPtr splat(TensorType type, double value) {
  auto tensor = std::make_shared<Tensor>(std::move(type));
  visit_type(tensor->type.element, [&](auto t) {
    using T = typename decltype(t)::type;
    std::fill_n(tensor->as<T>(), tensor->type.count(), element_from<T>(value));
  });
  return tensor;
}

TensorPtr integers_tensor(ElementType type, const Dims& values) {
  auto tensor = std::make_shared<Tensor>(TensorType{type, {static_cast<int64_t>(values.size())}});
  visit_type(type, [&](auto t) {
    using T = typename decltype(t)::type;
    for (size_t i = 0; i < values.size(); i++) {
      if constexpr (std::is_integral_v<T>)
        tensor->as<T>()[i] = static_cast<T>(values[i]);
      else
        tensor->as<T>()[i] = static_cast<T>(static_cast<double>(values[i]));
    }
  });
  return tensor;
}

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
  return strides;
}

}  // namespace weft::compiler::ir
