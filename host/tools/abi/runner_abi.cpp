// weft_runner: a device with products that have been compiled for it.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/program.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/runtime/abi_guard.hpp"
#include "host/tools/abi/runner.hpp"
#include "host/tools/cost/launch_record.hpp"
#include "host/tools/run/gemm_input.hpp"
#include "host/tools/run/run_parts.hpp"

namespace weft::tools {
namespace {

constexpr size_t kProducts = 8;  // that a runner keeps

Error invalid(std::string message) { return {WEFT_ERROR_INVALID_ARGUMENT, std::move(message)}; }

template <typename T>
void copy_matrix(std::vector<T>& to, const void* from, uint64_t rows, uint64_t columns) {
  const auto* first = static_cast<const T*>(from);
  to.assign(first, first + rows * columns);
}

Result<GemmInput> input_of(const char* precision, uint64_t m, uint64_t k, uint64_t n, const void* a, const void* b) {
  auto made = gemm_of_precision(precision);
  if (!made.ok()) return made.error();
  GemmInput& in = made.value();
  if (m == 0 || k == 0 || n == 0)
    return invalid(fmt::format("a product {} x {} x {}: every dimension must be at least 1", m, k, n));
  const uint64_t limit = 1ull << 32;
  if (m > limit / k || k > limit / n || m > limit / n)
    return invalid(fmt::format("a product {} x {} x {}: a matrix would have more than 2^32 elements", m, k, n));
  in.m = m, in.k = k, in.n = n;
  if (in.dtype == WEFT_MXU_DTYPE_INT8) {
    copy_matrix(in.a8, a, m, k);
    copy_matrix(in.b8, b, k, n);
  } else {
    copy_matrix(in.a, a, m, k);
    copy_matrix(in.b, b, k, n);
  }
  return made;
}

/// The product's executable, kept for the next call.
Result<const std::vector<std::byte>*> product_of(weft_runner& runner, const GemmInput& in) {
  const std::string key = fmt::format("{} {} {} {}", static_cast<int>(in.dtype), in.m, in.device_k(), in.n);
  auto& known = runner.products;
  for (auto at = known.begin(); at != known.end(); at++)
    if (at->key == key) {
      known.splice(known.begin(), known, at);
      return &known.front().executable;
    }
  const spec::Chip& chip = runner.session.chip();
  const auto program = compiler::gemm_program(chip, in.dtype, in.m, in.device_k(), in.n);
  if (!program.ok()) return program.error();
  const auto kernel = compiler::tiles::compile_fitting(chip, program.value());
  if (!kernel.ok()) return kernel.error();
  auto executable = compiler::write_executable(chip, kernel.value());
  if (!executable.ok()) return executable.error();
  known.push_front({key, std::move(executable.value())});
  if (known.size() > kProducts) known.pop_back();
  return &known.front().executable;
}

Status gemm(weft_runner& runner, const char* precision, const GemmInput& in, void* c, weft_run_report* report) {
  const auto noted = LaunchRecord::of_process().call();
  const std::lock_guard lock(runner.mutex);
  const auto executable = product_of(runner, in);
  if (!executable.ok()) return executable.error();
  if (auto status = runner.session.load(*executable.value()); !status.ok()) return status;
  runtime::LaunchResult launch;
  const auto outputs = runner.session.call({in.packed_a(), in.packed_b(runner.session.chip()), {}}, launch);
  if (!outputs.ok()) return outputs.error();
  const auto dense = compiler::unpack_rows(outputs.value()[2], in.m, in.n, 4);
  std::memcpy(c, dense.data(), dense.size());
  PartsResult result;
  result.launches = {{0, launch.start_cycle, launch.end_cycle}};
  result.device_cycles = launch.end_cycle - launch.start_cycle;
  result.macs = in.m * in.device_k() * in.n;
  fill_report(report, result);
  if (noted)
    noted->add(fmt::format("gemm {}x{}x{} {}", in.m, in.k, in.n, precision), runner.session.chip(), nullptr, result);
  return Ok{};
}

}  // namespace

char* text_of(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

Status check_report(const weft_run_report* report) {
  if (report != nullptr && report->size != sizeof *report)
    return invalid(fmt::format("weft_run_report of {} bytes, {} are due", report->size, sizeof *report));
  return Ok{};
}

void fill_report(weft_run_report* report, const PartsResult& result) {
  if (report == nullptr) return;
  *report = WEFT_INIT(weft_run_report);
  report->launches = result.launches.size();
  report->device_cycles = result.device_cycles;
  if (!result.launches.empty())
    report->start_cycle = result.launches.front().begin, report->end_cycle = result.launches.back().end;
  report->macs = result.macs;
  report->host_seconds = result.host_seconds;
}

}  // namespace weft::tools

using namespace weft;

void weft_text_release(char* text) { std::free(text); }

weft_status weft_runner_create(weft_device* device, weft_runner** runner, weft_error_info* error) {
  return runtime::guarded(error, [&]() -> Status {
    if (runner == nullptr) return tools::invalid("a null pointer: runner");
    *runner = nullptr;
    auto session = runtime::Session::on(device);
    if (!session.ok()) return session.error();
    *runner = new weft_runner(std::move(session.value()));
    return Ok{};
  });
}

void weft_runner_release(weft_runner* runner) { delete runner; }

weft_status weft_runner_gemm(weft_runner* runner, const char* precision, uint64_t m, uint64_t k, uint64_t n,
                             const void* a, const void* b, void* c, weft_run_report* report, weft_error_info* error) {
  return runtime::guarded(error, [&]() -> Status {
    if (runner == nullptr || precision == nullptr || a == nullptr || b == nullptr || c == nullptr)
      return tools::invalid("a null pointer: runner, precision, a, b, c");
    if (auto status = tools::check_report(report); !status.ok()) return status;
    const auto in = tools::input_of(precision, m, k, n, a, b);
    if (!in.ok()) return in.error();
    return tools::gemm(*runner, precision, in.value(), c, report);
  });
}
