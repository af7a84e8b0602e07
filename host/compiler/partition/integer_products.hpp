/// Products of integers that the MXU has exactly; private to partition/.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "host/compiler/ir/module.hpp"

namespace weft::compiler {

/// The least and the largest integer that a value may have.
struct IntegerRange {
  int64_t least = 0, most = 0;

  [[nodiscard]] bool within(int64_t first, int64_t last) const { return least >= first && most <= last; }
  /// What is added to all of them so that they are bytes with a sign; nothing: they are too many.
  [[nodiscard]] std::optional<int32_t> to_bytes() const {
    if (within(-128, 127)) return 0;
    if (most - least > 255) return std::nullopt;
    return static_cast<int32_t>(-128 - least);
  }
};

/// By the types of 8 bits that the value stems from, and by constants. Nothing: it may be any.
[[nodiscard]] std::optional<IntegerRange> integer_range_of(const ir::Module& module, ir::ValueId value);

/// How many products of two such numbers f32 sums up exactly, in any order; 0: bf16 has not all such numbers.
[[nodiscard]] uint64_t exact_terms(const IntegerRange& a, const IntegerRange& b);

/// Whether a product, or a convolution, of integers is one of i8 by constants.
[[nodiscard]] bool is_product_of_bytes(const ir::Module& module, const ir::Op& op);

/// Why a device program does not have a product or a convolution of integers; empty: it has.
[[nodiscard]] std::string refusal_of_integer_product(const ir::Module& module, const ir::Op& op);

/// f32 that is rounded, perhaps moved by a zero point, and limited to whole numbers below 2^20.
struct Quantizer {
  ir::ValueId rounded;                  ///< what round_nearest_even gives
  std::optional<ir::ValueId> quotient;  ///< what a division gives to that
};
/// Of the operator that limits it from above.
[[nodiscard]] std::optional<Quantizer> quantizer_of(const ir::Module& module, const ir::Op& op);

}  // namespace weft::compiler
