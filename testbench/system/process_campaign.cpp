// Several processes on one chip; half of them are killed at random moments, again and again. The others must not
// notice, and nothing of the dead may be left: descriptors and maps of the server, HBM and its contents, programs.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "testbench/system/child_process.hpp"
#include "testbench/system/sim_server.hpp"
#include "weft/spec/spec.h"

namespace {

using namespace weft;
using test::ChildProcess;
using test::SimServer;

constexpr const char* kClient = "process_client";

struct Arguments {
  std::string chip = "nano";
  std::string core = "fast";
  unsigned functions = 8;
  unsigned kills = 30;
  uint64_t seed = 1;
  unsigned longest_wait_ms = 100;
  bool json = false;
};

struct Tally {
  uint64_t products = 0, elements = 0, differing = 0;  // of the steady ones
  uint64_t fresh_bytes = 0, fresh_nonzero = 0;         // that new clients found
  uint64_t killed_at_work = 0;                         // after they had told about their memory
  std::vector<std::string> failures;
};

uint64_t number_after(const std::string& text, const std::string& word, unsigned index) {
  const size_t at = text.find(word + " ");
  if (at == std::string::npos) return UINT64_MAX;
  const char* p = text.c_str() + at + word.size();
  char* end = nullptr;
  uint64_t value = 0;
  for (unsigned i = 0; i <= index; i++, p = end) value = std::strtoull(p, &end, 10);
  return value;
}

/// What a victim said before its end; anything but its report is an error that it met.
void take_victims_words(const std::string& words, Tally& tally) {
  if (words.find("error") != std::string::npos) tally.failures.push_back("a victim: " + words);
  if (words.find("fresh ") == std::string::npos) return;
  tally.killed_at_work++;
  tally.fresh_bytes += number_after(words, "fresh", 0);
  tally.fresh_nonzero += number_after(words, "fresh", 1);
}

/// One victim a function; one of them is chosen, lives for a random time more, and is killed. One in four may die
/// before it has opened its device; the others have told about their memory by then and are at work.
void kill_victims(const Arguments& arguments, const SimServer& server, unsigned steady, Tally& tally) {
  constexpr unsigned kEarlyDeaths = 4;
  std::mt19937_64 random(arguments.seed);
  std::vector<std::optional<ChildProcess>> victims(arguments.functions - steady);
  for (unsigned killed = 0; killed < arguments.kills; killed++) {
    for (size_t i = 0; i < victims.size(); i++) {
      if (victims[i]) continue;
      const std::string socket = server.socket(static_cast<unsigned>(steady + i));
      victims[i].emplace(kClient, std::vector<std::string>{"victim", socket, std::to_string(random() % 1'000'000)});
    }
    auto& victim = victims[random() % victims.size()];
    std::string words = random() % kEarlyDeaths != 0 ? victim->read_line() + "\n" : std::string();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % (arguments.longest_wait_ms * 1000)));
    victim->signal(SIGKILL);
    std::string rest;
    const int code = victim->wait(rest);
    if (code != 128 + SIGKILL) tally.failures.push_back(fmt::format("a victim ended by itself with {}", code));
    take_victims_words(words + rest, tally);
    victim.reset();
  }
}

void end_steady(std::vector<ChildProcess>& children, Tally& tally) {
  for (ChildProcess& child : children) child.close_input();
  for (ChildProcess& child : children) {
    std::string words;
    const int code = child.wait(words);
    if (code != 0 || words.find("steady ") == std::string::npos) {
      tally.failures.push_back(fmt::format("a steady process ended with {}: {}", code, words));
      continue;
    }
    tally.products += number_after(words, "steady", 0);
    tally.elements += number_after(words, "steady", 1);
    tally.differing += number_after(words, "steady", 2);
  }
}

