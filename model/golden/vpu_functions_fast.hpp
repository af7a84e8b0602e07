/// The VPU's functions by the host's float unit. For vpu_functions.cpp only.
#pragma once
#include <cstddef>
#include <cstdint>

#include "weft/spec/spec.h"

namespace weft::golden::fast {

/// d[i] = op(a[i]). False, and nothing done, if the build has no FTZ and DAZ or `op` is no function. Call only if
/// host_fma_is_exact().
bool vpu_function(weft_vpu_op op, const uint32_t* a, uint32_t* d, size_t count);

}  // namespace weft::golden::fast
