// Random programs of API calls from several threads, with an oracle of which outcome weft.h allows.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "testbench/lifetime/orphan.hpp"
#include "testbench/lifetime/program.hpp"
#include "testbench/lifetime/watch.hpp"

namespace {

using namespace weft::lifetime;

constexpr int64_t kDeadlockMs = 30'000;  ///< in one call, before kSlowness

std::string again(const Options& options, uint64_t index) {
  return fmt::format("lifetimes --transport {} --seed {} --first {} --programs 1 --threads {} --per-program {}",
                     options.simulator ? "sim" : "mock", options.seed, index, options.threads,
                     options.calls_per_program);
}

/// A run in which a kind of call never happened proves nothing of it. Launches that are stopped need a simulator.
std::vector<std::string> never_called(const Options& options, const Counts& counts) {
  std::vector<std::string> never;
  const bool all = options.programs == 0 && options.calls >= 10'000;
  for (size_t i = 0; all && i < kCalls; i++) {
    const auto call = static_cast<Call>(i);
    if (call == Call::k_device_set_watchdog && !options.simulator) continue;
    if (counts.of(call) == 0) never.emplace_back(name_of(call));
  }
  return never;
}

/// Where the simulator's own pace decides, no thread of this program measures it.
bool judges_lateness(const Options& options) {
  const char* manager = std::getenv("WEFT_MANAGER");
  return options.judge_lateness && kSlowness == 1 && !(manager != nullptr && std::string_view(manager) == "ibex");
}

/// More callbacks were late than a busy machine explains by threads of this program that it woke late too.
bool sluggish(const Promptness& p) { return p.late > 5 + p.callbacks / 50 + 3 * p.late_controls; }

void print(const Options& options, const Counts& counts, const Findings& findings, const Promptness& p,
           uint64_t programs, double seconds) {
  fmt::print(
      "lifetimes: {} programs of {} threads on {}, seed {}: {} calls, {} commands ended, {} wrong outcomes, "
      "{:.1f} s\n",
      programs, options.threads, options.device, options.seed, counts.all(), counts.ends(), findings.count(), seconds);
  for (size_t i = 0; i < kCalls; i++) {
    const auto call = static_cast<Call>(i);
    std::string outcomes;
    for (size_t status = 0; status < Counts::kStatuses; status++)
      if (const uint64_t n = counts.of(call, status))
        outcomes += fmt::format("  {} {}", weft_status_name(static_cast<weft_status>(status)), n);
    fmt::print("  {:22} {:8}{}\n", name_of(call), counts.of(call), outcomes);
  }
  std::string ends;
  for (size_t status = 0; status < Counts::kStatuses; status++)
    if (const uint64_t n = counts.ends(status))
      ends += fmt::format("  {} {}", weft_status_name(static_cast<weft_status>(status)), n);
  fmt::print("  commands ended with     {}\n", ends);
  for (const auto& [kind, n] : findings.checks()) fmt::print("  checked: {:40} {:8}\n", kind, n);
  fmt::print("  callbacks later than {} ms: {} of {}; threads woken beside them: {} of {}{}\n",
             Promptness::kLateUs / 1000, p.late.load(), p.callbacks.load(), p.late_controls.load(), p.controls.load(),
             judges_lateness(options) ? "" : "; not judged");
}

void write_json(const std::string& path, const Options& options, const Counts& counts, const Findings& findings,
                const Promptness& p, uint64_t programs, double seconds, bool ok) {
  nlohmann::json calls = nlohmann::json::object(), ends = nlohmann::json::object();
  for (size_t i = 0; i < kCalls; i++)
    for (size_t status = 0; status < Counts::kStatuses; status++)
      if (const uint64_t n = counts.of(static_cast<Call>(i), status))
        calls[kCallNames[i]][weft_status_name(static_cast<weft_status>(status))] = n;
  for (size_t status = 0; status < Counts::kStatuses; status++)
    if (const uint64_t n = counts.ends(status)) ends[weft_status_name(static_cast<weft_status>(status))] = n;
  const nlohmann::json out = {{"seed", options.seed},
                              {"device", options.device},
                              {"programs", programs},
                              {"threads", options.threads},
                              {"calls", counts.all()},
                              {"commands_ended", counts.ends()},
                              {"wrong_outcomes", findings.count()},
                              {"by_call", calls},
                              {"by_end", ends},
                              {"checked", findings.checks()},
                              {"callbacks_timed", p.callbacks.load()},
                              {"callbacks_late", p.late.load()},
                              {"controls_late", p.late_controls.load()},
                              {"seconds", seconds},
                              {"ok", ok}};
  if (std::FILE* file = std::fopen(path.c_str(), "w")) {
    fmt::print(file, "{}\n", out.dump(2));
    std::fclose(file);
  } else {
    fmt::print(stderr, "lifetimes: cannot write '{}'\n", path);
  }
}

int run(const Options& options, const std::string& json) {
  const auto begin = std::chrono::steady_clock::now();
  Counts counts;
  Findings findings;
  Promptness promptness;
  Watchdog watchdog(kDeadlockMs * kSlowness);
  fmt::print("lifetimes: seed {}\n", options.seed);
  std::fflush(stdout);  // into a file too: a run that says nothing more has found nothing yet
  uint64_t index = options.first;
  const auto goes_on = [&] {
    if (findings.count() >= options.failures) return false;
    return options.programs != 0 ? index - options.first < options.programs : counts.all() < options.calls;
  };
  if (options.simulator) check_orphan(options, findings);
  for (; goes_on(); index++) {
    findings.set_again(again(options, index));
    watchdog.set_again(again(options, index));
    run_program(options, index, counts, findings, promptness);
  }
  const uint64_t programs = index - options.first;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  print(options, counts, findings, promptness, programs, seconds);
  bool ok = findings.count() == 0;
  if (counts.all() == 0 || counts.ends() == 0 || findings.checks().empty()) {
    fmt::print("FAILED: nothing was called, nothing ended or nothing was checked\n");
    ok = false;
  }
  if (judges_lateness(options) && sluggish(promptness)) {
    fmt::print("FAILED: {} of {} callbacks came more than {} ms late, {} of {} threads that were woken beside them\n",
               promptness.late.load(), promptness.callbacks.load(), Promptness::kLateUs / 1000,
               promptness.late_controls.load(), promptness.controls.load());
    ok = false;
  }
  if (const auto never = never_called(options, counts); !never.empty() && findings.count() == 0) {
    fmt::print("FAILED: never called: {}\n", fmt::join(never, ", "));
    ok = false;
  }
  fmt::print("lifetimes: {}\n", ok ? "ok" : "FAILED");
  if (!json.empty()) write_json(json, options, counts, findings, promptness, programs, seconds, ok);
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setenv("WEFT_REPORT_DIR", "off", 0);
  Options options;
  std::string transport = "mock", json, parent_of;
  CLI::App app{"Random programs of API calls from several threads, judged by an oracle written from weft.h."};
  app.add_option("--seed", options.seed, "of everything that is drawn")->envname("WEFT_SEED")->capture_default_str();
  app.add_option("--calls", options.calls, "calls after which no further program begins")
      ->envname("WEFT_LIFETIME_CALLS")
      ->capture_default_str();
  app.add_option("--programs", options.programs, "so many programs instead; 0: as many as the calls need")
      ->capture_default_str();
  app.add_option("--first", options.first, "number of the first program")->capture_default_str();
  app.add_option("--per-program", options.calls_per_program, "calls of one program, before its end")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", options.threads, "that make calls")->check(CLI::Range(1, 32))->capture_default_str();
  app.add_option("--transport", transport, "the driver's mock, or a weft-sim (nano, fast core)")
      ->check(CLI::IsMember({"mock", "sim"}))
      ->capture_default_str();
  app.add_option("--slack-ms", options.slack_ms, "by which a call may be late; four times that under sanitizers")
      ->capture_default_str();
  app.add_flag(
      "--judge-lateness", options.judge_lateness,
      "fail if callbacks come late; for a machine that does nothing else. Not under sanitizers, not with Ibex");
  app.add_option("--failures", options.failures, "wrong outcomes after which it stops")->capture_default_str();
  app.add_option("--json", json, "writes the figures there");
  app.add_option("--be-parent", parent_of)->group("");
  CLI11_PARSE(app, argc, argv);
  if (!parent_of.empty()) return be_parent(parent_of);
  options.simulator = transport == "sim";
  options.device = options.simulator ? "sim:nano?core=fast" : "mock:nano";
  return run(options, json);
}
