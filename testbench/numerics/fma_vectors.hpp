/// Operands of multiply-adds, aimed at the places where an implementation goes wrong.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace weft::numerics {

/// a * b + c; bf16, bf16, fp32.
struct FmaVector {
  uint16_t a = 0, b = 0;
  uint32_t c = 0;
};

/// What a vector is aimed at.
enum class FmaClass : uint8_t {
  kRandom,        ///< any bits
  kNormal,        ///< exponents that meet
  kCancellation,  ///< c near -(a * b)
  kTie,           ///< the exact sum half-way between two results
  kNearTie,       ///< half-way but for bits far below: what is rounded twice goes wrong
  kUnderflow,     ///< results around 2^-126
  kOverflow,      ///< results around the largest number
  kSpecial,       ///< zeros, subnormals, infinities, NaN, extremes
};
inline constexpr unsigned kFmaClasses = 8;
inline constexpr std::array<std::string_view, kFmaClasses> kFmaClassNames{
    "random", "normal", "cancellation", "tie", "near_tie", "underflow", "overflow", "special"};

/// Classes in turn: vector i of any sweep is of this class.
[[nodiscard]] constexpr FmaClass class_of(uint64_t index) { return static_cast<FmaClass>(index % kFmaClasses); }

/// Vector `index` of the sweep with this seed. Depends on both arguments only, so any part of a sweep can be run alone.
[[nodiscard]] FmaVector fma_vector(uint64_t seed, uint64_t index);

}  // namespace weft::numerics
