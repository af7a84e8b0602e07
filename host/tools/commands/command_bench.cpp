// weft bench: a model over batch sizes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/cost/bench.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/run/mismatch.hpp"
#include "host/tools/run/model_program.hpp"
#include "host/tools/run/run_arrays.hpp"

namespace weft::tools {
namespace {

struct BenchOptions {
  std::string model, batches = "1,8,32,128", picture;
  std::vector<std::string> binds;
  std::string precision = "bf16";
  uint64_t seed = 1;
  bool given = false, json = false;  ///< given: the user has named batches
  runtime::Target target;
};

Result<ModelProgram> model_for(const BenchOptions& options, const std::vector<std::byte>& file, const spec::Chip& chip,
                               uint64_t batch) {
  const auto binding = binding_of({}, options.binds, static_cast<int64_t>(batch), precision_of(options.precision));
  if (!binding.ok()) return binding.error();
  return compile_model(options.model, file, chip, binding.value(), compiler::Device::kUsed);
}

/// The batches to run, each once; those of a model of one size are that size.
Result<std::vector<uint64_t>> batches_of(const BenchOptions& options, const std::vector<std::byte>& file,
                                         const spec::Chip& chip) {
  auto batches = parse_batches(options.batches);
  if (!batches.ok()) return batches.error();
  const auto one = model_for(options, file, chip, 1);
  if (!one.ok()) return one.error();
  const auto two = model_for(options, file, chip, 2);
  if (!two.ok()) return two.error();
  const auto fixed = fixed_batch(one.value().module, two.value().module);
  if (!fixed || batches.value() == std::vector{*fixed}) return batches;
  if (!options.given) return std::vector{*fixed};
  return Error{WEFT_ERROR_INVALID_ARGUMENT,
               fmt::format("{}: no input has a symbolic first dimension, so its batch is {}", options.model, *fixed)};
}

/// Rows until all are there, or one cannot be measured.
Status measure(const BenchOptions& options, const std::vector<std::byte>& file, const spec::Chip& chip,
               const std::vector<uint64_t>& batches, std::optional<runtime::Session>& session, MismatchReport& mismatch,
               Bench& bench) {
  for (const uint64_t batch : batches) {
    const auto at = [&](const Error& e) { return Error{e.code, fmt::format("batch {}: {}", batch, e.message)}; };
    const auto model = model_for(options, file, chip, batch);
    if (!model.ok()) return at(model.error());
    const bool device =
        std::ranges::any_of(model.value().partition.parts, [](const auto& part) { return part.graph.has_value(); });
    if (device && !session) {
      auto opened = runtime::Session::open(mismatch.target());
      if (!opened.ok()) return opened.error();
      session.emplace(std::move(opened.value()));
    }
    const auto row = bench_batch(chip, model.value(), batch, options.seed, session ? &*session : nullptr);
    if (!row.ok()) return at(mismatch.explain(row.error()));
    bench.rows.push_back(row.value());
  }
  return Ok{};
}

int bench(const BenchOptions& options) {
  if (auto status = check_target(options.target); !status.ok()) return fail(status.error());
  if (!options.picture.empty()) {
    if (!options.picture.ends_with(".svg"))
      return fail({WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{}: a picture is an .svg file", options.picture)});
    if (auto status = check_writable(options.picture); !status.ok()) return fail(status.error());
  }
  const auto file = read_file(options.model);
  if (!file.ok()) return fail(file.error());
  MismatchReport mismatch(options.target);
  std::optional<runtime::Session> session;
  if (options.target.attached()) {  // which tells its chip itself
    auto opened = runtime::Session::open(mismatch.target());
    if (!opened.ok()) return fail(opened.error());
    session.emplace(std::move(opened.value()));
  }
  const spec::Chip& chip = session ? session->chip() : *spec::find_chip(options.target.chip);
  const auto batches = batches_of(options, file.value(), chip);
  if (!batches.ok()) return fail(batches.error());
  Bench result{options.model, std::string(chip.name), session ? "attached" : options.target.core, {}};
  const auto measured = measure(options, file.value(), chip, batches.value(), session, mismatch, result);
  // What has been measured is not lost with a batch that is refused.
  if (!result.rows.empty()) {
    fmt::print("{}", options.json ? bench_json(chip, result) : bench_text(chip, result));
    if (!options.picture.empty()) {
      const auto picture = bench_picture(chip, result);
      const auto* first = reinterpret_cast<const std::byte*>(picture.data());
      if (auto status = write_file(options.picture, {first, first + picture.size()}); !status.ok())
        return fail(status.error());
    }
  }
  if (!measured.ok()) return fail(measured.error());
  if (session)
    if (auto status = session->close(); !status.ok()) return fail(status.error());
  return 0;
}

}  // namespace

void register_bench(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("bench", "latency and throughput of an ONNX model over batch sizes");
  auto options = std::make_shared<BenchOptions>();
  options->target.core = "fast";  // as many cycles as the RTL, in less time
  command->add_option("MODEL", options->model, "ONNX file")->required();
  auto* batches =
      command->add_option("--batch", options->batches, "sizes of a symbolic first dimension, commas between")
          ->capture_default_str();
  command->add_option("--bind", options->binds,
                      "NAME=SIZE of a symbolic dimension, or INPUT=SIZExSIZE, the shape of an input");
  add_precision_option(*command, options->precision);
  command->add_option("--seed", options->seed, "seed of the inputs")->capture_default_str();
  command->add_option("--picture", options->picture, "draw throughput and latency over the batch to this .svg file");
  command->add_flag("--json", options->json, "print JSON");
  add_target_options(*command, options->target);
  command->callback([options, batches, &action] {
    options->given = batches->count() != 0;
    action = [options] { return bench(*options); };
  });
}

}  // namespace weft::tools
