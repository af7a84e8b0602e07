/// The types of tensor elements, and how the host holds one element of each.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weft::compiler::ir {

enum class ElementType : uint8_t { kPred, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF16, kBf16, kF32, kF64 };

/// "f32", "pred", ...
[[nodiscard]] std::string_view name_of(ElementType type);
[[nodiscard]] std::optional<ElementType> element_type_of(std::string_view name);
[[nodiscard]] size_t bytes_of(ElementType type);
[[nodiscard]] constexpr bool is_float(ElementType type) { return type >= ElementType::kF16; }
/// Integer types; pred is not one of them.
[[nodiscard]] constexpr bool is_integer(ElementType type) {
  return type >= ElementType::kI8 && type <= ElementType::kU64;
}
[[nodiscard]] constexpr bool is_unsigned(ElementType type) {
  return type == ElementType::kU8 || type == ElementType::kU16 || type == ElementType::kU32 ||
         type == ElementType::kU64;
}

/// Least and largest of an integer of 8 or 16 bits, as values are quantised to; nothing of another type.
[[nodiscard]] constexpr std::optional<std::pair<int32_t, int32_t>> quantized_range(ElementType type) {
  switch (type) {
    case ElementType::kI8:
      return std::pair(-128, 127);
    case ElementType::kU8:
      return std::pair(0, 255);
    case ElementType::kI16:
      return std::pair(-32768, 32767);
    case ElementType::kU16:
      return std::pair(0, 65535);
    default:
      return std::nullopt;
  }
}

/// A float of 16 bits, rounded once, to nearest even, from a double: f16 has 10 fraction bits and bias 15, bf16 has 7
/// and 127. Subnormal values are kept.
template <int kFraction, int kBias>
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(double value);
  explicit operator double() const;
  explicit operator float() const { return static_cast<float>(static_cast<double>(*this)); }
};
using F16 = Float16<10, 15>;
using Bf16 = Float16<7, 127>;
extern template struct Float16<10, 15>;
extern template struct Float16<7, 127>;

/// Calls `f` with a std::type_identity of the C++ type that holds an element.
template <typename F>
decltype(auto) visit_type(ElementType type, F&& f) {
  switch (type) {
    case ElementType::kPred:
      return f(std::type_identity<bool>{});
    case ElementType::kI8:
      return f(std::type_identity<int8_t>{});
    case ElementType::kU8:
      return f(std::type_identity<uint8_t>{});
    case ElementType::kI16:
      return f(std::type_identity<int16_t>{});
    case ElementType::kU16:
      return f(std::type_identity<uint16_t>{});
    case ElementType::kI32:
      return f(std::type_identity<int32_t>{});
    case ElementType::kU32:
      return f(std::type_identity<uint32_t>{});
    case ElementType::kI64:
      return f(std::type_identity<int64_t>{});
    case ElementType::kU64:
      return f(std::type_identity<uint64_t>{});
    case ElementType::kF16:
      return f(std::type_identity<F16>{});
    case ElementType::kBf16:
      return f(std::type_identity<Bf16>{});
    case ElementType::kF32:
      return f(std::type_identity<float>{});
    case ElementType::kF64:
      break;
  }
  return f(std::type_identity<double>{});
}

}  // namespace weft::compiler::ir
