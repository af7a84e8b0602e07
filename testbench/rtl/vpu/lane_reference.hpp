/// The VPU lane's arithmetic as plain host code, independent of the RTL's method: fp32 sums and products in double,
/// where the product is exact and a second rounding is innocuous (53 >= 2 * 24 + 2 bits); integers elsewhere. All
/// functions are pure.
#pragma once
#include <cstdint>

namespace weft::vpu_test {

inline constexpr uint32_t kNan = 0x7fc00000;
inline constexpr uint32_t kInfinity = 0x7f800000;
inline constexpr uint32_t kSign = 0x80000000;

[[nodiscard]] uint32_t canonical(uint32_t a);
[[nodiscard]] uint32_t add(uint32_t a, uint32_t b);
[[nodiscard]] uint32_t mul(uint32_t a, uint32_t b);
/// By the host's fma; near underflow on operands scaled by 2^64.
[[nodiscard]] uint32_t fma(uint32_t a, uint32_t b, uint32_t c);
[[nodiscard]] bool less(uint32_t a, uint32_t b);
[[nodiscard]] bool equal(uint32_t a, uint32_t b);
[[nodiscard]] uint32_t smaller(uint32_t a, uint32_t b);
[[nodiscard]] uint32_t larger(uint32_t a, uint32_t b);
[[nodiscard]] uint32_t relu_f32(uint32_t a);
[[nodiscard]] uint32_t leaky(uint32_t a, uint32_t slope);
/// In the low byte.
[[nodiscard]] uint32_t f32_to_i8(uint32_t a, int32_t zero_point);
[[nodiscard]] uint32_t f32_to_bf16(uint32_t a);
[[nodiscard]] uint32_t bf16_to_f32(uint32_t a);
[[nodiscard]] uint32_t i32_to_f32(uint32_t a);
[[nodiscard]] uint32_t f32_to_i32(uint32_t a);
[[nodiscard]] uint32_t smaller_i32(uint32_t a, uint32_t b);
[[nodiscard]] uint32_t larger_i32(uint32_t a, uint32_t b);
/// Bit by bit: bit i of the result is the bit `by` places away, or what comes in.
[[nodiscard]] uint32_t shifted_left(uint32_t a, uint32_t by);
[[nodiscard]] uint32_t shifted_right(uint32_t a, uint32_t by, bool sign);

}  // namespace weft::vpu_test
