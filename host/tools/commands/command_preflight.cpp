// weft preflight: is this slice good? Before a run is given to it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/selftest/preflight.hpp"

namespace weft::tools {
namespace {

struct PreflightArguments {
  std::string slice, directory, core = "fast";
  PreflightOptions options;
  uint64_t hbm_mib = 1, link_kib = 256;
  bool json = false;
};

int run(PreflightArguments a) {
  a.options.hbm_bytes = a.hbm_mib << 20;
  a.options.link_bytes = a.link_kib << 10;
  auto session = runtime::SliceSession::open(a.slice.empty() ? "vfio-user:" + a.directory
                                                             : fmt::format("sim:{}?core={}", a.slice, a.core));
  if (!session.ok()) return fail(session.error());
  const auto show = [&a](const CheckResult& check) {
    if (!a.json)
      fmt::print("{}  {:<10}  {}\n", check.passed ? "pass" : "FAIL", check.name,
                 check.passed ? check.numbers : check.failure);
    std::fflush(stdout);
  };
  const PreflightResult result = preflight(session.value(), a.options, show);
  if (a.json)
    fmt::print("{}\n", preflight_json(result, a.options, 2));
  else
    fmt::print("{}{}\n", link_tests_text(result.links),
               result.passed() ? fmt::format("{} checks passed", result.checks.size())
                               : fmt::format("NOT fit for work (seed {})", a.options.seed));
  return result.passed() ? 0 : kCheckFailed;
}

}  // namespace

void register_preflight(CLI::App& app, Action& action) {
  auto a = std::make_shared<PreflightArguments>();
  auto* command = app.add_subcommand(
      "preflight", "check a slice: neighbours, every link, HBM, a known all-reduce; exit code 4: a check failed");
  auto* slice = command->add_option("--slice", a->slice, "slice to simulate: nano-2x2, v5e-4x4, ...");
  auto* directory =
      command->add_option("--listen", a->directory, "directory in which a weft-sim --slice listens, instead")
          ->excludes(slice);
  command->add_option("--core", a->core, "core of each chip: fast, rtl or lockstep")
      ->capture_default_str()
      ->excludes(directory);
  command->add_option("--link-kib", a->link_kib, "KiB to send over every link, each way")
      ->check(CLI::Range(8, 4096))
      ->capture_default_str();
  command->add_option("--hbm-mib", a->hbm_mib, "MiB of HBM to write with patterns, on each chip")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--rate-limit", a->options.rate_limit, "bit-error rate above which a link fails")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--seed", a->options.seed, "of patterns and numbers")->capture_default_str();
  command->add_flag("--json", a->json, "print JSON");
  command->callback([=, &action] {
    if (slice->count() + directory->count() != 1)
      throw CLI::ValidationError("preflight", "one of --slice and --listen is needed");
    action = [a] { return run(*a); };
  });
}

}  // namespace weft::tools
