/// exp2, log2, rcp, rsqrt, tanh and erf with the VPU's bits: docs/vpu_functions.md.
#pragma once
#include <cstdint>
#include <span>

#include "weft/spec/spec.h"

namespace weft::golden {

[[nodiscard]] constexpr bool is_vpu_function(weft_vpu_op op) { return op >= WEFT_VPU_OP_EXP2 && op <= WEFT_VPU_OP_ERF; }

/// The function of one fp32 value, in integers only. `op` is a function.
[[nodiscard]] uint32_t vpu_function_f32(weft_vpu_op op, uint32_t a);

/// The same of a row, by the host's float unit where that has the same bits. d may be a.
void vpu_function_row(weft_vpu_op op, std::span<const uint32_t> a, std::span<uint32_t> d);

}  // namespace weft::golden
