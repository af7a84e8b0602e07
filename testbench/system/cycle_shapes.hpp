/// The 20 shapes on which the fast core's cycles are compared with the RTL's: by the test, which wants them equal, by
/// the bench with a table.
#pragma once
#include <array>
#include <cmath>
#include <string>

#include "testbench/system/product.hpp"

namespace weft::test {

struct CycleShape {
  const char* chip;
  Shape shape;
};

/// Below one tile, on tile boundaries, memory-bound, compute-bound, long K, wide N, many rows; both types.
inline constexpr std::array<CycleShape, 20> kCycleShapes{{
    {"nano", {WEFT_MXU_DTYPE_BF16, 1, 1, 1}},           {"nano", {WEFT_MXU_DTYPE_BF16, 8, 8, 8}},
    {"nano", {WEFT_MXU_DTYPE_BF16, 7, 9, 17}},          {"nano", {WEFT_MXU_DTYPE_BF16, 64, 64, 64}},
    {"nano", {WEFT_MXU_DTYPE_BF16, 100, 50, 30}},       {"nano", {WEFT_MXU_DTYPE_BF16, 1, 300, 300}},
    {"nano", {WEFT_MXU_DTYPE_BF16, 300, 300, 1}},       {"nano", {WEFT_MXU_DTYPE_BF16, 129, 257, 65}},
    {"nano", {WEFT_MXU_DTYPE_BF16, 256, 256, 256}},     {"nano", {WEFT_MXU_DTYPE_INT8, 3, 5, 2}},
    {"nano", {WEFT_MXU_DTYPE_INT8, 64, 64, 64}},        {"nano", {WEFT_MXU_DTYPE_INT8, 100, 301, 40}},
    {"nano", {WEFT_MXU_DTYPE_INT8, 256, 512, 128}},     {"v5e-1mxu", {WEFT_MXU_DTYPE_BF16, 1, 128, 128}},
    {"v5e-1mxu", {WEFT_MXU_DTYPE_BF16, 128, 128, 128}}, {"v5e-1mxu", {WEFT_MXU_DTYPE_BF16, 200, 300, 100}},
    {"v5e-1mxu", {WEFT_MXU_DTYPE_BF16, 512, 512, 512}}, {"v5e-1mxu", {WEFT_MXU_DTYPE_BF16, 600, 64, 128}},
    {"v5e-1mxu", {WEFT_MXU_DTYPE_INT8, 130, 257, 300}}, {"v5e-1mxu", {WEFT_MXU_DTYPE_INT8, 512, 512, 512}},
}};

[[nodiscard]] inline double cycle_deviation(uint64_t rtl, uint64_t fast) {
  return std::abs(static_cast<double>(fast) / static_cast<double>(rtl) - 1.0);
}

}  // namespace weft::test
