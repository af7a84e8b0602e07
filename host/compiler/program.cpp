// The step of a product and its arguments.
#include "host/compiler/program.hpp"

#include <fmt/format.h>

#include "host/compiler/layout.hpp"

namespace weft::compiler {
Step::Step(const Step&) = default;
Step::Step(Step&&) noexcept = default;
Step& Step::operator=(const Step&) = default;
Step& Step::operator=(Step&&) noexcept = default;
Step::~Step() = default;

namespace {

constexpr uint64_t kMaxOffset = 1ull << 40;  // a command's offsets have 40 bits

}  // namespace

Result<Program> gemm_program(const spec::Chip& chip, weft_mxu_dtype dtype, uint64_t m, uint64_t k, uint64_t n) {
  if (m == 0 || k == 0 || n == 0)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("a product of {} x {} x {}: every dimension must be at least 1", m, k, n)};
  const bool int8 = dtype == WEFT_MXU_DTYPE_INT8;
  if (m >= 1u << 31 || k >= 1u << 31 || n >= 1u << 29)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("a product of {} x {} x {}: M and K must be below 2^31, N below 2^29", m, k, n)};
  const uint64_t a_pitch = row_pitch_bytes(k, int8 ? 1 : 2);
  const uint64_t c_pitch = row_pitch_bytes(n, 4);
  Program program;
  program.name = "gemm";
  program.arguments = {
      {"A", int8 ? WEFT_ARGUMENT_DTYPE_I8 : WEFT_ARGUMENT_DTYPE_BF16, WEFT_ARGUMENT_LAYOUT_ROWS,
       WEFT_ARGUMENT_DIRECTION_INPUT, m, k, a_pitch, m * a_pitch},
      {"B", int8 ? WEFT_ARGUMENT_DTYPE_I8 : WEFT_ARGUMENT_DTYPE_BF16, WEFT_ARGUMENT_LAYOUT_WEIGHT_TILES,
       WEFT_ARGUMENT_DIRECTION_INPUT, k, n, 0, packed_weight_bytes(chip, dtype, k, n)},
      {"C", int8 ? WEFT_ARGUMENT_DTYPE_I32 : WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_LAYOUT_ROWS,
       WEFT_ARGUMENT_DIRECTION_OUTPUT, m, n, c_pitch, m * c_pitch},
  };
  for (const auto& argument : program.arguments)
    if (argument.size_bytes >= kMaxOffset)
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   fmt::format("matrix {} of {} bytes exceeds what a command can address ({} bytes)", argument.name,
                               argument.size_bytes, kMaxOffset)};
  DenseStep step;
  step.name = "gemm";
  step.m = m, step.k = k, step.n = n;
  step.dtype = dtype;
  step.x = {3, 0, a_pitch};
  step.weights = {4, 0, 0};
  step.y = {5, 0, c_pitch};
  step.y_dtype = int8 ? WEFT_VPU_DTYPE_I32 : WEFT_VPU_DTYPE_F32;
  program.steps.push_back(step);
  return program;
}

}  // namespace weft::compiler
