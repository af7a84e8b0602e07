// Runs random programs on a core beside the golden model; shrinks one that fails to a file; runs such files again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "testbench/random/program_generator.hpp"
#include "testbench/random/program_runner.hpp"
#include "testbench/random/reached.hpp"
#include "testbench/random/shrink.hpp"

namespace {

using namespace weft;
using namespace weft::random;

struct Options {
  std::string chip = "nano", core = "lockstep", replay, wave;
  uint64_t count = 100, seed = 1;
  bool illegal = false, reached = false, keep = false;
  core::CoreKind kind = core::CoreKind::kLockstep;
};

std::string rerun_line(const Options& options, uint64_t seed) {
  return fmt::format("random_programs --chip {} --core {} --count 1 --seed {}{}", options.chip, options.core, seed,
                     options.illegal ? " --illegal" : "");
}

/// Shrinks the program, writes the file, and says how to run it again.
void report_failure(const Options& options, const Plan& plan, const Program& program, const Verdict& verdict) {
  fmt::print("FAILED seed {}, {} commands: {}\nrerun: {}\n", plan.seed, program.commands.size(), verdict.report,
             rerun_line(options, plan.seed));
  const Plan small = shrink_plan(plan, [&](const Program& p) { return !run_program(p, options.kind).passed; });
  const auto small_program = make_program(small);
  if (!small_program) return;
  const std::string file =
      fmt::format("random_{}_{}{}.txt", options.chip, plan.seed, options.illegal ? "_illegal" : "");
  std::ofstream(file) << program_text(*small_program);
  fmt::print("shrunk to {} commands: {}\n{}replay: random_programs --core {} --replay {}\n",
             small_program->commands.size(), run_program(*small_program, options.kind).report,
             program_text(*small_program), options.core, file);
}

int replay(const Options& options) {
  std::ifstream in(options.replay);
  std::string error;
  const auto program = in ? parse_program(in, error) : std::nullopt;
  if (!program) {
    fmt::print(stderr, "{}: {}\n", options.replay, in.is_open() ? error : "cannot be opened");
    return 2;
  }
  const Verdict verdict = run_program(*program, options.kind, {.wave_path = options.wave});
  fmt::print("{}: {} commands retired, {} cycles: {}\n", options.replay, verdict.commands, verdict.cycles,
             verdict.passed ? "passed" : verdict.report);
  return verdict.passed ? 0 : 1;
}

int run_all(const Options& options, const spec::Chip& chip) {
  fmt::print("seed {}: {} {} programs on {} {}\n", options.seed, options.count, options.illegal ? "illegal" : "legal",
             options.core, options.chip);
  std::fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  Reached reached;
  uint64_t commands = 0, cycles = 0, failed = 0, without_fault = 0;
  for (uint64_t i = 0; i < options.count; i++) {
    const Plan plan = generate_plan(chip, options.seed + i, options.illegal ? Legality::kOneIllegal : Legality::kLegal);
    const auto program = make_program(plan);
    if (!program) {
      fmt::print("FAILED seed {}: the generator made a plan without a program\n", plan.seed);
      failed++;
      continue;
    }
    without_fault += options.illegal && !program->fault;
    const Verdict verdict = run_program(*program, options.kind, {.wave_path = options.wave});
    reached.count(*program);
    commands += verdict.commands;
    cycles += verdict.cycles;
    if (verdict.passed) continue;
    failed++;
    report_failure(options, plan, *program, verdict);
    if (!options.keep) break;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{} failed; {} commands retired, {} cycles, {:.1f} s", failed, commands, cycles, seconds);
  if (without_fault != 0) fmt::print("; {} programs without anything illegal", without_fault);
  fmt::print("\n{}", options.reached ? reached.text() : "");
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Runs random programs on a tensor core beside the golden model.");
  app.add_option("--chip", options.chip, "preset")->capture_default_str();
  app.add_option("--core", options.core, "lockstep, fast or rtl")->capture_default_str();
  app.add_option("--count", options.count, "programs")->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the first program; the next has one more")->capture_default_str();
  app.add_flag("--illegal", options.illegal, "one illegal thing in each program, whose fault is predicted");
  app.add_flag("--reached", options.reached, "print what kinds of commands were run");
  app.add_flag("--keep-going", options.keep, "go on after a failure");
  app.add_option("--wave", options.wave, "FST file of the run (with --count 1 or --replay)");
  app.add_option("--replay", options.replay, "run this file instead");
  CLI11_PARSE(app, argc, argv);
  const spec::Chip* chip = spec::find_chip(options.chip);
  if (chip == nullptr || !core::parse_core_kind(options.core, options.kind)) {
    fmt::print(stderr, "no {} '{}'\n", chip == nullptr ? "chip" : "core",
               chip == nullptr ? options.chip : options.core);
    return 2;
  }
  return options.replay.empty() ? run_all(options, *chip) : replay(options);
}
