/// Command line of a sweep, and its report as JSON.
#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace weft::numerics {

struct SweepOptions {
  std::string level = "ci";  ///< ci, nightly, release
  std::string json;          ///< file; empty: none
  uint64_t seed = 1;
  uint64_t first = 0;  ///< index of the first vector
  uint64_t count = 0;  ///< vectors; 0: as the level says
  unsigned jobs = 1;   ///< threads
};

/// Reads the command line. -1: go on; else the exit code (0 after --help, 2 for wrong arguments).
[[nodiscard]] int parse_options(int argc, char** argv, const char* what, SweepOptions& options);

/// {name: count}
[[nodiscard]] nlohmann::json named_counts(std::span<const std::string_view> names, std::span<const uint64_t> counts);

/// Prints it as a table and writes the file of --json. False: the file could not be written.
[[nodiscard]] bool write_report(const SweepOptions& options, const nlohmann::json& report);

}  // namespace weft::numerics
