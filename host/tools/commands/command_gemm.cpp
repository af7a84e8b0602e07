// weft gemm: one matrix product, from .npy files or made from a seed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "host/compiler/layout.hpp"
#include "host/compiler/program.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/formats/npy.hpp"
#include "host/tools/run/gemm_input.hpp"
#include "host/tools/run/mismatch.hpp"
#include "host/tools/run/progress.hpp"
#include "host/tools/run/run_report.hpp"
#include "host/tools/trace/trace_names.hpp"

namespace weft::tools {
namespace {

struct GemmOptions {
  std::string a, b, output, shape, precision = "bf16";
  uint64_t seed = 1;
  bool verify = false, json = false;
  runtime::Target target;
};

int run(const GemmOptions& options) {
  if (auto status = check_target(options.target); !status.ok()) return fail(status.error());
  if (!options.output.empty()) {
    if (auto status = check_writable(options.output); !status.ok()) return fail(status.error());
    if (auto status = check_apart({{"C", options.output}}, {options.a, options.b}); !status.ok())
      return fail(status.error());
  }
  const spec::Chip* preset = options.target.attached() ? nullptr : spec::find_chip(options.target.chip);
  auto input = make_gemm_input(options.a, options.b, options.shape, options.seed, options.precision,
                               preset != nullptr ? preset->hbm_bytes : UINT64_MAX);
  if (!input.ok()) return fail(input.error());
  const GemmInput& in = input.value();
  const bool int8 = in.dtype == WEFT_MXU_DTYPE_INT8;

  MismatchReport mismatch(options.target);
  auto session = runtime::Session::open(mismatch.target());
  if (!session.ok()) return fail(session.error());
  const spec::Chip& chip = session.value().chip();
  const auto program = compiler::gemm_program(chip, in.dtype, in.m, in.device_k(), in.n);
  if (!program.ok()) return fail(program.error());
  const auto kernel = compiler::tiles::compile_fitting(chip, program.value());
  if (!kernel.ok()) return fail(kernel.error());
  const auto executable = compiler::write_executable(chip, kernel.value());
  if (!executable.ok()) return fail(executable.error());
  if (auto status = session.value().load(executable.value()); !status.ok()) return fail(status.error());

  RunReport report;
  ProgressLine progress;
  auto outputs = session.value().run({in.packed_a(), in.packed_b(chip), {}}, report.launch,
                                     progress.callback(kernel.value().cycle_estimate));
  if (!outputs.ok()) return fail(mismatch.explain(outputs.error()));
  const auto c = compiler::unpack_rows(outputs.value()[2], in.m, in.n, 4);
  if (auto status = session.value().close(); !status.ok()) return fail(status.error());
  if (!options.target.trace.empty())
    if (auto status = name_trace(options.target.trace, {&kernel.value().tags, 1}); !status.ok())
      return fail(status.error());

  report.what = fmt::format("gemm {}x{}x{} {}", in.m, in.k, in.n, options.precision);
  report.chip = chip.name;
  report.core = options.target.attached() ? "attached" : options.target.core;
  report.manager = manager_of(options.target);
  report.macs = in.m * in.device_k() * in.n;
  report.peak_macs_per_cycle = chip.peak_macs_per_cycle * (int8 ? 2 : 1);
  report.clock_hz = chip.clock_hz;
  if (options.verify || options.target.core == "lockstep") {
    report.comparison = in.compared_with_golden(c);
    report.max_relative_error = in.max_relative_error(c);
  }
  if (!options.output.empty()) {
    const NpyArray array{int8 ? NpyType::kI32 : NpyType::kF32, {in.m, in.n}, c};
    if (auto status = write_file(options.output, format_npy(array)); !status.ok()) return fail(status.error());
  }
  fmt::print("{}", options.json ? report_json(report) : report_text(report));
  if (!report.comparison) return 0;
  const auto verdict = report.comparison->verdict("the golden model");
  return verdict.ok() ? 0 : fail(verdict.error());
}

}  // namespace

void register_gemm(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "gemm",
      "C = A B on the device: bf16, bf16x3, bf16x6 (fp32 files, fp32 result) or int8 (int8 files, int32 result)");
  auto options = std::make_shared<GemmOptions>();
  command->add_option("A", options->a, "A.npy, M x K");
  command->add_option("B", options->b, "B.npy, K x N");
  command->add_option("-o,--output", options->output, "write C to this .npy file");
  command->add_option("--shape", options->shape, "MxKxN: make A and B instead of reading files");
  command->add_option("--seed", options->seed, "seed of --shape")->capture_default_str();
  command->add_option("--precision", options->precision, "bf16, bf16x3, bf16x6 (fp32 in passes) or int8")
      ->capture_default_str();
  command->add_flag("--verify", options->verify, "compare with the golden model, bit for bit, and with fp64");
  command->add_flag("--json", options->json, "print JSON");
  add_target_options(*command, options->target);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace weft::tools
