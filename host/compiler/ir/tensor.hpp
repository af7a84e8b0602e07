/// Tensors on the host: types with their dimensions, and arrays.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/compiler/ir/element_type.hpp"

namespace weft::compiler::ir {

using Dims = std::vector<int64_t>;

constexpr size_t kMaxRank = 16;
constexpr uint64_t kMaxBytes = 1ull << 33;  // of one tensor

/// Elements of a tensor of these dimensions, all at least 0, whose bytes check_size() has allowed.
[[nodiscard]] uint64_t count_of(std::span<const int64_t> dims);

/// "[2, 3]".
[[nodiscard]] std::string dims_text(const Dims& dims);

struct TensorType {
  ElementType element = ElementType::kF32;
  Dims dims;

  [[nodiscard]] uint64_t count() const { return count_of(dims); }
  [[nodiscard]] uint64_t bytes() const { return count() * bytes_of(element); }
  [[nodiscard]] size_t rank() const { return dims.size(); }
  /// "f32[2, 3]".
  [[nodiscard]] std::string text() const;
  bool operator==(const TensorType&) const = default;
};

/// Refuses a rank above kMaxRank, a dimension below 0, and more than kMaxBytes.
void check_size(const TensorType& type);

/// A dense array in C order. Elements of pred are 0 or 1.
struct Tensor {
  TensorType type;
  std::vector<std::byte> data;

  /// Of zeros.
  explicit Tensor(TensorType of) : type(std::move(of)), data(type.bytes()) {}

  template <typename T>
  [[nodiscard]] T* as() {
    return reinterpret_cast<T*>(data.data());
  }
  template <typename T>
  [[nodiscard]] const T* as() const {
    return reinterpret_cast<const T*>(data.data());
  }
  /// Element i, whatever its type: integers beyond 2^53 lose bits.
  [[nodiscard]] double number(uint64_t i) const;
  /// Element i of an integer tensor, or of pred.
  [[nodiscard]] int64_t integer(uint64_t i) const;
  [[nodiscard]] Dims integers() const;
};
using TensorPtr = std::shared_ptr<const Tensor>;

/// All elements have the value, rounded to the type.
[[nodiscard]] TensorPtr splat(TensorType type, double value);
[[nodiscard]] TensorPtr integers_tensor(ElementType type, const Dims& values);

/// Elements between neighbours in each dimension, in C order.
[[nodiscard]] Dims strides_of(const Dims& dims);

}  // namespace weft::compiler::ir
