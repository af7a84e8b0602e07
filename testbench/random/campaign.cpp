// Many random programs: each process takes every n-th program of each batch and sends its tally through a pipe.
#include "testbench/random/campaign.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "testbench/random/program_runner.hpp"
#include "testbench/random/reached.hpp"
#include "testbench/random/shrink.hpp"
#include "weft/spec/names.hpp"

namespace weft::random {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

std::string_view legality_name(Legality legality) { return legality == Legality::kLegal ? "legal" : "illegal"; }

/// Shrinks the program, writes the file, and says how to run it again.
json report_failure(const Batch& batch, const CampaignOptions& options, const Plan& plan, const Program& program,
                    const Verdict& verdict) {
  const std::string rerun = rerun_line(batch, options, plan.seed);
  std::string text = fmt::format("FAILED seed {}, {} commands: {}\nrerun: {}\n", plan.seed, program.commands.size(),
                                 verdict.report, rerun);
  const Plan small = shrink_plan(plan, [&](const Program& p) { return !run_program(p, options.kind).passed; });
  if (const auto small_program = make_program(small)) {
    const std::string file =
        fmt::format("random_{}_{}{}.txt", batch.chip, plan.seed, batch.legality == Legality::kLegal ? "" : "_illegal");
    std::ofstream(file) << program_text(*small_program);
    text += fmt::format("shrunk to {} commands: {}\n{}replay: random_programs --core {} --replay {}\n",
                        small_program->commands.size(), run_program(*small_program, options.kind).report,
                        program_text(*small_program), options.core, file);
  }
  fmt::print("{}", text);
  std::fflush(stdout);
  return {{"chip", batch.chip},
          {"legality", legality_name(batch.legality)},
          {"seed", plan.seed},
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
    const spec::Chip& chip = *spec::find_chip(batch.chip);
    uint64_t programs = 0, failed = 0, commands = 0, cycles = 0;
    for (uint64_t i = job; i < batch.programs; i += options_.jobs) {
      const Plan plan = generate_plan(chip, batch.first_seed + i, batch.legality);
      programs++;
      const auto program = make_program(plan);
      const bool complete = program && (batch.legality == Legality::kLegal || program->fault);
      if (!complete) {
        fmt::print("FAILED seed {}: the generator made a plan without {}\n", plan.seed,
                   program ? "anything illegal" : "a program");
        failed++;
        continue;
      }
      const Verdict verdict = run_program(*program, options_.kind, {.wave_path = options_.wave});
      reached_.count(*program);
      if (program->fault && verdict.passed) faults_[std::string(spec::fault_name(program->fault->code))]++;
      commands += verdict.commands;
      cycles += verdict.cycles;
      if (verdict.passed) continue;
      failed++;
      failures_.push_back(report_failure(batch, options_, plan, *program, verdict));
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

}  // namespace

std::vector<Batch> level_batches(std::string_view level, uint64_t seed) {
  const uint64_t scale = level == "ci" ? 1 : level == "nightly" ? 10 : 0;
  if (scale == 0) return {};
  std::vector<Batch> batches;
  for (const char* chip : {"nano", "mini", "small"}) {
    const uint64_t legal = chip == std::string_view("nano") ? 500 : 450;
    batches.push_back({chip, Legality::kLegal, seed, legal * scale});
    batches.push_back({chip, Legality::kOneIllegal, seed, 200 * scale});
  }
  batches.push_back({"v5e-1mxu", Legality::kLegal, seed, 40});
  batches.push_back({"v5e-1mxu", Legality::kOneIllegal, seed, 10});
  return batches;
}

std::string rerun_line(const Batch& batch, const CampaignOptions& options, uint64_t seed) {
  return fmt::format("random_programs --chip {} --core {} --count 1 --seed {}{} --wave-last random_{}_{}.fst",
                     batch.chip, options.core, seed, batch.legality == Legality::kLegal ? "" : " --illegal", batch.chip,
                     seed);
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
                    {"legality", legality_name(batch.legality)},
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
