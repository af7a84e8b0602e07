/// Storms of dying and reviving links over slices under load. Storm i of a campaign has the seed `--seed` + i.
///
///   ici_storms [--level ci|nightly] [--count N] [--seed S] [--slice NAME] [--buffers PACKETS] [--jobs N] [--json FILE]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "testbench/storms/storm.hpp"

namespace {

using namespace weft::storms;

struct Options {
  std::string level, slice, json;
  uint64_t count = 100, seed = 1;
  uint32_t buffers = 0;
  unsigned jobs = 1;
};

struct Totals {
  uint64_t storms = 0, failed = 0, stuck = 0, strokes = 0;
  uint64_t sent = 0, came = 0, reported = 0, in_doubt = 0, lost = 0, doubled = 0, out_of_order = 0, wrong_bytes = 0,
           false_reports = 0, packet_hops = 0;

  void add(const Plan& plan, const Verdict& verdict) {
    storms++;
    failed += verdict.passed ? 0 : 1;
    stuck += verdict.stuck ? 1 : 0;
    strokes += plan.strokes.size();
    sent += verdict.sent;
    came += verdict.came;
    reported += verdict.reported;
    in_doubt += verdict.in_doubt;
    lost += verdict.lost;
    doubled += verdict.doubled;
    out_of_order += verdict.out_of_order;
    wrong_bytes += verdict.wrong_bytes;
    false_reports += verdict.false_reports;
    packet_hops += verdict.packet_hops;
  }
};

void print_failure(const Options& options, uint64_t seed, const Plan& plan, const Verdict& verdict) {
  fmt::print(
      "FAILED seed {}: {}: {} sent, {} came, {} reported, {} lost, {} doubled, {} out of order, {} with other "
      "bytes, {} false reports{}\n",
      seed, describe(plan), verdict.sent, verdict.came, verdict.reported, verdict.lost, verdict.doubled,
      verdict.out_of_order, verdict.wrong_bytes, verdict.false_reports, verdict.stuck ? ", stuck" : "");
  for (const auto& complaint : verdict.complaints) fmt::print("  {}\n", complaint);
  fmt::print("rerun: ici_storms --count 1 --seed {}{}{}\n", seed,
             options.slice.empty() ? "" : " --slice " + options.slice,
             options.buffers == 0 ? "" : fmt::format(" --buffers {}", options.buffers));
  std::fflush(stdout);
}

Totals run_all(const Options& options) {
  Totals totals;
  std::mutex mutex;
  std::atomic<uint64_t> next{0};
  const auto work = [&] {
    for (uint64_t i = next++; i < options.count; i = next++) {
      const uint64_t seed = options.seed + i;
      const auto plan = draw_plan(seed, options.slice, options.buffers);
      const auto verdict = run_storm(plan, seed);
      const std::scoped_lock lock(mutex);
      totals.add(plan, verdict);
      if (!verdict.passed) print_failure(options, seed, plan, verdict);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned job = 1; job < options.jobs; job++) threads.emplace_back(work);
  work();
  for (auto& thread : threads) thread.join();
  return totals;
}

int report(const Options& options, const Totals& totals, double seconds) {
  const nlohmann::ordered_json json{{"seed", options.seed},
                                    {"storms", totals.storms},
                                    {"failed", totals.failed},
                                    {"stuck", totals.stuck},
                                    {"strokes", totals.strokes},
                                    {"sent", totals.sent},
                                    {"came", totals.came},
                                    {"reported", totals.reported},
                                    {"in_doubt", totals.in_doubt},
                                    {"lost", totals.lost},
                                    {"doubled", totals.doubled},
                                    {"out_of_order", totals.out_of_order},
                                    {"wrong_bytes", totals.wrong_bytes},
                                    {"false_reports", totals.false_reports},
                                    {"packet_hops", totals.packet_hops},
                                    {"seconds", seconds}};
  fmt::print("{}\n", json.dump(2));
  if (!options.json.empty() && !(std::ofstream(options.json) << json.dump(2) << "\n")) {
    fmt::print(stderr, "ici_storms: {}: cannot be written\n", options.json);
    return 2;
  }
  return totals.failed == 0 && totals.storms == options.count && totals.came != 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Links die, come back, flap and go dark while the chips of a slice send: every message has to come once, "
      "in order, or be reported as unreachable when it is."};
  auto* level = app.add_option("--level", options.level, "so many storms as a level of scripts/regress runs")
                    ->check(CLI::IsMember({"ci", "nightly"}));
  app.add_option("--count", options.count, "storms")->capture_default_str()->excludes(level);
  app.add_option("--seed", options.seed, "of the first storm; the next has one more")->capture_default_str();
  app.add_option("--slice", options.slice, "only this slice")->check(CLI::IsMember(slice_names()));
  app.add_option("--buffers", options.buffers, "packets of a buffer; 0: drawn")->check(CLI::Range(0, 1000));
  app.add_option("--jobs", options.jobs, "threads")->capture_default_str()->check(CLI::Range(1, 256));
  app.add_option("--json", options.json, "file for the counts");
  CLI11_PARSE(app, argc, argv);
  if (options.level == "ci") options.count = 300;
  if (options.level == "nightly") options.count = 10'000;
  fmt::print("seeds {} to {}\n", options.seed, options.seed + options.count - 1);
  std::fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  const auto totals = run_all(options);
  return report(options, totals, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}
