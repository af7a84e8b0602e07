// weft run: a model or an executable on arrays.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "host/compiler/layout.hpp"
#include "host/tools/command.hpp"
#include "host/tools/failure.hpp"
#include "host/tools/files.hpp"
#include "host/tools/graph_reference.hpp"
#include "host/tools/mismatch.hpp"
#include "host/tools/model_program.hpp"
#include "host/tools/npy.hpp"
#include "host/tools/options.hpp"
#include "host/tools/progress.hpp"
#include "host/tools/run_report.hpp"
#include "host/tools/trace_names.hpp"
#include "weft/spec/names.hpp"

namespace weft::tools {
namespace {

struct RunOptions {
  std::string model;
  std::vector<std::string> inputs, outputs;
  bool verify = false, json = false;
  runtime::Target target;
};

Error invalid(std::string text) { return {WEFT_ERROR_INVALID_ARGUMENT, std::move(text)}; }

/// NAME=FILE to a map. INVALID_ARGUMENT: no '=', or a name twice.
Result<std::map<std::string, std::string>> parse_pairs(const std::vector<std::string>& texts, const char* option) {
  std::map<std::string, std::string> pairs;
  for (const auto& text : texts) {
    const size_t equal = text.rfind('=');
    if (equal == std::string::npos || equal == 0 || equal + 1 == text.size())
      return invalid(fmt::format("{} '{}' is not NAME=FILE.npy", option, text));
    if (!pairs.emplace(text.substr(0, equal), text.substr(equal + 1)).second)
      return invalid(fmt::format("{} names '{}' twice", option, text.substr(0, equal)));
  }
  return pairs;
}

std::vector<std::string> names_of(const std::vector<runtime::ArgumentInfo>& arguments,
                                  weft_argument_direction direction) {
  std::vector<std::string> names;
  for (const auto& a : arguments)
    if (a.direction == direction) names.push_back(a.name);
  return names;
}

/// The bytes that the device gets for one input; `values` keeps the fp32 values for --verify.
Result<std::vector<std::byte>> pack_input(const runtime::ArgumentInfo& info, const std::string& path,
                                          const NpyArray& array, std::vector<float>& values) {
  uint64_t columns = 1;
  for (size_t i = 1; i < array.shape.size(); i++) columns *= array.shape[i];
  const uint64_t rows = array.shape.size() < 2 ? 1 : array.shape[0];
  if (array.shape.size() == 1) columns = array.shape[0];
  if (rows != info.rows || columns != info.columns)
    return invalid(fmt::format("{}: the shape is ({}), input '{}' needs {} x {}", path, fmt::join(array.shape, ", "),
                               info.name, info.rows, info.columns));
  if (info.dtype == WEFT_ARGUMENT_DTYPE_BF16) {
    if (array.type != NpyType::kF32)
      return invalid(
          fmt::format("{}: the elements are {}, input '{}' needs float32", path, type_name(array.type), info.name));
    values.assign(array.as<float>(), array.as<float>() + array.count());
    std::vector<uint16_t> bits(values.size());
    for (size_t i = 0; i < bits.size(); i++) bits[i] = compiler::bf16_from_f32(values[i]);
    if (info.layout == WEFT_ARGUMENT_LAYOUT_ROWS)
      return compiler::pack_rows(std::as_bytes(std::span(bits)), rows, columns, 2);
  }
  return Error{WEFT_ERROR_UNSUPPORTED,
               fmt::format("input '{}' has element type {} and layout {}; weft run takes bf16 rows", info.name,
                           spec::argument_dtype_name(info.dtype), spec::argument_layout_name(info.layout))};
}

/// Bits against golden, values against fp64.
void compare(RunReport& report, const std::vector<float>& golden, const std::vector<double>& exact,
             const std::vector<std::byte>& got, uint64_t columns) {
  report.elements += golden.size();
  uint64_t differing = report.differing.value_or(0);
  double worst = report.max_relative_error.value_or(0);
  for (size_t row = 0; row < golden.size(); row += columns) {
    double largest = 0;
    for (size_t i = row; i < row + columns; i++) largest = std::max(largest, std::abs(exact[i]));
    for (size_t i = row; i < row + columns; i++) {
      differing += std::memcmp(&golden[i], &got[4 * i], 4) != 0;
      float value;
      std::memcpy(&value, &got[4 * i], 4);
      if (largest > 0 && std::isfinite(value))
        worst = std::max(worst, std::abs(static_cast<double>(value) - exact[i]) / largest);
    }
  }
  report.differing = differing;
  report.max_relative_error = worst;
}

int run(const RunOptions& options) {
  if (auto status = check_target(options.target); !status.ok()) return fail(status.error());
  const auto input_files = parse_pairs(options.inputs, "--input");
  if (!input_files.ok()) return fail(input_files.error());
  const auto output_files = parse_pairs(options.outputs, "--output");
  if (!output_files.ok()) return fail(output_files.error());
  for (const auto& [name, path] : output_files.value())
    if (auto status = check_writable(path); !status.ok()) return fail(status.error());
  const auto file = read_file(options.model);
  if (!file.ok()) return fail(file.error());
  std::map<std::string, NpyArray> arrays;
  for (const auto& [name, path] : input_files.value()) {
    auto array = read_npy(path);
    if (!array.ok()) return fail(array.error());
    if (array.value().count() == 0) return fail(invalid(fmt::format("{}: the array is empty", path)));
    arrays[name] = std::move(array.value());
  }

  MismatchReport mismatch(options.target);
  const bool compiled = is_executable(file.value());
  if (compiled && options.verify)
    return fail({WEFT_ERROR_UNSUPPORTED,
                 "--verify needs the ONNX model: an executable does not hold the network that it was made from"});
  // A model is compiled before the device is opened, so that its mistakes are found first; an attached device tells its
  // chip itself.
  auto session = Result<runtime::Session>(Error{});
  if (compiled || !options.target.socket.empty()) session = runtime::Session::open(mismatch.target());
  if ((compiled || !options.target.socket.empty()) && !session.ok()) return fail(session.error());
  const spec::Chip& chip = session.ok() ? session.value().chip() : *spec::find_chip(options.target.chip);
  const uint64_t batch = arrays.empty() || arrays.begin()->second.shape.empty() ? 1 : arrays.begin()->second.shape[0];
  ModelProgram program;
  if (!compiled) {
    auto made = compile_model(options.model, file.value(), chip, batch);
    if (!made.ok()) return fail(made.error());
    program = std::move(made.value());
  }
  if (!session.ok()) session = runtime::Session::open(mismatch.target());
  if (!session.ok()) return fail(session.error());
  if (auto status = session.value().load(compiled ? file.value() : program.executable); !status.ok())
    return fail({status.error().code, fmt::format("{}: {}", options.model, status.error().message)});

  const auto& infos = session.value().arguments();
  for (const auto& [name, path] : output_files.value()) {
    const auto names = names_of(infos, WEFT_ARGUMENT_DIRECTION_OUTPUT);
    if (std::find(names.begin(), names.end(), name) == names.end())
      return fail(invalid(fmt::format("there is no output '{}'; outputs: {}", name, fmt::join(names, ", "))));
  }
  const auto input_names = names_of(infos, WEFT_ARGUMENT_DIRECTION_INPUT);
  for (const auto& [name, path] : input_files.value())
    if (std::find(input_names.begin(), input_names.end(), name) == input_names.end())
      return fail(invalid(fmt::format("there is no input '{}'; inputs: {}", name, fmt::join(input_names, ", "))));
  std::vector<std::vector<std::byte>> arguments;
  std::vector<std::vector<float>> values;
  for (const auto& info : infos) {
    arguments.emplace_back();
    if (info.direction != WEFT_ARGUMENT_DIRECTION_INPUT) continue;
    const auto found = arrays.find(info.name);
    if (found == arrays.end())
      return fail(invalid(fmt::format("input '{}' is missing: give --input {}=FILE.npy; inputs: {}", info.name,
                                      info.name, fmt::join(input_names, ", "))));
    values.emplace_back();
    auto packed = pack_input(info, input_files.value().at(info.name), found->second, values.back());
    if (!packed.ok()) return fail(packed.error());
    arguments.back() = std::move(packed.value());
  }

  RunReport report;
  ProgressLine progress;
  auto results = session.value().run(arguments, report.launch, progress.callback(program.cycle_estimate));
  if (!results.ok()) return fail(mismatch.explain(results.error()));
  const std::vector<runtime::ArgumentInfo> layout = infos;
  if (auto status = session.value().close(); !status.ok()) return fail(status.error());
  if (!options.target.trace.empty())
    if (auto status = name_trace(options.target.trace, compiled ? file.value() : program.executable); !status.ok())
      return fail(status.error());

  report.what = options.model;
  report.chip = chip.name;
  report.core = options.target.socket.empty() ? options.target.core : "attached";
  report.macs = compiled ? report.launch.counters[WEFT_COUNTER_MXU_MACS] : program.macs;
  report.peak_macs_per_cycle = chip.peak_macs_per_cycle;
  report.clock_hz = chip.clock_hz;
  const bool verify = !compiled && (options.verify || options.target.core == "lockstep");
  const auto golden = verify ? evaluate_golden(program.graph, values) : std::vector<std::vector<float>>{};
  const auto exact = verify ? evaluate_fp64(program.graph, values) : std::vector<std::vector<double>>{};
  size_t output = 0;
  for (size_t i = 0; i < layout.size(); i++) {
    if (layout[i].direction != WEFT_ARGUMENT_DIRECTION_OUTPUT) continue;
    const auto dense = compiler::unpack_rows(results.value()[i], layout[i].rows, layout[i].columns, 4);
    if (verify) compare(report, golden[output], exact[output], dense, layout[i].columns);
    if (const auto path = output_files.value().find(layout[i].name); path != output_files.value().end()) {
      NpyArray array{NpyType::kF32, {layout[i].rows, layout[i].columns}, dense};
      if (!compiled) {
        const auto& dims = program.graph.tensors[program.graph.outputs[output]].dims;
        array.shape.assign(dims.begin(), dims.end());
      }
      if (auto status = write_file(path->second, format_npy(array)); !status.ok()) return fail(status.error());
    }
    output++;
  }
  fmt::print("{}", options.json ? report_json(report) : report_text(report));
  if (report.differing.value_or(0) != 0)
    return fail({WEFT_ERROR_GOLDEN_MISMATCH,
                 fmt::format("{} of {} elements differ from the golden model", *report.differing, report.elements)});
  return 0;
}

}  // namespace

void register_run(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("run", "run an ONNX model or a .weft executable on .npy arrays");
  auto options = std::make_shared<RunOptions>();
  command->add_option("MODEL", options->model, "ONNX or .weft file")->required();
  command->add_option("--input", options->inputs, "NAME=FILE.npy, float32; once for each input");
  command->add_option("--output", options->outputs, "NAME=FILE.npy; once for each output to be written");
  command->add_flag("--verify", options->verify,
                    "compare with the golden model, bit for bit, and with fp64 (ONNX models)");
  command->add_flag("--json", options->json, "print JSON");
  add_target_options(*command, options->target);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace weft::tools
