// Trains the digits network on the chips: one, or a slice of them, data-parallel.
//
// The parts are in their own files: trainer (programs and buffers on the chips), checkpoint, draws and batch (what the
// host decides), reference_trainer (the same run on the host, for --verify).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/examples/digits_train/checkpoint.hpp"
#include "host/examples/digits_train/draws.hpp"
#include "host/examples/digits_train/pulled_link.hpp"
#include "host/examples/digits_train/reference_trainer.hpp"
#include "host/examples/digits_train/trainer.hpp"
#include "host/reference/comparison.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/formats/files.hpp"

namespace {

using namespace weft::examples;
using weft::Error;
using weft::Result;
using weft::runtime::ChipSet;

constexpr uint64_t kHidden = 128;
constexpr int kBelowGoal = 1, kWrongUsage = 1;  // exit codes

struct Arguments {
  std::string folder = WEFT_DIGITS_DIR, slice, directory, save, resume, pull_link;
  weft::runtime::Target target{.chip = "nano", .core = "fast"};
  uint64_t epochs = 8, steps = 0, seed = 1, batch = 64;
  float rate = 0.1F, momentum = 0.9F;
  uint32_t pull_at = 1;
  double goal = 95;
  bool json = false, verify = false;
  [[nodiscard]] std::string where() const {
    if (!slice.empty()) return slice;
    return directory.empty() ? fmt::format("{} ({} core)", target.chip, target.core) : directory;
  }
  [[nodiscard]] std::string manager() const { return directory.empty() ? weft::tools::manager_of(target) : "attached"; }
};

struct Epoch {
  uint64_t epoch, step;
  double loss, accuracy;  ///< mean over the epoch's steps of this run; held-out, after them
};

struct Run {
  std::vector<Epoch> epochs;
  std::vector<float> losses;
  uint64_t device_cycles = 0;
  double wall_seconds = 0;
  std::string pulled_link;                          ///< what became of it; empty: none was
  std::optional<weft::tools::Comparison> compared;  ///< losses, parameters and momentum, with --verify
};

Result<ChipSet> open(const Arguments& a) {
  if (!a.directory.empty()) return ChipSet::open_slice("vfio-user:" + a.directory);
  if (!a.slice.empty()) {
    if (auto status = weft::tools::check_manager(a.target.manager); !status.ok()) return status.error();
    const std::string manager = a.target.manager.empty() ? "" : "&manager=" + a.target.manager;
    return ChipSet::open_slice(fmt::format("sim:{}?core={}{}", a.slice, a.target.core, manager));
  }
  if (auto status = weft::tools::check_target(a.target); !status.ok()) return status.error();
  return ChipSet::open_chip(a.target);
}

/// The checkpoint to go on from, or a run's beginning.
Result<Checkpoint> begin(const Arguments& a, uint64_t examples) {
  if (!a.resume.empty()) {
    const auto file = weft::tools::read_file(a.resume);
    if (!file.ok()) return file.error();
    auto checkpoint = decode_checkpoint(file.value());
    if (!checkpoint.ok()) return Error{checkpoint.error().code, a.resume + ": " + checkpoint.error().message};
    return checkpoint;
  }
  const RunSettings settings{{{kPixels, kHidden, kClasses}}, a.seed, a.batch, examples, {a.rate, a.momentum}};
  Checkpoint start{settings, 0, first_parameters(settings.network, a.seed), {}};
  start.momentum.resize(start.parameters.size());
  return start;
}

/// Epoch after epoch until step `end`.
Result<Run> train(const Arguments& a, Trainer& trainer, const RunSettings& settings, uint64_t step, uint64_t end,
                  const Digits& held_out) {
  Run run;
  const auto began = std::chrono::steady_clock::now();
  const uint64_t each = steps_per_epoch(settings);
  while (step < end) {
    const uint64_t epoch = step / each, count = std::min(end, (epoch + 1) * each) - step;
    const auto steps = trainer.run(count);
    if (!steps.ok()) return steps.error();
    step += count;
    run.device_cycles += steps.value().device_cycles;
    double loss = 0;
    for (const float l : steps.value().losses) loss += static_cast<double>(l) / static_cast<double>(count);
    run.losses.insert(run.losses.end(), steps.value().losses.begin(), steps.value().losses.end());
    const auto scores = trainer.scores(held_out);
    if (!scores.ok()) return scores.error();
    run.epochs.push_back({epoch + 1, step, loss, accuracy(held_out, scores.value())});
    if (!a.json)
      fmt::print("  epoch {:2}  step {:4}  loss {:.6f}  held out {:6.2f} %\n", epoch + 1, step, loss,
                 100 * run.epochs.back().accuracy);
  }
  run.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return run;
}

/// Runs the same steps on the host, and counts what differs.
void verify(const Trainer& trainer, const Checkpoint& start, const Checkpoint& last, const Digits& data, Run& run) {
  ReferenceTrainer reference(trainer.chips().chip(), trainer.chips().shape(), start.settings, data);
  reference.set(start);
  const auto losses = reference.run(last.step - start.step);
  const Checkpoint expected = reference.get();
  weft::tools::Comparison& compared = run.compared.emplace();
  compared.add_list("losses", losses, run.losses);
  compared.add_list("parameters", expected.parameters, last.parameters);
  compared.add_list("momentum", expected.momentum, last.momentum);
}

void print(const Arguments& a, const Trainer& trainer, const Checkpoint& last, const Run& run) {
  const double us = 1e6 * static_cast<double>(run.device_cycles) / static_cast<double>(trainer.chips().chip().clock_hz);
  const auto steps = static_cast<double>(std::max<size_t>(run.losses.size(), 1));
  if (a.json) {
    nlohmann::ordered_json epochs = nlohmann::ordered_json::array();
    for (const auto& e : run.epochs)
      epochs.push_back({{"epoch", e.epoch}, {"step", e.step}, {"loss", e.loss}, {"accuracy", e.accuracy}});
    nlohmann::ordered_json json = {{"where", a.where()},
                                   {"chip", trainer.chips().chip().name},
                                   {"chips", trainer.chips().chips()},
                                   {"manager", a.manager()},
                                   {"widths", last.settings.network.widths},
                                   {"seed", last.settings.seed},
                                   {"batch", last.settings.batch},
                                   {"rate", last.settings.sgd.rate},
                                   {"momentum", last.settings.sgd.momentum},
                                   {"examples", last.settings.examples},
                                   {"step", last.step},
                                   {"epochs", epochs},
                                   {"losses", run.losses},
                                   {"device_cycles", run.device_cycles},
                                   {"wall_seconds", run.wall_seconds}};
    if (!run.pulled_link.empty()) json["pulled_link"] = run.pulled_link;
    if (!run.epochs.empty()) json["accuracy"] = run.epochs.back().accuracy;
    if (run.compared) json["elements"] = run.compared->elements(), json["differing"] = run.compared->differing();
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("  device time         {} cycles, {:.1f} us a step{}\n", run.device_cycles, us / steps,
             a.manager() == "native" ? "; the firmware's cycles are charged" : "");
  if (!run.pulled_link.empty()) fmt::print("  link pulled         {}\n", run.pulled_link);
  fmt::print("  wall time           {:.3f} s, {:.3f} s an epoch\n", run.wall_seconds,
             run.wall_seconds / steps * static_cast<double>(steps_per_epoch(last.settings)));
  if (run.compared)
    fmt::print("  differing           {} of {} losses, parameters and momenta from the host's\n",
               run.compared->differing(), run.compared->elements());
}

int run(const Arguments& a) {
  using namespace weft::tools;
  const auto data = read_optdigits(a.folder + "/optdigits.csv");
  if (!data.ok()) return fail(data.error());
  const Digits& training = data.value().training;
  const auto start = begin(a, training.labels.size());
  if (!start.ok()) return fail(start.error());
  const RunSettings& settings = start.value().settings;
  if (!a.save.empty())
    if (auto status = check_writable(a.save); !status.ok()) return fail(status.error());
  auto chips = open(a);
  if (!chips.ok()) return fail(chips.error());
  auto trainer = Trainer::create(std::move(chips.value()), settings, training);
  if (!trainer.ok()) return fail(trainer.error());
  if (auto status = trainer.value().set(start.value()); !status.ok()) return fail(status.error());
  const uint64_t end = a.steps != 0 ? start.value().step + a.steps : a.epochs * steps_per_epoch(settings);
  if (end <= start.value().step)
    return fail(
        {WEFT_ERROR_INVALID_ARGUMENT,
         fmt::format("{} epochs end at step {}, the checkpoint stands at step {}: ask for more with --epochs or "
                     "--steps",
                     a.epochs, end, start.value().step)});
  std::optional<PulledLink> pulled;
  if (!a.pull_link.empty()) {
    const auto link = find_link(trainer.value().chips(), a.pull_link, a.pull_at);
    if (!link.ok()) return fail(link.error());
    pulled = link.value();
    if (auto status = pull(trainer.value().chips(), *pulled); !status.ok()) return fail(status.error());
  }
  if (!a.json)
    fmt::print(
        "digits_train: {} digits in batches of {}, {} on {}, from step {}\n", settings.examples, settings.batch,
        fmt::format("{} chip{}", trainer.value().chips().chips(), trainer.value().chips().chips() > 1 ? "s" : ""),
        a.where(), start.value().step);
  auto result = train(a, trainer.value(), settings, start.value().step, end, data.value().held_out);
  if (!result.ok()) return fail(result.error());
  const auto last = trainer.value().get();
  if (!last.ok()) return fail(last.error());
  if (pulled) {
    auto text = pulled_text(trainer.value().chips(), *pulled);
    if (!text.ok()) return fail(text.error());
    result.value().pulled_link = std::move(text.value());
  }
  if (a.verify) verify(trainer.value(), start.value(), last.value(), training, result.value());
  print(a, trainer.value(), last.value(), result.value());
  if (!a.save.empty())
    if (auto status = write_file(a.save, encode_checkpoint(last.value())); !status.ok()) return fail(status.error());
  if (const auto& compared = result.value().compared)
    if (const auto verdict = compared->verdict("the host's reference"); !verdict.ok()) return fail(verdict.error());
  return 100 * result.value().epochs.back().accuracy >= a.goal ? 0 : kBelowGoal;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Trains the digits network (64-128-10) on one chip or on a slice: forward, backward and update on the chips.\n"
      "Exit code 1: accuracy below the goal; otherwise as `weft`."};
  Arguments a;
  app.add_option("--data", a.folder, "folder of optdigits.csv")->capture_default_str();
  auto* slice = app.add_option("--slice", a.slice, "slice to simulate: nano-2x2, nano-4x4, v5e-4x4, ...");
  app.add_option("--listen", a.directory, "directory in which a weft-sim --slice listens")->excludes(slice);
  app.add_option("--epochs", a.epochs, "passes over the data, those of a checkpoint included")->capture_default_str();
  app.add_option("--steps", a.steps, "steps to do now, instead of --epochs")->check(CLI::PositiveNumber);
  auto* seed = app.add_option("--seed", a.seed, "of the first parameters and the order of the data");
  auto* batch = app.add_option("--batch", a.batch, "rows of a step, over all chips")->check(CLI::PositiveNumber);
  auto* rate = app.add_option("--rate", a.rate, "of learning")->check(CLI::Range(0.0F, 1e6F));
  auto* momentum = app.add_option("--momentum", a.momentum, "of the gradients before")->check(CLI::Range(0.0F, 1.0F));
  for (auto* option : {seed, batch, rate, momentum}) option->capture_default_str();
  app.add_option("--save", a.save, "checkpoint to write at the end");
  app.add_option("--resume", a.resume, "checkpoint to go on from; seed, batch, rate and momentum are its own")
      ->excludes(seed)
      ->excludes(batch)
      ->excludes(rate)
      ->excludes(momentum);
  auto* pull = app.add_option("--pull-link", a.pull_link,
                              "pull a link of the slice in the middle of the run, such as 0:+x (chip and port)");
  app.add_option("--pull-at", a.pull_at, "packet on that link with which it is pulled")
      ->check(CLI::PositiveNumber)
      ->needs(pull)
      ->capture_default_str();
  app.add_option("--goal", a.goal, "percent of the held-out digits; below it the exit code is 1")
      ->capture_default_str();
  app.add_flag("--verify", a.verify, "do every step on the host too, and compare all bits");
  app.add_flag("--json", a.json, "print JSON");
  weft::tools::add_target_options(app, a.target);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return run(a);
}
