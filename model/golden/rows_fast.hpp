/// fp32 additions, subtractions and products by the host's vector unit. For rows.cpp only.
#pragma once
#include <cstddef>

#include "weft/spec/spec.h"

namespace weft::golden::fast {

/// d[i] = a[i] op b[i] under FTZ and DAZ, NaN canonical. False, and nothing done, for an operation that it does not
/// have. Call only if host_fma_is_exact().
bool elementwise_f32(weft_vpu_op op, const float* a, const float* b, float* d, size_t count);

}  // namespace weft::golden::fast
