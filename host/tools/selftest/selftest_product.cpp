// A product against the golden model, and once more after a reset.
#include <fmt/format.h>

#include "host/compiler/layout.hpp"
#include "host/compiler/program.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/tools/live/reset_text.hpp"
#include "host/tools/run/gemm_input.hpp"
#include "host/tools/selftest/driver_handles.hpp"
#include "host/tools/selftest/selftest.hpp"

namespace weft::tools {
namespace {

/// Not a multiple of anything, more than one tile on the small chips.
constexpr uint64_t kM = 37, kK = 50, kN = 29;

Result<ProductResult> run_product(runtime::Session& session, const GemmInput& input) {
  const auto executable = product_executable(session);
  if (!executable.ok()) return executable.error();
  if (auto status = session.load(executable.value()); !status.ok()) return status.error();
  runtime::LaunchResult launch;
  auto outputs = session.run({input.packed_a(), input.packed_b(session.chip()), {}}, launch);
  if (!outputs.ok()) return outputs.error();
  return ProductResult{compiler::unpack_rows(outputs.value()[2], kM, kN, 4), launch.end_cycle - launch.start_cycle};
}

Result<GemmInput> product_input(uint64_t seed) {
  return make_gemm_input("", "", fmt::format("{}x{}x{}", kM, kK, kN), seed, "bf16");
}

}  // namespace

Result<std::vector<std::byte>> product_executable(const runtime::Session& session) {
  const auto program = compiler::gemm_program(session.chip(), WEFT_MXU_DTYPE_BF16, kM, kK, kN);
  if (!program.ok()) return program.error();
  const auto kernel = compiler::tiles::compile_fitting(session.chip(), program.value());
  if (!kernel.ok()) return kernel.error();
  return compiler::write_executable(session.chip(), kernel.value());
}

CheckResult check_product(runtime::Session& session, uint64_t seed, ProductResult* result) {
  constexpr const char* kName = "product";
  const auto input = product_input(seed);
  if (!input.ok()) return failed(kName, input.error().message);
  auto product = run_product(session, input.value());
  if (!product.ok()) return failed(kName, product.error().message);
  const Comparison comparison = input.value().compared_with_golden(product.value().bits);
  if (const auto verdict = comparison.verdict("the golden model"); !verdict.ok())
    return failed(kName, fmt::format("{} (seed {})", verdict.error().message, seed));
  const uint64_t cycles = product.value().cycles;
  if (result != nullptr) *result = std::move(product.value());
  return passed(kName, fmt::format("{}x{}x{} bf16: 0 of {} elements differ from the golden model, {} cycles", kM, kK,
                                   kN, comparison.elements(), cycles));
}

CheckResult check_reset(runtime::Session& session, uint64_t seed, const ProductResult& before) {
  constexpr const char* kName = "reset";
  weft_device_info info = WEFT_INIT(weft_device_info);
  if (const auto status = weft_device_get_info(session.device(), &info); status != WEFT_ERROR_OK)
    return failed(kName, driver_words(status));
  weft_reset_report report = WEFT_INIT(weft_reset_report);
  if (auto status = session.reset(report); !status.ok()) return failed(kName, status.error().message);
  if (report.generation != info.generation + 1)
    return failed(kName, fmt::format("generation {} after {}", report.generation, info.generation));
  if (report.failed_step != 0)
    return failed(kName, fmt::format("step {} took longer than its bound", reset_step_text(report.failed_step - 1)));
  ProductResult after;
  if (auto again = check_product(session, seed, &after); !again.passed)
    return failed(kName, "after it, " + again.failure);
  if (after.bits != before.bits) return failed(kName, "the same product has other bits after it");
  if (after.cycles != before.cycles)
    return failed(kName,
                  fmt::format("the same product takes {} cycles after it, {} before", after.cycles, before.cycles));
  return passed(kName, fmt::format("generation {} in {} cycles; then the same bits and cycles", report.generation,
                                   report.end_cycle - report.start_cycle));
}

}  // namespace weft::tools
