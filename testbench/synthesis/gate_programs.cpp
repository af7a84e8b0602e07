// Runs random programs on the RTL core, and then the gates that synthesis makes of it with the same inputs: all outputs
// are equal in every cycle, and all memories at the end. Beside them run gates of which one is inverted: that shows.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <vector>

#include "testbench/random/compiled_program.hpp"
#include "testbench/random/program_generator.hpp"
#include "testbench/random/program_runner.hpp"
#include "testbench/synthesis/gate_netlist.hpp"
#include "testbench/synthesis/gate_simulator.hpp"
#include "testbench/synthesis/pin_trace.hpp"

namespace {

using namespace weft;
using gates::Lanes, gates::Net, gates::PinRecord, gates::PinTrace;

constexpr unsigned kLanes = 64;
constexpr unsigned kTurns = 3;  // programs of an inverted gate that does not show

/// One of five is illegal, one of five comes from the compiler.
std::optional<random::Program> draw(const spec::Chip& chip, uint64_t seed) {
  if (seed % 5 == 4) {
    std::string error;
    return make_program(random::draw_recipe(chip, seed), error);
  }
  return make_program(
      random::generate_plan(chip, seed, seed % 5 == 3 ? random::Legality::kOneIllegal : random::Legality::kLegal));
}

/// The pins while the RTL runs the program; nothing and a message if that goes wrong.
std::optional<PinTrace> trace_of(const spec::Chip& chip, uint64_t seed, uint64_t& commands, std::string& error) {
  const auto program = draw(chip, seed);
  if (!program) {
    error = "no program";
    return std::nullopt;
  }
  PinTrace trace;
  const random::Verdict verdict =
      run_program(*program,
                  [&](const spec::Chip& preset, core::MemoryBus& bus, const core::CoreOptions& options,
                      std::string& why) { return gates::make_traced_core(preset, bus, options, why, trace); },
                  {.initial_seed = static_cast<unsigned>(seed)});
  commands += verdict.commands;
  error = verdict.report;
  return verdict.passed ? std::optional(std::move(trace)) : std::nullopt;
}

/// What a lane simulates.
struct Lane {
  const PinTrace* trace = nullptr;
  uint64_t seed = 0;
  std::optional<size_t> inverted{};  ///< gate
  std::string difference{};
  bool done = false;
};

class Comparison {
 public:
  Comparison(gates::GateSimulator& simulator, std::vector<Lane>& lanes) : simulator_(simulator), lanes_(lanes) {}

  /// False, and a message in `error`: the ports are not the same.
  bool find_ports(const gates::Netlist& netlist, std::string& error) {
    const PinTrace& trace = *lanes_.front().trace;
    for (const auto& [places, ports, nets] : {std::tuple(&trace.inputs, &netlist.inputs, &inputs_),
                                              std::tuple(&trace.outputs, &netlist.outputs, &outputs_)}) {
      const bool in = nets == &inputs_;
      if (places->size() + (in ? 1 : 0) != ports->size()) {
        error = fmt::format("the RTL has {} {}puts, the gates {}", places->size(), in ? "in" : "out", ports->size());
        return false;
      }
      for (const gates::PortPlace& place : *places) {
        const auto found = ports->find(place.name);
        if (found == ports->end() || found->second.size() != place.bits) {
          error = fmt::format("the gates have no port {} of {} bits", place.name, place.bits);
          return false;
        }
        const auto& numbers = in ? simulator_.input_nets(place.name) : simulator_.output_nets(place.name);
        for (uint32_t bit = 0; bit < place.bits; bit++) nets->push_back({numbers[bit], place.first + bit});
      }
    }
    return true;
  }

  /// All lanes to the ends of their traces; one that differs stops there.
  void run() {
    simulator_.power_up(lanes_.front().seed);
    for (unsigned l = 0; l < lanes_.size(); l++)
      if (lanes_[l].inverted) simulator_.invert(*lanes_[l].inverted, Lanes{1} << l);
    bool released = false;
    for (size_t round = 0;; round++) {
      Lanes active = 0, edges = 0;
      for (unsigned l = 0; l < lanes_.size(); l++) {
        if (lanes_[l].done) continue;
        if (round == lanes_[l].trace->records.size())
          finish(l);
        else
          active |= Lanes{1} << l;
      }
      if (active == 0) return;
      for (unsigned l = 0; l < lanes_.size(); l++)
        if ((active >> l & 1) != 0) edges |= Lanes{record(l, round).edge} << l;
      const bool reset_ends = !released && (record(std::countr_zero(active), round).inputs[0] & 1) != 0;
      if (reset_ends) simulator_.clear_rams();  // as the RTL's are, which may have been written in reset
      released = released || reset_ends;
      drive(round, active);
      simulator_.settle();
      compare(round, active);
      simulator_.clock(edges);
      rounds_++;
    }
  }

