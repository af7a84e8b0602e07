// weft selftest: is this device good?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/selftest/selftest.hpp"

namespace weft::tools {
namespace {

struct SelftestOptions {
  runtime::Target target{.chip = "nano", .core = "fast"};
  uint64_t seed = 1;
  uint64_t hbm_mib = 8;
  bool json = false;
};

/// Stops at the first that fails: what comes after would fail by it.
std::vector<CheckResult> run_checks(runtime::Session& session, const SelftestOptions& options,
                                    const std::function<void(const CheckResult&)>& show) {
  ProductResult product;
  const std::vector<std::function<CheckResult()>> checks{
      [&] { return check_registers(session); },
      [&] { return check_hbm(session.device(), session.queue(), options.hbm_mib << 20, options.seed); },
      [&] { return check_loopback(session, options.seed); },
      [&] { return check_interrupts(session); },
      [&] { return check_timelines(session); },
      [&] { return check_product(session, options.seed, &product); },
      [&] { return check_reset(session, options.seed, product); },
      [&] {
        CheckResult again = check_loopback(session, options.seed + 1);
        again.name = "DMA after reset";
        return again;
      }};
  std::vector<CheckResult> results;
  for (const auto& check : checks) {
    results.push_back(check());
    show(results.back());
    if (!results.back().passed) break;
  }
  return results;
}

int selftest(const SelftestOptions& options) {
  if (auto status = check_target(options.target); !status.ok()) return fail(status.error());
  auto session = runtime::Session::open(options.target);
  if (!session.ok()) return fail(session.error());
  const auto show = [&options](const CheckResult& result) {
    if (!options.json)
      fmt::print("{}  {:<16}  {}\n", result.passed ? "pass" : "FAIL", result.name,
                 result.passed ? result.numbers : result.failure);
    std::fflush(stdout);
  };
  const auto results = run_checks(session.value(), options, show);
  const bool passed = results.back().passed;
  if (auto status = session.value().close(); !status.ok() && passed) return fail(status.error());
  if (options.json) {
    nlohmann::ordered_json out = {
        {"passed", passed}, {"seed", options.seed}, {"checks", nlohmann::ordered_json::array()}};
    for (const CheckResult& result : results)
      out["checks"].push_back({{"name", result.name},
                               {"passed", result.passed},
                               {"text", result.passed ? result.numbers : result.failure}});
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{}\n", passed ? fmt::format("{} checks passed", results.size())
                              : fmt::format("FAILED at {} (seed {})", results.back().name, options.seed));
  }
  return passed ? 0 : kCheckFailed;
}

}  // namespace

void register_selftest(CLI::App& app, Action& action) {
  auto options = std::make_shared<SelftestOptions>();
  auto* command = app.add_subcommand(
      "selftest",
      "check a device: registers, HBM, DMA, interrupts, timelines, a product, a reset; exit code 4: a check failed");
  command->add_option("--seed", options->seed, "of patterns and operands")->capture_default_str();
  command->add_option("--hbm-mib", options->hbm_mib, "MiB of HBM to write with patterns")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_flag("--json", options->json, "print JSON");
  add_target_options(*command, options->target);
  command->callback([options, &action] { action = [options] { return selftest(*options); }; });
}

}  // namespace weft::tools
