// Many random programs: each process takes every n-th program of each batch and sends its tally through a pipe.
#include "testbench/random/campaign.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <tuple>

#include "testbench/random/compiled_program.hpp"
#include "testbench/random/program_runner.hpp"
#include "testbench/random/reached.hpp"
#include "testbench/random/shrink.hpp"
#include "weft/spec/names.hpp"

namespace weft::random {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

std::string_view kind_name(const Batch& batch) {
  if (batch.compiled) return "compiled";
  return batch.legality == Legality::kLegal ? "legal" : "illegal";
}

/// A program of a batch, and how to make it smaller.
struct Candidate {
  std::optional<Program> program;
  std::string what;  ///< in words; or why there is no program
  std::function<std::optional<Program>(const StillFails&)> shrink;
};

Candidate draw_commands(const Batch& batch, uint64_t seed) {
  const Plan plan = generate_plan(*spec::find_chip(batch.chip), seed, batch.legality);
  Candidate candidate{make_program(plan), "", {}};
  if (!candidate.program || (batch.legality == Legality::kOneIllegal && !candidate.program->fault)) {
    candidate.what = candidate.program ? "the generator made a plan without anything illegal"
                                       : "the generator made a plan without a program";
    candidate.program.reset();
    return candidate;
  }
  candidate.what = fmt::format("{} commands", candidate.program->commands.size());
  candidate.shrink = [plan](const StillFails& still_fails) { return make_program(shrink_plan(plan, still_fails)); };
  return candidate;
}

Candidate draw_compiled(const Batch& batch, uint64_t seed) {
  const Recipe recipe = draw_recipe(*spec::find_chip(batch.chip), seed);
  Candidate candidate;
  std::string error;
  candidate.program = make_program(recipe, error);
  candidate.what = recipe_text(recipe) + (error.empty() ? "" : ": " + error);
  candidate.shrink = [recipe](const StillFails& still_fails) {
    const Recipe small = shrink_recipe(recipe, still_fails);
    std::string unused;
    fmt::print("shrunk to {}\n", recipe_text(small));
    return make_program(small, unused);
  };
  return candidate;
}

/// Shrinks the program, writes the file, and says how to run it again.
json report_failure(const Batch& batch, const CampaignOptions& options, uint64_t seed, const Candidate& candidate,
                    const Verdict& verdict) {
  const std::string rerun = rerun_line(batch, options, seed);
  fmt::print("FAILED seed {}, {}: {}\nrerun: {}\n", seed, candidate.what, verdict.report, rerun);
  const auto small =
      candidate.shrink([&](const Program& p) { return !p.commands.empty() && !judge(p, options).passed; });
  if (small) {
    const std::string kind = batch.compiled ? "_compiled" : batch.legality == Legality::kLegal ? "" : "_illegal";
    const std::string file = fmt::format("random_{}_{}{}.txt", batch.chip, seed, kind);
    std::ofstream(file) << program_text(*small);
    fmt::print("shrunk to {} commands: {}\n{}replay: random_programs --core {} --replay {}\n", small->commands.size(),
               judge(*small, options).report, program_text(*small), options.core, file);
  }
  std::fflush(stdout);
  return {{"chip", batch.chip},
          {"legality", kind_name(batch)},
          {"seed", seed},
          {"report", verdict.report},
          {"rerun", rerun}};
}

/// What one process did.
class Worker {
 public:
  explicit Worker(const CampaignOptions& options) : options_(options) {}

  json run(const std::vector<Batch>& batches, unsigned job) {
    json tallies = json::array();
    for (const Batch& batch : batches) tallies.push_back(run_batch(batch, job));
    return {{"batches", tallies},
            {"failures", failures_},
            {"faults", faults_},
            {"kinds", reached_.kinds()},
            {"bins", reached_.bins()}};
  }

 private:
  json run_batch(const Batch& batch, unsigned job) {
    const auto begin = Clock::now();
    uint64_t programs = 0, failed = 0, commands = 0, cycles = 0;
    for (uint64_t i = job; i < batch.programs; i += options_.jobs) {
      const uint64_t seed = batch.first_seed + i;
      const Candidate candidate = batch.compiled ? draw_compiled(batch, seed) : draw_commands(batch, seed);
      programs++;
      if (!candidate.program) {
        fmt::print("FAILED seed {}: {}\n", seed, candidate.what);
        failed++;
        continue;
      }
      const Program& program = *candidate.program;
      const Verdict verdict = judge(program, options_, {.wave_path = options_.wave});
      reached_.count(program);
      if (program.fault && verdict.passed) faults_[std::string(spec::fault_name(program.fault->code))]++;
      commands += verdict.commands;
      cycles += verdict.cycles;
      if (verdict.passed) continue;
      failed++;
      failures_.push_back(report_failure(batch, options_, seed, candidate, verdict));
      if (!options_.keep_going) break;
    }
    return {{"programs", programs},
            {"failed", failed},
            {"commands", commands},
            {"cycles", cycles},
            {"seconds", std::chrono::duration<double>(Clock::now() - begin).count()}};
  }

