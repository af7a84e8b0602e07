// The digits demo: a network trained on two thirds of a data set runs on the tensor core for the third it has never
// seen.
//
// The steps are those of any program that uses Weft: import a model, compile it for a chip, open a device, load, run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "host/compiler/layout.hpp"
#include "host/examples/digits/optdigits.hpp"
#include "host/reference/graph_reference.hpp"
#include "host/runtime/session.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/run/mismatch.hpp"
#include "host/tools/run/model_program.hpp"
#include "host/tools/run/progress.hpp"
#include "host/tools/run/run_arrays.hpp"
#include "host/tools/run/run_report.hpp"

namespace {

using weft::Error;
using weft::examples::kClasses;
using weft::examples::kPixels;

constexpr int kBelowGoal = 1, kWrongUsage = 1;  // exit codes

/// How often a digit (row) was taken for another (column).
using Confusion = std::array<std::array<int, kClasses>, kClasses>;

void print_confusion(const Confusion& confusion) {
  fmt::print("\n  digit  taken for\n       ");
  for (size_t c = 0; c < kClasses; c++) fmt::print("{:5}", c);
  fmt::print("\n");
  for (size_t r = 0; r < kClasses; r++) {
    fmt::print("  {:5}", r);
    for (const int n : confusion[r]) fmt::print("{:>5}", n == 0 ? "." : std::to_string(n));
    fmt::print("\n");
  }
}

int run(const std::string& folder, const weft::runtime::Target& wanted, bool json) {
  using namespace weft::tools;
  if (auto status = check_target(wanted); !status.ok()) return fail(status.error());
  const auto read = weft::examples::read_optdigits(folder + "/optdigits.csv");
  if (!read.ok()) return fail(read.error());
  const auto& data = read.value().held_out;
  const size_t count = data.labels.size();

  // Import and compile.
  const auto file = read_file(folder + "/digits.onnx");
  if (!file.ok()) return fail(file.error());
  const weft::spec::Chip& chip = *weft::spec::find_chip(wanted.chip);
  weft::compiler::frontend::Binding binding;
  binding.first = static_cast<int64_t>(count);
  const auto model = compile_for_device(folder + "/digits.onnx", file.value(), chip, binding);
  if (!model.ok()) return fail(model.error());
  const auto& [graph, program] = model.value();

  // Open, load, run.
  const MismatchReport mismatch(wanted);
  auto session = weft::runtime::Session::open(mismatch.target());
  if (!session.ok()) return fail(session.error());
  if (auto status = session.value().load(program.executable); !status.ok()) return fail(status.error());
  std::vector<uint16_t> pixels;
  for (const float v : data.pixels) pixels.push_back(weft::compiler::bf16_from_f32(v));
  RunReport report;
  ProgressLine progress;
  auto outputs =
      session.value().run({weft::compiler::pack_rows(std::as_bytes(std::span(pixels)), count, kPixels, 2), {}},
                          report.launch, progress.callback(program.cycle_estimate));
  if (!outputs.ok()) return fail(mismatch.explain(outputs.error()));
  const auto scores = weft::compiler::unpack_rows(outputs.value()[1], count, kClasses, 4);
  if (auto status = session.value().close(); !status.ok()) return fail(status.error());

  // Compare with the golden model, and with the labels.
  compare(report, graph, evaluate_golden(graph, {data.pixels}), {}, {scores});
  Confusion confusion{};
  size_t right = 0;
  for (size_t i = 0; i < count; i++) {
    std::array<float, kClasses> row;
    std::memcpy(row.data(), &scores[4 * kClasses * i], sizeof row);
    const auto guess = static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    const auto truth = static_cast<size_t>(data.labels[i]);
    confusion[truth][guess]++;
    right += guess == truth;
  }
  const double accuracy = static_cast<double>(right) / static_cast<double>(count);
  report.what = fmt::format("digits: {} held-out digits through 64-128-10", count);
  report.chip = chip.name;
  report.core = wanted.core;
  report.manager = manager_of(wanted);
  report.macs = program.macs;
  report.peak_macs_per_cycle = chip.peak_macs_per_cycle;
  report.clock_hz = chip.clock_hz;
  if (json) {
    auto object = nlohmann::ordered_json::parse(report_json(report));
    object["accuracy"] = accuracy;
    object["digits"] = count;
    object["confusion"] = confusion;
    fmt::print("{}\n", object.dump(2));
  } else {
    fmt::print("{}  accuracy            {:.2f} % ({} of {})\n", report_text(report), 100 * accuracy, right, count);
    print_confusion(confusion);
  }
  if (const auto verdict = report.comparison->verdict("the golden model"); !verdict.ok()) return fail(verdict.error());
  return accuracy >= 0.95 ? 0 : kBelowGoal;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Runs the digits network on the held-out third of the data and compares every score with the golden model.\n"
      "Exit code 1: accuracy below 95 %, or wrong words; otherwise as `weft`."};
  std::string folder = WEFT_DIGITS_DIR;
  bool json = false;
  weft::runtime::Target target;
  app.add_option("--data", folder, "folder of digits.onnx and optdigits.csv")->capture_default_str();
  app.add_flag("--json", json, "print JSON");
  weft::tools::add_target_options(app, target);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return run(folder, target, json);
}
