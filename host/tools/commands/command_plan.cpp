// weft plan: a model on chips that it has not run on.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/cost/bench.hpp"
#include "host/tools/cost/plan.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/run/model_program.hpp"
#include "host/tools/run/run_arrays.hpp"

namespace weft::tools {
namespace {

struct PlanOptions {
  std::string model, chips = "all";
  std::vector<std::string> binds;
  std::string precision = "bf16";
  uint64_t batch = 1;
  bool batch_given = false, json = false;
};

/// The presets of a list, in its order; "all": every one.
Result<std::vector<const spec::Chip*>> chips_of(const std::string& text) {
  std::vector<const spec::Chip*> chips;
  if (text == "all") {
    for (const auto& chip : spec::kChips) chips.push_back(&chip);
    return chips;
  }
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const auto chip = chip_by_name(text.substr(at, end - at));
    if (!chip.ok()) return chip.error();
    if (std::ranges::find(chips, chip.value()) != chips.end())
      return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("--chip: {} is there twice", chip.value()->name)};
    chips.push_back(chip.value());
    at = end + 1;
  }
  return chips;
}

class Planner {
 public:
  Planner(const PlanOptions& options, std::vector<std::byte> file) : options_(options), file_(std::move(file)) {}

  Result<Plan> run(const std::vector<const spec::Chip*>& chips) {
    Plan plan{options_.model, options_.batch, false, {}};
    BatchWork work;
    if (auto status = find_work(*chips.front(), plan, work); !status.ok()) return status.error();
    for (const spec::Chip* chip : chips) {
      const auto model = model_for(*chip, plan.batch);
      if (!model.ok()) return model.error();
      auto row = plan_on(*chip, model.value(), plan.batch, work);
      if (!row.ok())
        return Error{row.error().code, fmt::format("{}, {}: {}", options_.model, chip->name, row.error().message)};
      plan.rows.push_back(std::move(row.value()));
    }
    return plan;
  }

 private:
  [[nodiscard]] Result<ModelProgram> model_for(const spec::Chip& chip, uint64_t batch) const {
    const auto binding = binding_of({}, options_.binds, static_cast<int64_t>(batch), precision_of(options_.precision));
    if (!binding.ok()) return binding.error();
    return compile_model(options_.model, file_, chip, binding.value(), compiler::Device::kUsed);
  }

  /// The work of batches 1 and 2 is the same for every chip: none of it is padding.
  Status find_work(const spec::Chip& chip, Plan& plan, BatchWork& work) const {
    const auto one = model_for(chip, work.batch_a), two = model_for(chip, work.batch_b);
    if (!one.ok()) return one.error();
    if (!two.ok()) return two.error();
    work.a = work_of(one.value()), work.b = work_of(two.value());
    const auto fixed = fixed_batch(one.value().module, two.value().module);
    if (!fixed) return Ok{};
    if (options_.batch_given && options_.batch != *fixed)
      return Error{
          WEFT_ERROR_INVALID_ARGUMENT,
          fmt::format("{}: no input has a symbolic first dimension, so its batch is {}", options_.model, *fixed)};
    plan.batch = work.batch_a = work.batch_b = *fixed;
    plan.batch_is_fixed = true;
    return Ok{};
  }

  static LayerWork work_of(const ModelProgram& model) {
    LayerWork sum;
    for (const auto& part : model.partition.parts)
      if (part.graph)
        for (const auto& layer : layers_of(model.module, part)) sum += layer.work;
    return sum;
  }

  const PlanOptions& options_;
  std::vector<std::byte> file_;
};

int plan(const PlanOptions& options) {
  const auto chips = chips_of(options.chips);
  if (!chips.ok()) return fail(chips.error());
  auto file = read_file(options.model);
  if (!file.ok()) return fail(file.error());
  const auto plan = Planner(options, std::move(file.value())).run(chips.value());
  if (!plan.ok()) return fail(plan.error());
  fmt::print("{}", options.json ? plan_json(plan.value()) : plan_text(plan.value()));
  return 0;
}

}  // namespace

void register_plan(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "plan", "whether an ONNX model fits each chip, how fast it can be there, and what would help; runs nothing");
  auto options = std::make_shared<PlanOptions>();
  command->add_option("MODEL", options->model, "ONNX file")->required();
  command->add_option("--chip", options->chips, "chip presets, commas between, or all")->capture_default_str();
  auto* batch = command->add_option("--batch", options->batch, "value of a symbolic first dimension")
                    ->capture_default_str()
                    ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 31));
  command->add_option("--bind", options->binds,
                      "NAME=SIZE of a symbolic dimension, or INPUT=SIZExSIZE, the shape of an input");
  add_precision_option(*command, options->precision);
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, batch, &action] {
    options->batch_given = batch->count() != 0;
    action = [options] { return plan(*options); };
  });
}

}  // namespace weft::tools