  const CampaignOptions& options_;
  Reached reached_;
  std::map<std::string, uint64_t> faults_;
  json failures_ = json::array();
};

void add(json& to, const json& from) {
  for (const auto& [name, count] : from.items()) to[name] = to.value(name, uint64_t{0}) + count.get<uint64_t>();
}

/// A process for each job; each one's tally, or null for one that died.
std::vector<json> run_processes(const std::vector<Batch>& batches, const CampaignOptions& options) {
  std::vector<std::FILE*> results;
  std::fflush(stdout);
  for (unsigned job = 0; job < options.jobs; job++) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) continue;
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      const std::string text = Worker(options).run(batches, job).dump();
      std::FILE* out = fdopen(ends[1], "w");
      const bool sent = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
      if (out != nullptr) std::fclose(out);
      std::fflush(stdout);
      _exit(sent ? 0 : 1);
    }
    close(ends[1]);
    results.push_back(fdopen(ends[0], "r"));
  }
  std::vector<json> tallies;
  for (std::FILE* result : results) {
    std::string text;
    std::array<char, 65536> piece{};
    for (size_t n = 0; (n = std::fread(piece.data(), 1, piece.size(), result)) != 0;) text.append(piece.data(), n);
    std::fclose(result);
    tallies.push_back(json::parse(text, nullptr, false));
  }
  while (wait(nullptr) > 0) {
  }
  return tallies;
}

/// How many times the programs of level ci; 0: no such level.
uint64_t scale_of(std::string_view level) { return level == "ci" ? 1 : level == "nightly" ? 10 : 0; }

}  // namespace

std::string missing_core(const spec::Chip& chip, const CampaignOptions& options) {
  if (!options.comparison) return missing_core(chip, options.kind);
  if (*options.comparison == Comparison::kCores) return missing_core(chip, core::CoreKind::kRtl);
  const std::string structural = missing_core(chip, core::CoreKind::kRtl, core::ArrayForm::kStructural);
  return structural.empty() ? missing_core(chip, core::CoreKind::kRtl) : structural;
}

Verdict judge(const Program& program, const CampaignOptions& options, const core::CoreOptions& core) {
  return options.comparison ? compare(program, *options.comparison, core) : run_program(program, options.kind, core);
}

std::vector<Batch> level_batches(std::string_view level, uint64_t seed) {
  const uint64_t scale = scale_of(level);
  if (scale == 0) return {};
  std::vector<Batch> batches;
  for (const auto& [chip, legal, illegal] : {std::tuple("nano", 350, 150), std::tuple("nano-4mxu", 300, 100),
                                             std::tuple("mini", 350, 150), std::tuple("small", 450, 150)}) {
    batches.push_back({chip, Legality::kLegal, seed, legal * scale});
    batches.push_back({chip, Legality::kOneIllegal, seed, illegal * scale});
  }
  batches.push_back({"v5e-1mxu", Legality::kLegal, seed, 40});
  batches.push_back({"v5e-1mxu", Legality::kOneIllegal, seed, 10});
  return batches;
}

std::vector<Batch> comparison_batches(Comparison comparison, std::string_view level, uint64_t seed) {
  const uint64_t scale = scale_of(level);
  if (scale == 0) return {};
  std::vector<Batch> batches;
  if (comparison == Comparison::kArrays) {
    for (const auto& [chip, compiled, legal, illegal] :
         {std::tuple("nano", 40, 40, 10), std::tuple("mini", 20, 30, 10), std::tuple("small", 5, 40, 5)}) {
      batches.push_back({chip, Legality::kLegal, seed, compiled * scale, true});
      batches.push_back({chip, Legality::kLegal, seed, legal * scale});
      batches.push_back({chip, Legality::kOneIllegal, seed, illegal * scale});
    }
    return batches;
  }
  for (const auto& [chip, compiled] : {std::pair("nano", 1300), std::pair("nano-4mxu", 650), std::pair("small", 50)})
    batches.push_back({chip, Legality::kLegal, seed, compiled * scale, true});
  for (const auto& [chip, legal, illegal] :
       {std::tuple("nano", 250, 80), std::tuple("nano-4mxu", 150, 50), std::tuple("small", 15, 5)}) {
    batches.push_back({chip, Legality::kLegal, seed, legal * scale});
    batches.push_back({chip, Legality::kOneIllegal, seed, illegal * scale});
  }
  return batches;
}