  [[nodiscard]] uint64_t bits() const { return bits_; }
  [[nodiscard]] uint64_t words() const { return words_; }
  [[nodiscard]] uint64_t rounds() const { return rounds_; }

 private:
  struct PinNet {
    Net net;
    uint32_t bit;  ///< of a record
  };
  [[nodiscard]] const PinRecord& record(unsigned lane, size_t round) const {
    return lanes_[lane].trace->records[round];
  }
  static Lanes bit_of(const std::vector<uint8_t>& bytes, uint32_t bit) { return bytes[bit / 8] >> (bit % 8) & 1u; }

  void drive(size_t round, Lanes active) {
    for (const PinNet& pin : inputs_) {
      Lanes value = 0;
      for (Lanes rest = active; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        value |= bit_of(record(lane, round).inputs, pin.bit) << lane;
      }
      simulator_.net(pin.net) = value;
    }
  }

  void compare(size_t round, Lanes active) {
    for (const PinNet& pin : outputs_) {
      const Lanes gate = simulator_.net(pin.net);
      for (Lanes rest = active; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        const PinRecord& pins = record(lane, round);
        if (bit_of(pins.meant, pin.bit) == 0) continue;
        bits_++;
        if (bit_of(pins.outputs, pin.bit) == (gate >> lane & 1)) continue;
        const PinTrace& trace = *lanes_[lane].trace;
        const auto place = std::ranges::find_if(
            trace.outputs, [&](const auto& p) { return p.first <= pin.bit && pin.bit < p.first + p.bits; });
        differs(lane, fmt::format("cycle {}: {}[{}] is {} in the RTL, {} in the gates", pins.cycle, place->name,
                                  pin.bit - place->first, bit_of(pins.outputs, pin.bit), gate >> lane & 1));
        active &= ~(Lanes{1} << lane);
      }
    }
  }

  void differs(unsigned lane, const std::string& what) {
    lanes_[lane].difference = what;
    lanes_[lane].done = true;
  }

  /// The memories of a lane whose program has ended.
  void finish(unsigned lane) {
    lanes_[lane].done = true;
    const spec::Chip& chip = *spec::find_chip("nano");
    const PinTrace& trace = *lanes_[lane].trace;
    const uint32_t granules = chip.word_bytes / 8;
    const auto same = [&](const std::string& ram, uint32_t word, uint32_t first, uint32_t bits, uint64_t value) {
      words_++;
      return simulator_.ram_bits(ram, word, first, bits, lane) == value;
    };
    for (uint32_t granule = 0; granule < trace.vmem.size(); granule++) {
      const uint32_t word = granule / granules, g = granule % granules;
      const std::string ram =
          fmt::format("u_units.u_vmem.u_storage.gen_bank[{}].u_ram.u_macro", word % chip.vmem_banks);
      if (!same(ram, word / chip.vmem_banks, 72 * g, 64, trace.vmem[granule]) ||
          !same(ram, word / chip.vmem_banks, 72 * g + 64, 8, trace.vmem_check[granule]))
        return differs(lane,
                       fmt::format("at the end VMEM byte {:#x} differs, or its check bits", uint64_t{granule} * 8));
    }
    for (uint32_t i = 0; i < trace.acc.size(); i++) {
      const uint32_t row = i / chip.n, column = i % chip.n;
      const std::string ram = fmt::format(
          "u_units.u_mxus.gen_unit[0].u_mxu.u_acc.u_memory.gen_structural.u_ram.gen_column[{}].gen_bank[{}].u_ram.u_"
          "macro",
          column, row / chip.acc_bank_rows);
      if (!same(ram, row % chip.acc_bank_rows, 0, 32, trace.acc[i]) ||
          !same(ram, row % chip.acc_bank_rows, 32, 7, trace.acc_check[i]))
        return differs(lane, fmt::format("at the end ACC row {} lane {} differs, or its check bits", row, column));
    }
  }

  gates::GateSimulator& simulator_;
  std::vector<Lane>& lanes_;
  std::vector<PinNet> inputs_, outputs_;
  uint64_t bits_ = 0, words_ = 0, rounds_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  unsigned count = 20, faults = kLanes - 20;
  uint64_t seed = 1;
  std::string path, json;
  CLI::App app("Compares gates with the RTL on random programs.");
  app.add_option("netlist", path, "what testbench/synthesis/gates.py --netlist writes")->required();
  app.add_option("--count", count, "programs")->check(CLI::Range(1u, kLanes))->capture_default_str();
  app.add_option("--seed", seed, "seed of the first program, above 0; the next has one more")->capture_default_str();
  app.add_option(
         "--faults", faults,
         fmt::format(
             "copies of the gates with one of them inverted, each with up to {} of the programs; a quarter must differ",
             kTurns))
      ->capture_default_str();
  app.add_option("--json", json, "write the result to this file");
  CLI11_PARSE(app, argc, argv);
  if (seed == 0 || count + faults > kLanes) {
    fmt::print(stderr, "{}\n", seed == 0 ? "a seed is above 0" : "programs and faults are more than 64 together");
    return 2;
  }
  fmt::print("seeds {} to {}, {} copies with an inverted gate\n", seed, seed + count - 1, faults);

