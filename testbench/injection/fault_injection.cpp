// Fault injection campaign: flips in VMEM and ACC under random programs; counts what came of them, as JSON.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "testbench/injection/injection_campaign.hpp"
#include "testbench/random/program_generator.hpp"
#include "weft/spec/names.hpp"

namespace {

using namespace weft;
using namespace weft::injection;

struct Options {
  std::string chip = "nano", core = "rtl", json;
  uint64_t count = 5000, seed = 1;
  unsigned bits = 1;
};

/// Where each flip was and what came of it.
struct Tally {
  std::map<std::string, uint64_t> results, places, units;
  void count(const Flip& flip, const Observation& seen) {
    results[kResultNames[static_cast<size_t>(seen.result)]]++;
    places[fmt::format("{}_{}", flip.acc ? "acc" : "vmem",
                       flip.check == 0  ? "data"
                       : flip.data == 0 ? "check"
                                        : "data_and_check")]++;
    if (seen.result == Result::kDetected) units[std::string(spec::unit_name(seen.fault_unit))]++;
  }
};

int run_all(const Options& options, const spec::Chip& chip, core::CoreKind kind) {
  fmt::print("seed {}: {} flips of {} bit{} on {} {}\n", options.seed, options.count, options.bits,
             options.bits == 1 ? "" : "s", options.core, options.chip);
  std::fflush(stdout);
  Tally tally;
  for (const char* name : kResultNames) tally.results[name] = 0;
  for (uint64_t i = 0; i < options.count; i++) {
    const uint64_t seed = options.seed + i;
    const auto program = random::make_program(random::generate_plan(chip, seed, random::Legality::kLegal));
    if (!program) {
      fmt::print("seed {}: no program\n", seed);
      return 1;
    }
    const Flip flip = choose_flip(*program, options.bits, seed);
    const Observation seen = observe(*program, flip, kind);
    tally.count(flip, seen);
    if (seen.result != Result::kSilent) continue;
    fmt::print("SILENT seed {}: {} address {:#x}, data {:#x}, check {:#x}, write {}: {}\n", seed,
               flip.acc ? "ACC" : "VMEM", flip.address, flip.data, flip.check, flip.write, seen.report);
    fmt::print("rerun: fault_injection --chip {} --core {} --bits {} --count 1 --seed {}\n", options.chip, options.core,
               options.bits, seed);
  }
  const nlohmann::json report{{"chip", options.chip},   {"core", options.core},      {"seed", options.seed},
                              {"flips", options.count}, {"bits", options.bits},      {"results", tally.results},
                              {"places", tally.places}, {"detected_by", tally.units}};
  fmt::print("{}\n", report.dump(2));
  if (!options.json.empty() && !(std::ofstream(options.json) << report.dump(2) << "\n")) {
    fmt::print(stderr, "{}: cannot be written\n", options.json);
    return 2;
  }
  // One wrong bit is always corrected: a fault would be one too many.
  const bool wrong = tally.results["silent"] != 0 || (options.bits == 1 && tally.results["detected"] != 0);
  return wrong ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Flips bits in VMEM and ACC while random programs run, and counts what came of it.");
  app.add_option("--chip", options.chip, "preset")->capture_default_str();
  app.add_option("--core", options.core, "rtl, fast or lockstep")->capture_default_str();
  app.add_option("--count", options.count, "flips, one a program")->capture_default_str();
  app.add_option("--bits", options.bits, "bits flipped in one codeword")
      ->check(CLI::Range(1, 2))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the first program; the next has one more")->capture_default_str();
  app.add_option("--json", options.json, "file for the counts");
  CLI11_PARSE(app, argc, argv);
  core::CoreKind kind;
  const spec::Chip* chip = spec::find_chip(options.chip);
  if (chip == nullptr || !core::parse_core_kind(options.core, kind)) {
    fmt::print(stderr, "no chip '{}' or no core '{}'\n", options.chip, options.core);
    return 2;
  }
  return run_all(options, *chip, kind);
}
