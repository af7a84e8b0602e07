// A tenant that wants to take the chip from everybody, beside three honest neighbours.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "testbench/tenant/house.hpp"

namespace {

using namespace weft::tenant;

struct Arguments {
  uint64_t seed = 1;
  uint64_t first = 0, sequences = 300;
  uint64_t per_server = 50;
  unsigned failures = 3;
  std::vector<std::string> only, except;
  bool json = false, list = false, verbose = false;
  HouseOptions house;
  bool hostile_management = false;
};

/// HBM is shared between the core and the copy engine, by pieces of 4 KiB: a neighbour's launch, which runs alone on
/// the core, waits for two of them at each of its own accesses at most.
constexpr uint64_t kLaunchBound = 2'000;
/// Engines are shared by turns of functions. While one of sixteen waits, each of the others may have one, and a second
/// one that was ahead of it when its command came.
constexpr uint64_t kTurnsOfOthers = 2 * (House::kFunctions - 1);
/// A neighbour's copies are three commands in a row: each waits for its turn.
constexpr uint64_t kCopiesInRow = 3;

constexpr int kSkipped = 77;  // exit code

struct Failure {
  uint64_t sequence;
  std::string attacks;
  std::string harm;
  std::string again;
};

struct Tally {
  std::map<std::string, uint64_t> acted, drawn;
  Peace peace;
  uint64_t sequences = 0, harmed = 0;
  uint64_t peak_kib = 0;
  std::vector<Failure> failures;
};

uint64_t seed_of(uint64_t seed, uint64_t sequence) {
  uint64_t z = seed * 0x9e3779b97f4a7c15 + sequence + 1;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

const Attack& draw(const std::vector<Attack>& attacks, Random& random) {
  uint64_t all = 0;
  for (const Attack& attack : attacks) all += attack.weight;
  uint64_t at = random.below(all);
  for (const Attack& attack : attacks) {
    if (at < attack.weight) return attack;
    at -= attack.weight;
  }
  return attacks.front();
}

void append(std::vector<std::string>& all, std::vector<std::string> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// The part of the command line that chooses classes.
std::string choice(const Arguments& arguments) {
  std::string text;
  for (const auto& [option, names] : {std::pair(" --only", &arguments.only), std::pair(" --except", &arguments.except)})
    if (!names->empty()) text += fmt::format("{} {}", option, fmt::join(*names, " "));
  return text;
}

/// Where what is found is told while the campaign runs: with --json the standard output holds the object alone.
std::FILE* progress(const Arguments& arguments) { return arguments.json ? stderr : stdout; }

/// One sequence: attacks while the neighbours work, then a look at everything. Sentences of harm.
std::vector<std::string> run_sequence(const Arguments& arguments, House& house, const std::vector<Attack>& attacks,
                                      uint64_t sequence, Tally& tally, std::string& names) {
  std::vector<std::string> harm;
  std::set<unsigned> used;
  uint64_t turn = Attack::kTurnCycles;
  Peace peace;
  house.go();
  {
    Tenant tenant(house.stage(), seed_of(arguments.seed, sequence));
    for (uint64_t i = tenant.random.between(1, 4); i != 0; i--) {
      const Attack& attack = draw(attacks, tenant.random);
      tally.drawn[attack.name]++;
      turn = std::max(turn, attack.turn_cycles);
      const int64_t begin = now_ms();
      const bool acted = attack.act(tenant);
      if (acted) tally.acted[attack.name]++;
      names += fmt::format("{}{}{}", names.empty() ? "" : " ", attack.name, acted ? "" : "(not)");
      if (arguments.verbose) fmt::print(stderr, "  {} {} ms\n", attack.name, now_ms() - begin);
    }
    if (auto death = house.look_for_death(); !death.empty()) return death;
    append(harm, house.stop(peace));
    if (harm.empty()) append(harm, house.visit());
    if (harm.empty()) append(harm, house.look_for_spinning());
    append(harm, tenant.complaints());
    used = tenant.connected();
  }
  if (harm.empty()) append(harm, house.look_for_remains(used));
  if (harm.empty()) append(harm, house.look_for_changed_cycles(peace));
  if (auto death = house.look_for_death(); !death.empty()) harm.insert(harm.begin(), death.front());
  const auto beyond = [&harm](const char* what, uint64_t cycles, uint64_t bound) {
    if (cycles > bound)
      harm.push_back(fmt::format("{} of a neighbour took {} device cycles more than alone, {} are the others' share",
                                 what, cycles, bound));
  };
  beyond("a launch", peace.launch, kLaunchBound);
  beyond("the way from doorbell to completion", peace.latency, kTurnsOfOthers * turn);
  beyond("copies", peace.copy, kCopiesInRow * kTurnsOfOthers * turn);
  if (harm.empty() && (peace.rounds == 0 || peace.elements == 0 || peace.bytes == 0 || peace.again == 0))
    harm.push_back("the neighbours did nothing");
  tally.peace.rounds += peace.rounds;
  tally.peace.elements += peace.elements;
  tally.peace.differing += peace.differing;
  tally.peace.again += peace.again;
  tally.peace.different += peace.different;
  tally.peace.bytes += peace.bytes;
  tally.peace.wrong += peace.wrong;
  tally.peace.launch = std::max(tally.peace.launch, peace.launch);
  tally.peace.latency = std::max(tally.peace.latency, peace.latency);
  tally.peace.copy = std::max(tally.peace.copy, peace.copy);
  tally.peace.slowest_ms = std::max(tally.peace.slowest_ms, peace.slowest_ms);
  tally.peak_kib = std::max(tally.peak_kib, house.peak_resident_kib());
  return harm;
}

void run(const Arguments& arguments, const std::vector<Attack>& attacks, Tally& tally) {
  std::optional<House> house;
  uint64_t since = 0;
  for (uint64_t s = arguments.first; s < arguments.first + arguments.sequences; s++) {
    if (!house || s - since >= arguments.per_server) {
      house.reset();
      house.emplace(arguments.house, arguments.seed);
      house->stage().hostile_management = arguments.hostile_management;
      since = s;
      if (!house->trouble().empty()) {
        fmt::print(progress(arguments), "HARM before sequence {}: {}\n", s, house->trouble());
        tally.failures.push_back({s, "", house->trouble(), ""});
        tally.harmed++;
        return;
      }
    }
    std::string names;
    if (arguments.verbose) fmt::print(stderr, "sequence {}\n", s);
    const auto harm = run_sequence(arguments, *house, attacks, s, tally, names);
    tally.sequences++;
    if (harm.empty()) continue;
    tally.harmed++;
    std::string text;
    for (const std::string& sentence : harm) text += (text.empty() ? "" : "; ") + sentence;
    const std::string again = fmt::format(
        "hostile_tenant --seed {} --first {} --sequences 1{}   (with its server's history: --first {} --sequences {})",
        arguments.seed, s, choice(arguments), since, s - since + 1);
    std::FILE* out = progress(arguments);
    fmt::print(out, "HARM in sequence {}: {}\n  attacks: {}\n  again:   {}\n", s, text, names, again);
    std::fflush(out);
    tally.failures.push_back({s, names, text, again});
    house.reset();
    if (tally.failures.size() >= arguments.failures) return;
  }
}

int report(const Arguments& arguments, const std::vector<Attack>& attacks, Tally& tally, double seconds) {
  std::string idle;
  for (const Attack& attack : attacks)
    if (tally.acted[attack.name] == 0 && (::geteuid() == 0 || attack.name != std::string("foreign_user")))
      idle += std::string(idle.empty() ? "" : ", ") + attack.name;
  const bool all_acted = idle.empty() || tally.sequences < 100;
  const bool ok = tally.harmed == 0 && all_acted && tally.sequences == arguments.sequences;
  if (arguments.json) {
    nlohmann::json failures = nlohmann::json::array();
    for (const Failure& f : tally.failures)
      failures.push_back({{"sequence", f.sequence}, {"attacks", f.attacks}, {"harm", f.harm}, {"again", f.again}});
    const nlohmann::json out = {{"seed", arguments.seed},
                                {"sequences", tally.sequences},
                                {"harmed", tally.harmed},
                                {"acted", tally.acted},
                                {"classes", attacks.size()},
                                {"never_acted", idle},
                                {"rounds", tally.peace.rounds},
                                {"elements", tally.peace.elements},
                                {"differing", tally.peace.differing},
                                {"bytes", tally.peace.bytes},
                                {"wrong_bytes", tally.peace.wrong},
                                {"launch_cycles_beyond", tally.peace.launch},
                                {"latency_cycles_beyond", tally.peace.latency},
                                {"copy_cycles_beyond", tally.peace.copy},
                                {"launches_alone_after", tally.peace.again},
                                {"launches_alone_with_other_cycles", tally.peace.different},
                                {"slowest_round_ms", tally.peace.slowest_ms},
                                {"peak_kib", tally.peak_kib},
                                {"failures", failures},
                                {"seconds", seconds},
                                {"ok", ok}};
    fmt::print("{}\n", out.dump(2));
    return ok ? 0 : 1;
  }
  fmt::print("hostile tenant: {} sequences, seed {}: {} neighbours harmed\n", tally.sequences, arguments.seed,
             tally.harmed);
  fmt::print("  neighbours  {} rounds; {} of {} elements and {} of {} bytes differ\n", tally.peace.rounds,
             tally.peace.differing, tally.peace.elements, tally.peace.wrong, tally.peace.bytes);
  fmt::print("  cycles      at most {} more for a launch, {} from doorbell to completion, {} for copies\n",
             tally.peace.launch, tally.peace.latency, tally.peace.copy);
  fmt::print("              {} of {} launches alone after an attack take other cycles than before all attacks\n",
             tally.peace.different, tally.peace.again);
  fmt::print("  wall clock  {} ms for the slowest round of a neighbour\n", tally.peace.slowest_ms);
  fmt::print("  server      at most {} MiB resident after a sequence\n", tally.peak_kib / 1024);
  std::string acted;
  for (const Attack& attack : attacks)
    acted += fmt::format(" {} {}/{}", attack.name, tally.acted[attack.name], tally.drawn[attack.name]);
  fmt::print("  acted      {}\n", acted);
  if (!all_acted) fmt::print("FAILED: these never acted: {}\n", idle);
  fmt::print("  {:.1f} s\n", seconds);
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Child::end_with_this_process();
  Arguments arguments;
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  arguments.house.neighbour = here / "tenant_neighbour";
  arguments.house.sim = here / "weft-sim";
  CLI::App app{"Attacks a weft-sim as one of its tenants and looks whether three honest neighbours notice."};
  app.add_option("--seed", arguments.seed, "of everything that is drawn")->envname("WEFT_SEED")->capture_default_str();
  app.add_option("--sequences", arguments.sequences, "how many")->capture_default_str();
  app.add_option("--first", arguments.first, "number of the first one")->capture_default_str();
  app.add_option("--per-server", arguments.per_server, "sequences until the server is started anew")
      ->capture_default_str();
  app.add_option("--failures", arguments.failures, "harmed sequences after which it stops")->capture_default_str();
  app.add_option("--only", arguments.only, "these classes of attacks");
  app.add_option("--except", arguments.except, "all classes but these");
  app.add_option("--sim", arguments.house.sim, "the weft-sim that is attacked")
      ->envname("WEFT_SIM")
      ->capture_default_str();
  app.add_option("--sim-option", arguments.house.options, "an option for weft-sim, again for each");
  app.add_option("--growth-mib", arguments.house.growth_mib, "memory by which the server may grow")
      ->envname("WEFT_TENANT_GROWTH_MIB")
      ->capture_default_str();
  app.add_option("--core", arguments.house.core, "rtl, fast or lockstep")->capture_default_str();
  app.add_flag("--hostile-management", arguments.hostile_management,
               "ask observers' socket to reset the neighbours too");
  app.add_flag("--list", arguments.list, "tell the classes and end");
  app.add_flag("--verbose", arguments.verbose, "tell each attack");
  app.add_flag("--json", arguments.json, "print one JSON object");
  CLI11_PARSE(app, argc, argv);
  std::vector<Attack> attacks = all_attacks();
  if (arguments.list) {
    for (const Attack& attack : attacks) fmt::print("{:24} {}\n", attack.name, attack.what);
    return 0;
  }
  const auto named = [](const std::vector<std::string>& names, const Attack& attack) {
    return std::ranges::find(names, attack.name) != names.end();
  };
  for (const auto* names : {&arguments.only, &arguments.except}) {
    for (const std::string& name : *names) {
      if (std::ranges::any_of(attacks, [&](const Attack& attack) { return name == attack.name; })) continue;
      fmt::print(stderr, "no class of attacks is called '{}': --list tells them\n", name);
      return 2;
    }
  }
  std::erase_if(attacks, [&](const Attack& attack) {
    return (!arguments.only.empty() && !named(arguments.only, attack)) || named(arguments.except, attack);
  });
  if (attacks.empty()) {
    fmt::print(stderr, "no class of attacks is left\n");
    return 2;
  }
  if (!arguments.only.empty() && attacks.size() == 1 && attacks.front().name == std::string("foreign_user") &&
      ::geteuid() != 0) {
    fmt::print("another user can be tried by root only\n");
    return kSkipped;
  }
  fmt::print(stderr, "seed {}\n", arguments.seed);
  const auto begin = std::chrono::steady_clock::now();
  Tally tally;
  run(arguments, attacks, tally);
  return report(arguments, attacks, tally,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}