  std::string error;
  std::ifstream in(path);
  const auto netlist = gates::read_netlist(in, error);
  auto simulator = netlist ? gates::GateSimulator::make(*netlist, error) : std::nullopt;
  if (!simulator) {
    fmt::print(stderr, "{}: {}\n", path, in.is_open() ? error : "cannot be opened");
    return 2;
  }
  const spec::Chip& chip = *spec::find_chip("nano");
  std::vector<PinTrace> traces;
  std::vector<Lane> lanes;
  traces.reserve(count);
  uint64_t commands = 0, cycles = 0;
  for (unsigned i = 0; i < count; i++) {
    auto trace = trace_of(chip, seed + i, commands, error);
    if (!trace) {
      fmt::print("seed {}: {}\n", seed + i, error);
      return 1;
    }
    cycles += static_cast<uint64_t>(std::ranges::count_if(trace->records, &PinRecord::edge));
    traces.push_back(std::move(*trace));
    lanes.push_back({.trace = &traces.back(), .seed = seed + i});
  }
  // by block, then by gate: the largest two blocks have most of them
  std::vector<std::vector<size_t>> of_block(netlist->blocks.size());
  for (size_t g = 0; g < netlist->gates.size(); g++) of_block[netlist->gates[g].block].push_back(g);
  std::erase_if(of_block, [](const auto& gates) { return gates.empty(); });
  std::mt19937_64 random(seed);
  for (unsigned f = 0; f < faults; f++) {
    const auto& gates = of_block[random() % of_block.size()];
    lanes.push_back(
        {.trace = &traces[f % count], .seed = seed + f % count, .inverted = gates[random() % gates.size()]});
  }

  const auto begin = std::chrono::steady_clock::now();
  unsigned differ = 0, seen = 0;
  uint64_t bits = 0, words = 0;
  for (unsigned turn = 0; turn < kTurns && !lanes.empty(); turn++) {
    if (turn != 0) simulator = gates::GateSimulator::make(*netlist, error);
    Comparison comparison(*simulator, lanes);
    if (!comparison.find_ports(*netlist, error)) {
      fmt::print(stderr, "{}: {}\n", path, error);
      return 2;
    }
    comparison.run();
    bits += comparison.bits(), words += comparison.words();
    std::vector<Lane> unseen;
    for (const Lane& lane : lanes) {
      const bool differs = !lane.difference.empty();
      (lane.inverted ? seen : differ) += differs ? 1 : 0;
      if (lane.inverted)
        fmt::print("gate {} of {} inverted, seed {}: {}\n", *lane.inverted,
                   netlist->blocks[netlist->gates[*lane.inverted].block], lane.seed,
                   differs ? lane.difference : "nothing differs");
      else if (differs)
        fmt::print("FAILED seed {}: {}\n", lane.seed, lane.difference);
      if (!lane.inverted || differs) continue;
      const uint64_t next = (lane.seed - seed + 1) % count;
      unseen.push_back({.trace = &traces[next], .seed = seed + next, .inverted = lane.inverted});
    }
    lanes = std::move(unseen);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  const gates::LongestPath& longest = simulator->longest_path();
  fmt::print("{} gates, {} flip-flops, {} memories, {} RAMs; the longest path has {} levels: {}\n",
             netlist->gates.size(), netlist->flip_flops.size(), netlist->memories.size(), netlist->rams.size(),
             longest.levels, fmt::join(longest.blocks, ", "));
  fmt::print(
      "{} programs, {} differ; {} commands retired, {} cycles, {} bits of outputs and {} words of memory compared, "
      "{:.1f} s\n",
      count, differ, commands, cycles, bits, words, seconds);
  fmt::print("{} of {} inverted gates seen\n", seen, faults);
  if (!json.empty()) {
    std::ofstream file(json);
    file << nlohmann::json{{"programs", count},
                           {"differ", differ},
                           {"commands", commands},
                           {"cycles", cycles},
                           {"bits", bits},
                           {"words", words},
                           {"gates", netlist->gates.size()},
                           {"flip_flops", netlist->flip_flops.size()},
                           {"levels", longest.levels},
                           {"inverted", faults},
                           {"seen", seen},
                           {"seconds", seconds}}
                .dump(2)
         << '\n';
    if (!file) {
      fmt::print(stderr, "cannot write '{}'\n", json);
      return 2;
    }
  }
  const bool compared = commands != 0 && bits != 0 && words != 0;
  // an inverted gate shows only if its programs use it
  return differ == 0 && compared && 4 * seen >= faults ? 0 : 1;
}
