/// What the VPU computes in each lane, for a row at a time. Values are bits: f32 (a bf16 was widened) or int32.
#pragma once
#include <cstdint>
#include <span>

#include "weft/spec/spec.h"

namespace weft::golden {

using BinaryFunction = uint32_t (*)(uint32_t, uint32_t);

/// The operation of two operands, on f32 or i32; sum, rmax and rmin are add, max and min. nullptr: `op` has not two
/// operands, or is not of the type.
[[nodiscard]] BinaryFunction binary_f32(weft_vpu_op op);
[[nodiscard]] BinaryFunction binary_i32(weft_vpu_op op);

/// d = op(a, b, c): every op of ELEMENTWISE but iota; c is scalar2. Results are canonical. d may be a or b. For an op
/// without second operand b is not looked at (it may be empty).
void operate_f32(weft_vpu_op op, std::span<const uint32_t> a, std::span<const uint32_t> b, uint32_t c,
                 std::span<uint32_t> d);
void operate_i32(weft_vpu_op op, std::span<const uint32_t> a, std::span<const uint32_t> b, uint32_t c,
                 std::span<uint32_t> d);

/// An activation with its parameters: leaky's slope is `second`; clamp's limits are `first` and `second`.
void activate_f32(weft_vpu_activation activation, uint32_t first, uint32_t second, std::span<uint32_t> d);
void activate_i32(weft_vpu_activation activation, uint32_t first, uint32_t second, std::span<uint32_t> d);

}  // namespace weft::golden
