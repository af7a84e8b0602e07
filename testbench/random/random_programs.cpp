// Runs random programs on a core beside the golden model; shrinks one that fails to a file; runs such files again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "testbench/random/campaign.hpp"
#include "testbench/random/compiled_program.hpp"
#include "testbench/random/program_runner.hpp"

namespace {

using namespace weft;
using namespace weft::random;

struct Options {
  std::string chip = "nano", level, replay, json, junit, wave_last;
  uint64_t count = 100, seed = 1;
  bool illegal = false, compiled = false, reached = false;
  CampaignOptions campaign;
};

bool write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  std::ofstream file(path);
  file << text;
  if (file) return true;
  fmt::print(stderr, "cannot write '{}'\n", path);
  return false;
}

/// Runs it, and with --wave-last once more with waves of the cycles before what went wrong, or before the end.
int run_one(const Options& options, const Program& program, const std::string& name) {
  const Verdict verdict = judge(program, options.campaign, {.wave_path = options.campaign.wave});
  fmt::print("{}: {} commands retired, {} cycles: {}\n", name, verdict.commands, verdict.cycles,
             verdict.passed ? "passed" : verdict.report);
  if (!options.wave_last.empty()) {
    core::CoreOptions waves{.wave_path = options.wave_last};
    waves.wave_from_cycle = verdict.last_cycle - std::min(verdict.last_cycle, core::kWaveWindowCycles);
    waves.wave_to_cycle = verdict.last_cycle + 1;
    (void)judge(program, options.campaign, waves);
    fmt::print("waves of cycles {} to {}: {}\n", waves.wave_from_cycle, waves.wave_to_cycle, options.wave_last);
  }
  return verdict.passed ? 0 : 1;
}

/// Says it if a program of `chip` has no core in this build: that is no failure of the program.
bool has_core(const spec::Chip& chip, const CampaignOptions& campaign) {
  const std::string missing = missing_core(chip, campaign);
  if (!missing.empty()) fmt::print(stderr, "random_programs: {}\n", missing);
  return missing.empty();
}

int replay(const Options& options) {
  std::ifstream in(options.replay);
  std::string error;
  const auto program = in ? parse_program(in, error) : std::nullopt;
  if (!program) {
    fmt::print(stderr, "{}: {}\n", options.replay, in.is_open() ? error : "cannot be opened");
    return 2;
  }
  if (!has_core(*program->chip, options.campaign)) return 2;
  return run_one(options, *program, options.replay);
}

int run_all(const Options& options) {
  const Legality legality = options.illegal ? Legality::kOneIllegal : Legality::kLegal;
  std::vector<Batch> batches{{options.chip, legality, options.seed, options.count, options.compiled}};
  if (!options.level.empty())
    batches = options.campaign.comparison
                  ? comparison_batches(*options.campaign.comparison, options.level, options.seed)
                  : level_batches(options.level, options.seed);
  for (const Batch& batch : batches)
    if (!has_core(*spec::find_chip(batch.chip), options.campaign)) return 2;
  if (!options.wave_last.empty()) {
    const spec::Chip& chip = *spec::find_chip(options.chip);
    std::string error;
    const auto program = options.compiled ? make_program(draw_recipe(chip, options.seed), error)
                                          : make_program(generate_plan(chip, options.seed, legality));
    return program ? run_one(options, *program, fmt::format("seed {}", options.seed)) : 1;
  }
  for (const Batch& batch : batches)
    fmt::print("seeds {} to {}: {} programs on {} {}\n", batch.first_seed, batch.first_seed + batch.programs - 1,
               batch.compiled                       ? "compiled"
               : batch.legality == Legality::kLegal ? "legal"
                                                    : "illegal",
               options.campaign.core, batch.chip);
  std::fflush(stdout);
  nlohmann::json result = run_campaign(batches, options.campaign);
  result["level"] = options.level;
  result["seed"] = options.seed;
  fmt::print("{} programs, {} failed; {} commands retired, {} cycles, {:.1f} s\n", result["programs"].get<uint64_t>(),
             result["failed"].get<uint64_t>(), result["commands"].get<uint64_t>(), result["cycles"].get<uint64_t>(),
             result["seconds"].get<double>());
  if (!options.level.empty() || options.illegal) {
    fmt::print("fault codes reached:\n");
    for (const auto& [name, count] : result["fault_codes"].items())
      fmt::print("  {:<22}{:>8}\n", name, count.get<uint64_t>());
  }
  if (options.reached)
    for (const auto& [name, count] : result["reached"]["kinds"].items())
      fmt::print("{:<48}{:>8}\n", name, count.get<uint64_t>());
  const bool written = write_file(options.json, result.dump(2) + "\n") && write_file(options.junit, junit_text(result));
  if (!written) return 2;
  return result["failed"] == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CampaignOptions& campaign = options.campaign;
  CLI::App app("Runs random programs on a tensor core beside the golden model.");
  app.add_option(
         "--level", options.level,
         "ci (2000 programs at nano, nano-4mxu, mini, small; 50 at v5e-1mxu) or nightly (20000 and 50), legal and "
         "illegal; with --core both 2000 compiled ones and 550 of commands, or ten times as many; with --core arrays "
         "200, or 2000")
      ->check(CLI::IsMember({"ci", "nightly"}));
  app.add_option("--chip", options.chip, "preset")->capture_default_str();
  app.add_option(
         "--core", campaign.core,
         "lockstep, fast, rtl; or two that are equal in every cycle: both (RTL and fast core), arrays (RTL with the "
         "structural and with the fast array)")
      ->capture_default_str();
  app.add_option("--count", options.count, "programs")->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the first program; the next has one more")->capture_default_str();
  app.add_flag("--illegal", options.illegal, "one illegal thing in each program, whose fault is predicted");
  app.add_flag("--compiled", options.compiled, "networks through the compiler instead of random commands");
  app.add_option("--jobs", campaign.jobs, "processes")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_flag("--reached", options.reached, "print what kinds of commands were run");
  app.add_option("--json", options.json, "write the result to this file");
  app.add_option("--junit", options.junit, "write the result to this file as JUnit");
  app.add_flag("--keep-going", campaign.keep_going, "go on after a failure");
  app.add_option("--wave", campaign.wave, "FST file of the run (with --count 1 or --replay)");
  app.add_option("--wave-last", options.wave_last,
                 "run the program of --seed or --replay, then again with an FST file of the last 2000 cycles");
  app.add_option("--replay", options.replay, "run this file instead");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const spec::Chip* chip = spec::find_chip(options.chip);
  if (campaign.core == "both") campaign.comparison = Comparison::kCores;
  if (campaign.core == "arrays") campaign.comparison = Comparison::kArrays;
  if (chip == nullptr || (!campaign.comparison && !core::parse_core_kind(campaign.core, campaign.kind))) {
    fmt::print(stderr, "no {} '{}'\n", chip == nullptr ? "chip" : "core",
               chip == nullptr ? options.chip : campaign.core);
    return 2;
  }
  return options.replay.empty() ? run_all(options) : replay(options);
}