std::string rerun_line(const Batch& batch, const CampaignOptions& options, uint64_t seed) {
  return fmt::format("random_programs --chip {} --core {} --count 1 --seed {}{} --wave-last random_{}_{}.fst",
                     batch.chip, options.core, seed,
                     batch.compiled                       ? " --compiled"
                     : batch.legality == Legality::kLegal ? ""
                                                          : " --illegal",
                     batch.chip, seed);
}

json run_campaign(const std::vector<Batch>& batches, const CampaignOptions& options) {
  const auto begin = Clock::now();
  const std::vector<json> tallies =
      options.jobs == 1 ? std::vector{Worker(options).run(batches, 0)} : run_processes(batches, options);
  json out = {{"core", options.core}, {"jobs", options.jobs}, {"programs", 0},
              {"failed", 0},          {"commands", 0},        {"cycles", 0}};
  json faults = json::object(), kinds = json::object(), bins = json::object();
  json list = json::array(), failures = json::array();
  for (const Batch& batch : batches)
    list.push_back({{"chip", batch.chip},
                    {"legality", kind_name(batch)},
                    {"first_seed", batch.first_seed},
                    {"wanted", batch.programs},
                    {"programs", 0},
                    {"failed", 0},
                    {"commands", 0},
                    {"cycles", 0},
                    {"seconds", 0.0}});
  for (const auto& fault : spec::kFaultNames)
    if (fault.value != WEFT_FAULT_NONE) faults[std::string(fault.name)] = 0;
  for (const std::string& bin : Reached::all_bins()) bins[bin] = 0;
  for (const json& tally : tallies) {
    if (!tally.is_object()) {
      failures.push_back({{"report", "a process died"}, {"rerun", "the same with --jobs 1"}});
      out["failed"] = out["failed"].get<uint64_t>() + 1;
      continue;
    }
    for (size_t i = 0; i < batches.size(); i++) {
      for (const char* key : {"programs", "failed", "commands", "cycles"}) {
        const uint64_t n = tally["batches"][i][key];
        list[i][key] = list[i][key].get<uint64_t>() + n;
        out[key] = out[key].get<uint64_t>() + n;
      }
      list[i]["seconds"] = list[i]["seconds"].get<double>() + tally["batches"][i]["seconds"].get<double>();
    }
    for (const auto& failure : tally["failures"]) failures.push_back(failure);
    add(faults, tally["faults"]);
    add(kinds, tally["kinds"]);
    add(bins, tally["bins"]);
  }
  out["seconds"] = std::chrono::duration<double>(Clock::now() - begin).count();
  out["batches"] = list;
  out["failures"] = failures;
  out["fault_codes"] = faults;
  out["reached"] = {{"kinds", kinds}, {"bins", bins}};
  return out;
}

std::string junit_text(const json& campaign) {
  const auto escaped = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c == '<')
        out += "&lt;";
      else if (c == '>')
        out += "&gt;";
      else if (c == '&')
        out += "&amp;";
      else if (c == '"')
        out += "&quot;";
      else
        out += c;
    }
    return out;
  };
  uint64_t failed_batches = 0;
  std::string cases;
  for (const auto& batch : campaign["batches"]) {
    const std::string chip = batch["chip"], legality = batch["legality"];
    cases +=
        fmt::format("  <testcase classname=\"random\" name=\"{} {} programs at {}, seeds from {}\" time=\"{:.3f}\">",
                    batch["programs"].get<uint64_t>(), legality, chip, batch["first_seed"].get<uint64_t>(),
                    batch["seconds"].get<double>());
    if (batch["failed"] != 0) {
      failed_batches++;
      cases += "\n    <failure message=\"" + std::to_string(batch["failed"].get<uint64_t>()) + " failed\">";
      for (const auto& failure : campaign["failures"])
        if (failure.value("chip", "") == chip && failure.value("legality", "") == legality)
          cases +=
              escaped(failure["report"].get<std::string>() + "\nrerun: " + failure["rerun"].get<std::string>() + "\n");
      cases += "</failure>\n  ";
    }
    cases += "</testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"random_programs\" tests=\"{}\" "
      "failures=\"{}\" time=\"{:.3f}\">\n{}</testsuite>\n",
      campaign["batches"].size(), failed_batches, campaign["seconds"].get<double>(), cases);
}

}  // namespace weft::random
