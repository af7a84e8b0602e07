// Random networks through the compiler to a device, against the golden arithmetic and the reference of L1.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "testbench/graphs/graph_campaign.hpp"
#include "weft/spec/chips.hpp"

int main(int argc, char** argv) {
  using namespace weft;
  std::string level, json;
  graphs::Batch one{"nano", "fast", 1, 100};
  uint64_t seed = 1;
  unsigned jobs = 1;
  CLI::App app("Random networks through the compiler to a device.");
  app.add_option("--level", level, "ci (2000 networks for nano, nano-4mxu, small and v5e) or nightly (20000)")
      ->check(CLI::IsMember({"ci", "nightly"}));
  app.add_option("--chip", one.chip, "preset")->capture_default_str();
  app.add_option("--core", one.core, "fast, rtl or lockstep")->capture_default_str();
  app.add_option("--count", one.graphs, "networks")->capture_default_str();
  app.add_option("--seed", seed, "seed of the first network; the next has one more")->capture_default_str();
  app.add_option("--jobs", jobs, "processes")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--json", json, "write the result to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  core::CoreKind kind{};
  if (spec::find_chip(one.chip) == nullptr || !core::parse_core_kind(one.core, kind)) {
    fmt::print(stderr, "random_graphs: no chip '{}' or no core '{}'\n", one.chip, one.core);
    return 2;
  }
  one.first_seed = seed;
  const auto batches = level.empty() ? std::vector{one} : graphs::level_batches(level, seed);
  for (const auto& batch : batches)
    fmt::print("seeds {} to {}: {} {}\n", batch.first_seed, batch.first_seed + batch.graphs - 1, batch.core,
               batch.chip);
  std::fflush(stdout);
  const auto result = graphs::run_campaign(batches, jobs);
  const auto number = [&](const char* key) { return result[key].get<uint64_t>(); };
  fmt::print(
      "{} networks, {} failed; {} device programs, {} of them loops, and {} islands, {} commands, {} elements "
      "compared; {} networks "
      "against the reference, relative error at most {:.1e}; {:.1f} s\n",
      number("graphs"), number("failed"), number("device_programs"), number("loops"), number("islands"),
      number("commands"), number("elements"), number("referenced"), result["error"].get<double>(),
      result["seconds"].get<double>());
  if (!json.empty() && !(std::ofstream(json) << result.dump(2) << "\n")) {
    fmt::print(stderr, "random_graphs: cannot write '{}'\n", json);
    return 2;
  }
  return number("failed") == 0 && number("elements") != 0 ? 0 : 1;
}
