// Runs the schedulers over the steps and chains them.
#include "host/compiler/compile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/compiler/layout.hpp"
#include "host/compiler/schedules/gemm_schedule.hpp"
#include "host/compiler/schedules/vector_schedule.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kMaxStores = 65535;       // that the step after waits for: a semaphore's counts have 16 bits
constexpr uint64_t kMaxOffset = 1ull << 40;  // a command's offsets have 40 bits

uint64_t row_pitch(const DenseStep& s) { return std::max(s.x.pitch_bytes, s.y.pitch_bytes); }
uint64_t row_pitch(const VectorStep& s) { return s.y.pitch_bytes; }
uint64_t row_pitch(const RearrangeStep& s) { return s.y.pitch_bytes; }
uint64_t row_pitch(const ReduceStep& s) { return s.y.pitch_bytes; }
uint64_t row_pitch(const PairProductStep& s) { return s.y.pitch_bytes; }
uint64_t row_pitch(const ConvolutionStep& s) { return s.y.pitch_bytes; }
uint64_t row_pitch(const WindowStep& s) { return s.y.pitch_bytes; }
uint64_t row_pitch(const CollectiveStep& s) { return s.y.pitch_bytes; }
uint64_t row_pitch(const RowsStep& s) { return std::max(s.y.pitch_bytes, s.table.pitch_bytes); }

Result<uint64_t> schedule(ProgramBuilder& b, const DenseStep& s, const StepChain& c) { return schedule_gemm(b, s, c); }

/// These have their operands in VMEM (tiles/).
Error resident_only(const std::string& name) {
  return {WEFT_ERROR_UNSUPPORTED, fmt::format("{}: it is computed where all values fit VMEM, and they do not", name)};
}
Result<uint64_t> schedule(ProgramBuilder& b, const VectorStep& s, const StepChain& c) {
  for (const auto dtype : {s.dtype, s.y_dtype})
    if (dtype == WEFT_VPU_DTYPE_I32 || dtype == WEFT_VPU_DTYPE_I8) return resident_only(s.name);
  return schedule_vector(b, s, c);
}
Result<uint64_t> schedule(ProgramBuilder&, const RearrangeStep& s, const StepChain&) { return resident_only(s.name); }
Result<uint64_t> schedule(ProgramBuilder&, const ReduceStep& s, const StepChain&) { return resident_only(s.name); }
Result<uint64_t> schedule(ProgramBuilder&, const PairProductStep& s, const StepChain&) { return resident_only(s.name); }
Result<uint64_t> schedule(ProgramBuilder&, const ConvolutionStep& s, const StepChain&) { return resident_only(s.name); }
Result<uint64_t> schedule(ProgramBuilder&, const WindowStep& s, const StepChain&) { return resident_only(s.name); }
Result<uint64_t> schedule(ProgramBuilder&, const CollectiveStep& s, const StepChain&) { return resident_only(s.name); }
Result<uint64_t> schedule(ProgramBuilder&, const RowsStep& s, const StepChain&) { return resident_only(s.name); }

}  // namespace

Result<Kernel> compile(const spec::Chip& chip, const Program& program) {
  ProgramBuilder builder(chip);
  uint64_t stores_before = 0;
  for (size_t i = 0; i < program.steps.size(); i++) {
    const auto& step = program.steps[i];
    if (std::visit([](const auto& s) { return row_pitch(s); }, step) >= 1ull << 31)
      return Error{WEFT_ERROR_UNSUPPORTED, "a row of 2 GiB or more does not fit a command's stride"};
    const StepChain chain{stores_before, i + 1 < program.steps.size()};
    const auto stores = std::visit([&](const auto& s) { return schedule(builder, s, chain); }, step);
    if (!stores.ok()) return stores.error();
    if (chain.announce && stores.value() > kMaxStores)
      return Error{WEFT_ERROR_UNSUPPORTED,
                   fmt::format("{}: {} stores, and a step that others follow may have {}",
                               std::visit([](const auto& s) { return s.name; }, step), stores.value(), kMaxStores)};
    stores_before = stores.value();
  }
  Kernel kernel = builder.kernel(program.name);
  kernel.arguments = program.arguments;
  kernel.constants = program.constants;
  kernel.scratch_bytes = program.scratch_bytes;
  return kernel;
}

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
