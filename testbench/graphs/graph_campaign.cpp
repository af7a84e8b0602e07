// Each process takes every n-th network of each batch and sends its tally through a pipe.
#include "testbench/graphs/graph_campaign.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <tuple>

#include "host/compiler/ir/text.hpp"
#include "testbench/graphs/graph_judge.hpp"

namespace weft::graphs {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::array<const char*, 9> kCounts{"graphs",   "failed",   "device_programs", "loops",     "islands",
                                             "elements", "commands", "cycles",          "referenced"};
constexpr uint64_t kShownElements = 16;  // of a constant

json empty_tally() {
  json tally = {{"error", 0.0}, {"failures", json::array()}};
  for (const char* count : kCounts) tally[count] = 0;
  return tally;
}
void add(json& to, const json& from) {
  for (const char* count : kCounts) to[count] = to[count].get<uint64_t>() + from[count].get<uint64_t>();
  to["error"] = std::max(to["error"].get<double>(), from["error"].get<double>());
  for (const auto& failure : from["failures"]) to["failures"].push_back(failure);
}

json report_failure(const Batch& batch, core::CoreKind kind, const GraphPlan& plan, const std::string& wrong) {
  const std::string rerun =
      fmt::format("random_graphs --chip {} --core {} --count 1 --seed {}", batch.chip, batch.core, plan.seed);
  fmt::print("FAILED seed {} on {}: {}\nrerun: {}\n", plan.seed, batch.chip, wrong, rerun);
  const GraphPlan small = shrink_plan(plan, [&](const GraphPlan& p) { return !judge(p, kind).wrong.empty(); });
  fmt::print("shrunk: {}\n{}", judge(small, kind).wrong,
             compiler::ir::print(build_module(small).module, kShownElements));
  std::fflush(stdout);
  return {{"chip", batch.chip}, {"seed", plan.seed}, {"report", wrong}, {"rerun", rerun}};
}

json run_share(const std::vector<Batch>& batches, unsigned job, unsigned jobs) {
  json tally = empty_tally();
  for (const Batch& batch : batches) {
    core::CoreKind kind{};
    (void)core::parse_core_kind(batch.core, kind);
    for (uint64_t i = job; i < batch.graphs; i += jobs) {
      const GraphPlan plan = draw_plan(*spec::find_chip(batch.chip), batch.first_seed + i);
      const Judgement of = judge(plan, kind);
      add(tally, {{"graphs", 1},
                  {"failed", of.wrong.empty() ? 0 : 1},
                  {"device_programs", of.device_programs},
                  {"loops", of.loops},
                  {"islands", of.islands},
                  {"elements", of.elements},
                  {"commands", of.commands},
                  {"cycles", of.cycles},
                  {"referenced", of.referenced ? 1 : 0},
                  {"error", of.error},
                  {"failures", json::array()}});
      if (!of.wrong.empty()) tally["failures"].push_back(report_failure(batch, kind, plan, of.wrong));
    }
  }
  return tally;
}

/// Reads a child's tally to its end; null: the child died.
json read_tally(std::FILE* from) {
  std::string text;
  std::array<char, 65536> piece{};
  for (size_t n = 0; (n = std::fread(piece.data(), 1, piece.size(), from)) != 0;) text.append(piece.data(), n);
  std::fclose(from);
  return json::parse(text, nullptr, false);
}

}  // namespace

std::vector<Batch> level_batches(std::string_view level, uint64_t seed) {
  const uint64_t scale = level == "ci" ? 1 : level == "nightly" ? 10 : 0;
  std::vector<Batch> batches;
  for (const auto& [chip, core, graphs] :
       {std::tuple("nano", "fast", 1200), std::tuple("nano-4mxu", "fast", 600), std::tuple("nano", "lockstep", 60),
        std::tuple("nano-4mxu", "lockstep", 30), std::tuple("small", "fast", 100), std::tuple("v5e", "fast", 10)})
    if (scale != 0) batches.push_back({chip, core, seed, graphs * scale});
  return batches;
}

json run_campaign(const std::vector<Batch>& batches, unsigned jobs) {
  const auto begin = Clock::now();
  std::vector<std::FILE*> results;
  std::fflush(stdout);
  for (unsigned job = 0; job < jobs; job++) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) continue;
    if (fork() == 0) {
      close(ends[0]);
      const std::string text = run_share(batches, job, jobs).dump();
      std::FILE* out = fdopen(ends[1], "w");
      const bool sent = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
      if (out != nullptr) std::fclose(out);
      std::fflush(stdout);
      _exit(sent ? 0 : 1);
    }
    close(ends[1]);
    results.push_back(fdopen(ends[0], "r"));
  }
  json out = empty_tally();
  for (std::FILE* result : results) {
    const json tally = read_tally(result);
    if (tally.is_object()) {
      add(out, tally);
      continue;
    }
    out["failed"] = out["failed"].get<uint64_t>() + 1;
    out["failures"].push_back({{"report", "a process died"}, {"rerun", "the same with --jobs 1"}});
  }
  while (wait(nullptr) > 0) {
  }
  out["batches"] = json::array();
  for (const Batch& batch : batches)
    out["batches"].push_back(
        {{"chip", batch.chip}, {"core", batch.core}, {"first_seed", batch.first_seed}, {"graphs", batch.graphs}});
  out["seconds"] = std::chrono::duration<double>(Clock::now() - begin).count();
  return out;
}

}  // namespace weft::graphs
