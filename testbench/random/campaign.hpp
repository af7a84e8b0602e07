/// Many random programs, spread over processes, and what they reached.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/core/tensor_core.hpp"
#include "testbench/random/program_generator.hpp"
#include "testbench/random/program_runner.hpp"

namespace weft::random {

/// Programs of one kind on one chip; program i has the seed first_seed + i.
struct Batch {
  std::string chip;
  Legality legality = Legality::kLegal;
  uint64_t first_seed = 1;
  uint64_t programs = 0;
  bool compiled = false;  ///< networks through the compiler instead of commands
};

struct CampaignOptions {
  std::string core = "lockstep";
  core::CoreKind kind = core::CoreKind::kLockstep;
  std::optional<Comparison> comparison{};  ///< instead of `kind`: two cores that must agree in every cycle
  unsigned jobs = 1;                       ///< processes
  bool keep_going = false;                 ///< after a failure; else each process ends its batch
  std::string wave;                        ///< FST of each run; empty: none
};

/// Why no program of `chip` runs as `options` say: a core that it takes is not in this build. Else empty.
[[nodiscard]] std::string missing_core(const spec::Chip& chip, const CampaignOptions& options);

/// Runs one program as `options` say.
[[nodiscard]] Verdict judge(const Program& program, const CampaignOptions& options, const core::CoreOptions& core = {});

/// The batches of a level, "ci" or "nightly": of programs on one core, or of comparisons of two; empty: no such level.
[[nodiscard]] std::vector<Batch> level_batches(std::string_view level, uint64_t seed);
[[nodiscard]] std::vector<Batch> comparison_batches(Comparison comparison, std::string_view level, uint64_t seed);

/// Runs them all. The result: programs, failed, commands, cycles, seconds, fault_codes (every code, 0 if not reached),
/// reached (kinds and bins), batches, failures (chip, seed, legality, report, rerun). Failures are printed as they
/// come, shrunk, with a file to run again.
[[nodiscard]] nlohmann::json run_campaign(const std::vector<Batch>& batches, const CampaignOptions& options);

/// The campaign as JUnit: a test case for each batch.
[[nodiscard]] std::string junit_text(const nlohmann::json& campaign);

/// The line that runs one program again, with the waves of its last cycles.
[[nodiscard]] std::string rerun_line(const Batch& batch, const CampaignOptions& options, uint64_t seed);

}  // namespace weft::random
