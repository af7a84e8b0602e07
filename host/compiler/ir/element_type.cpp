// Names and sizes of element types; floats of 16 bits.
#include "host/compiler/ir/element_type.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace weft::compiler::ir {
namespace {

constexpr std::array<std::string_view, 13> kNames{"pred", "i8",  "u8",  "i16",  "u16", "i32", "u32",
                                                  "i64",  "u64", "f16", "bf16", "f32", "f64"};

}  // namespace

std::string_view name_of(ElementType type) { return kNames[static_cast<size_t>(type)]; }

std::optional<ElementType> element_type_of(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); i++)
    if (kNames[i] == name) return static_cast<ElementType>(i);
  return std::nullopt;
}

size_t bytes_of(ElementType type) {
  return visit_type(type, [](auto t) { return sizeof(typename decltype(t)::type); });
}

template <int kFraction, int kBias>
Float16<kFraction, kBias>::Float16(double value) {
  constexpr uint16_t kInfinity = static_cast<uint16_t>((2 * kBias + 1) << kFraction);
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::abs(value);
  if (std::isnan(value)) {
    bits = static_cast<uint16_t>(kInfinity | 1 << (kFraction - 1));
    return;
  }
  if (size >= std::ldexp(1.0, kBias + 1)) {
    bits = sign | kInfinity;
    return;
  }
  if (size < std::ldexp(1.0, 1 - kBias)) {  // subnormal; what rounds up to the smallest normal value has its bits
    bits = static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(size, kBias - 1 + kFraction))));
    return;
  }
  // A carry out of the fraction is one into the exponent, up to infinity.
  const int exponent = std::ilogb(size);
  const auto scaled = static_cast<int>(std::nearbyint(std::ldexp(size, kFraction - exponent)));
  bits = static_cast<uint16_t>(sign | (((exponent + kBias) << kFraction) + scaled - (1 << kFraction)));
}

template <int kFraction, int kBias>
Float16<kFraction, kBias>::operator double() const {
  const int exponent = (bits & 0x7fff) >> kFraction, fraction = bits & ((1 << kFraction) - 1);
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 2 * kBias + 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - kBias - kFraction);
  return sign * std::ldexp(fraction + (1 << kFraction), exponent - kBias - kFraction);
}

template struct Float16<10, 15>;
template struct Float16<7, 127>;

}  // namespace weft::compiler::ir
