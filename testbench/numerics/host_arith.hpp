/// The host's arithmetic under FTZ and DAZ, in batches.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::numerics {

/// out[i] = a[i] * b[i] + c[i] by the host's fused multiply-add with subnormals read and written as zero; every NaN
/// comes out as 0x7fc00000. All spans have the same size.
void host_fma(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<const uint32_t> c,
              std::span<uint32_t> out);

/// out[i] = a * b[i] in integers, without any floating-point instruction: signs, significands of 8 bits and exponents.
/// The product of two bf16 numbers has 16 bits, so nothing is rounded: in range it is exact, else zero or infinity.
void exact_products(uint16_t a, std::span<const uint16_t> b, std::span<uint32_t> out);

}  // namespace weft::numerics
