// A row is one run: device cycles do not depend on the machine, nor on what has run before.
#include "host/tools/cost/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "host/tools/cost/explain.hpp"
#include "host/tools/formats/json_text.hpp"
#include "host/tools/formats/text_table.hpp"
#include "host/tools/run/run_parts.hpp"

namespace weft::tools {
namespace {

using compiler::ir::ElementType;
using compiler::ir::Module;
using compiler::ir::TensorPtr;

constexpr uint64_t kMostBatch = uint64_t{1} << 31;

double microseconds(const spec::Chip& chip, uint64_t cycles) {
  return 1e6 * static_cast<double>(cycles) / static_cast<double>(chip.clock_hz);
}

double utilization(const spec::Chip& chip, const BenchRow& row) {
  return row.device_cycles == 0 ? 0
                                : static_cast<double>(row.work.macs) / (static_cast<double>(chip.peak_macs_per_cycle) *
                                                                        static_cast<double>(row.device_cycles));
}

double of_bound(const BenchRow& row) {
  return row.device_cycles == 0 ? 0 : static_cast<double>(row.bound_cycles) / static_cast<double>(row.device_cycles);
}

}  // namespace

Result<std::vector<uint64_t>> parse_batches(const std::string& text) {
  std::vector<uint64_t> batches;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    uint64_t batch = 0;
    const auto read = std::from_chars(text.data() + at, text.data() + end, batch);
    if (read.ec != std::errc() || read.ptr != text.data() + end || batch == 0 || batch > kMostBatch)
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   fmt::format("--batch: '{}' is no batch size from 1 to {}", text.substr(at, end - at), kMostBatch)};
    if (std::ranges::find(batches, batch) != batches.end())
      return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("--batch: {} is there twice", batch)};
    batches.push_back(batch);
    at = end + 1;
  }
  return batches;
}

std::optional<uint64_t> fixed_batch(const Module& one, const Module& two) {
  for (size_t i = 0; i < one.inputs.size() && i < two.inputs.size(); i++)
    if (one.type(one.inputs[i]) != two.type(two.inputs[i])) return std::nullopt;
  for (const auto input : one.inputs)
    if (one.type(input).rank() != 0) return static_cast<uint64_t>(one.type(input).dims[0]);
  return 1;
}

std::vector<TensorPtr> made_inputs(const Module& module, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TensorPtr> inputs;
  for (const auto input : module.inputs) {
    const auto& type = module.type(input);
    if (type.element != ElementType::kF32) {
      inputs.push_back(compiler::ir::splat(type, 0));
      continue;
    }
    auto tensor = std::make_shared<compiler::ir::Tensor>(type);
    for (uint64_t i = 0; i < type.count(); i++)
      tensor->as<float>()[i] = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

Result<BenchRow> bench_batch(const spec::Chip& chip, const ModelProgram& model, uint64_t batch, uint64_t seed,
                             runtime::Session* session) {
  const auto explanation = explain(chip, model);
  if (!explanation.ok()) return explanation.error();
  BenchRow row;
  row.batch = batch;
  row.work = explanation.value().work();
  row.bound_by = bound_of(chip, row.work).engine();
  row.padded_share = padded_share(chip, row.work.macs, explanation.value().costs().mxu_cycles);
  double bound = 0;
  for (const auto& part : explanation.value().parts) {
    LayerWork work;
    for (const auto& layer : part.layers) work += layer.layer.work;
    bound += bound_of(chip, work).cycles();
    row.islands += part.device ? 0 : 1;
  }
  row.bound_cycles = static_cast<uint64_t>(std::ceil(bound));
  const auto result = run_parts(model, made_inputs(model.module, seed), session, Verify::kNo);
  if (!result.ok()) return result.error();
  row.device_cycles = result.value().device_cycles;
  row.host_seconds = result.value().host_seconds;
  return row;
}

double throughput_of(const spec::Chip& chip, uint64_t batch, uint64_t cycles) {
  return cycles == 0 ? 0
                     : static_cast<double>(batch) * static_cast<double>(chip.clock_hz) / static_cast<double>(cycles);
}

std::string bench_text(const spec::Chip& chip, const Bench& bench) {
  using Align = TextTable::Align;
  std::vector<TextTable::Column> columns{{"batch", Align::kRight}};
  for (const char* heading : {"device cycles", "us", "samples/s", "MXU", "bound", "of the bound", "padding"})
    columns.push_back({heading, Align::kRight});
  columns.push_back({"bound by", Align::kLeft});
  const bool islands = std::ranges::any_of(bench.rows, [](const BenchRow& row) { return row.islands != 0; });
  if (islands) columns.push_back({"host s", Align::kRight});
  TextTable table(columns);
  for (const BenchRow& row : bench.rows) {
    const bool device = row.device_cycles != 0;
    const auto if_device = [&](std::string text) { return device ? std::move(text) : std::string("-"); };
    table.add({std::to_string(row.batch), if_device(std::to_string(row.device_cycles)),
               if_device(fmt::format("{:.2f}", microseconds(chip, row.device_cycles))),
               if_device(fmt::format("{:.0f}", throughput_of(chip, row.batch, row.device_cycles))),
               if_device(fmt::format("{:.1f} %", 100 * utilization(chip, row))),
               if_device(std::to_string(row.bound_cycles)), if_device(fmt::format("{:.1f} %", 100 * of_bound(row))),
               if_device(fmt::format("{:.1f} %", 100 * row.padded_share)), row.bound_by,
               fmt::format("{:.3f}", row.host_seconds)});
  }
  return fmt::format("{} on {} ({} core, {:g} GHz)\n{}", bench.model, bench.chip, bench.core,
                     static_cast<double>(chip.clock_hz) / 1e9, table.text("  "));
}

std::string bench_json(const spec::Chip& chip, const Bench& bench) {
  nlohmann::ordered_json json = {{"model", bench.model},
                                 {"chip", bench.chip},
                                 {"core", bench.core},
                                 {"clock_hz", chip.clock_hz},
                                 {"batches", nlohmann::ordered_json::array()}};
  for (const BenchRow& row : bench.rows)
    json["batches"].push_back({{"batch", row.batch},
                               {"device_cycles", row.device_cycles},
                               {"device_us", microseconds(chip, row.device_cycles)},
                               {"samples_per_second", throughput_of(chip, row.batch, row.device_cycles)},
                               {"macs", row.work.macs},
                               {"hbm_bytes", row.work.hbm_bytes},
                               {"mxu_utilization", utilization(chip, row)},
                               {"bound_cycles", row.bound_cycles},
                               {"bound_by", row.bound_by},
                               {"achieved", of_bound(row)},
                               {"padded_share", row.padded_share},
                               {"islands", row.islands},
                               {"host_seconds", row.host_seconds}});
  return json_text(json) + "\n";
}

}  // namespace weft::tools