/// Every function as its next client finds it.
void check_functions(const Arguments& arguments, const SimServer& server, Tally& tally) {
  for (unsigned f = 0; f < arguments.functions; f++) {
    std::string words;
    if (ChildProcess(kClient, {"fresh", server.socket(f)}).wait(words) != 0) {
      tally.failures.push_back(fmt::format("function {}: {}", f, words));
      continue;
    }
    tally.fresh_bytes += number_after(words, "fresh", 0);
    tally.fresh_nonzero += number_after(words, "fresh", 1);
    if (ChildProcess(kClient, {"capacity", server.socket(f)}).wait(words) != 0 ||
        number_after(words, "capacity", 0) != number_after(words, "capacity", 1) ||
        number_after(words, "capacity", 2) != WEFT_LIMIT_PROGRAMS) {
      tally.failures.push_back(fmt::format("function {} is not as new: {}", f, words));
    }
  }
}

int run(const Arguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const SimServer server(arguments.chip, arguments.core, arguments.functions);
  const unsigned steady = arguments.functions / 2;
  Tally tally;
  check_functions(arguments, server, tally);  // also what a warm server holds without any client
  const test::Holdings before = server.without_clients();
  std::vector<ChildProcess> children;
  for (unsigned f = 0; f < steady; f++)
    children.emplace_back(kClient, std::vector<std::string>{"steady", server.socket(f), std::to_string(f + 1)});
  kill_victims(arguments, server, steady, tally);
  end_steady(children, tally);
  check_functions(arguments, server, tally);
  const test::Holdings after = server.settle(before);
  if (tally.differing != 0) tally.failures.push_back("products differ");
  if (tally.elements == 0) tally.failures.push_back("no element was compared");
  if (tally.fresh_nonzero != 0) tally.failures.push_back("memory of a dead process was seen by the next one");
  if (!(after == before)) tally.failures.push_back("the server holds something else than before");
  if (tally.products == 0) tally.failures.push_back("the steady processes did nothing");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const bool ok = tally.failures.empty();
  if (arguments.json) {
    const nlohmann::json report = {{"chip", arguments.chip},
                                   {"core", arguments.core},
                                   {"processes", arguments.functions},
                                   {"kills", arguments.kills},
                                   {"killed_at_work", tally.killed_at_work},
                                   {"seed", arguments.seed},
                                   {"products", tally.products},
                                   {"elements", tally.elements},
                                   {"differing", tally.differing},
                                   {"fresh_bytes", tally.fresh_bytes},
                                   {"fresh_nonzero", tally.fresh_nonzero},
                                   {"leaked_descriptors", int64_t(after.descriptors) - int64_t(before.descriptors)},
                                   {"leaked_maps", int64_t(after.maps) - int64_t(before.maps)},
                                   {"failures", tally.failures},
                                   {"seconds", seconds},
                                   {"ok", ok}};
    fmt::print("{}\n", report.dump(2));
  } else {
    fmt::print("processes: {} on {} ({} core), {} kills ({} at work), seed {}\n", arguments.functions, arguments.chip,
               arguments.core, arguments.kills, tally.killed_at_work, arguments.seed);
    fmt::print("  others       {} products, {} of {} elements differ\n", tally.products, tally.differing,
               tally.elements);
    fmt::print("  memory       {} of {} bytes of new clients not zero\n", tally.fresh_nonzero, tally.fresh_bytes);
    fmt::print("  server       {} -> {} descriptors, {} -> {} maps\n", before.descriptors, after.descriptors,
               before.maps, after.maps);
    for (const std::string& failure : tally.failures) fmt::print("  FAILED       {}\n", failure);
  }
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Kills processes that share a chip and looks whether the others notice."};
  app.add_option("--chip", arguments.chip, "preset")->capture_default_str();
  app.add_option("--core", arguments.core, "rtl, fast or lockstep")->capture_default_str();
  app.add_option("--functions", arguments.functions, "processes; half of them are killed again and again")
      ->check(CLI::Range(2u, unsigned{WEFT_LIMIT_FUNCTIONS}))
      ->capture_default_str();
  app.add_option("--kills", arguments.kills, "how many")->capture_default_str();
  app.add_option("--seed", arguments.seed, "of lives and work")->envname("WEFT_SEED")->capture_default_str();
  app.add_option("--longest-wait", arguments.longest_wait_ms, "milliseconds until a kill")->capture_default_str();
  app.add_flag("--json", arguments.json, "print one JSON object");
  CLI11_PARSE(app, argc, argv);
  return run(arguments);
}
