// Command line and report of a sweep.
#include "testbench/numerics/sweep_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>

namespace weft::numerics {

int parse_options(int argc, char** argv, const char* what, SweepOptions& options) {
  CLI::App app(what);
  app.add_option("--level", options.level, "how much")
      ->check(CLI::IsMember({"ci", "nightly", "release"}))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the vectors")->capture_default_str();
  app.add_option("--first", options.first, "index of the first vector")->capture_default_str();
  app.add_option("--count", options.count, "vectors; 0: as the level says")->capture_default_str();
  app.add_option("--jobs", options.jobs, "threads")->check(CLI::Range(1, 256))->capture_default_str();
  app.add_option("--json", options.json, "write the report to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return -1;
}

nlohmann::json named_counts(std::span<const std::string_view> names, std::span<const uint64_t> counts) {
  nlohmann::json out;
  for (size_t i = 0; i < names.size(); i++) out[std::string(names[i])] = counts[i];
  return out;
}

bool write_report(const SweepOptions& options, const nlohmann::json& report) {
  for (const auto& [group, values] : report.items()) {
    if (!values.is_object()) {
      fmt::print("{:<22}{:>16}\n", group, values.is_string() ? values.get<std::string>() : values.dump());
      continue;
    }
    fmt::print("{}\n", group);
    for (const auto& [name, value] : values.items()) fmt::print("  {:<20}{:>16}\n", name, value.dump());
  }
  if (options.json.empty()) return true;
  std::ofstream file(options.json);
  file << report.dump(2) << '\n';
  if (file) return true;
  fmt::print(stderr, "cannot write '{}'\n", options.json);
  return false;
}

}  // namespace weft::numerics
