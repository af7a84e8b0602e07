/// fp32 arithmetic and conversions by the host's vector unit. For the files of this folder only.
#pragma once
#include <cstddef>
#include <cstdint>

#include "weft/spec/spec.h"

namespace weft::golden::fast {

/// d[i] = a[i] op b[i] under FTZ and DAZ, NaN canonical. False, and nothing done, for an operation that it does not
/// have. Call only if host_fma_is_exact().
bool elementwise_f32(weft_vpu_op op, const float* a, const float* b, float* d, size_t count);

/// d[i] = a[i] b[i] + c, or with `axpy` a[i] c + b[i]; as above. False, and nothing done: this build has no such instructions.
bool multiply_add_f32(bool axpy, const uint32_t* a, const uint32_t* b, uint32_t c, uint32_t* d, size_t count);

/// Adds neighbours 2i and 2i + 1 until values[0] is the only one; a value without a partner passes through. `count` is at
/// least 2; as above.
bool sum_neighbours_f32(uint32_t* values, size_t count);

/// d[i] = f32_to_bf16(a[i]).
void to_bf16(const uint32_t* a, uint16_t* d, size_t count);

}  // namespace weft::golden::fast
