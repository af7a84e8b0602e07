// Collectives with real data on many slices, each slice opened once, against the documented order of reduction.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "host/compiler/collectives/collective_algorithm.hpp"
#include "host/reference/collective_reference.hpp"
#include "host/runtime/slice_session.hpp"
#include "model/ici/slice.hpp"

namespace {

using namespace weft;
using compiler::Collective;
using compiler::CollectiveAlgorithm;
using compiler::CollectiveKind;

constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                                     CollectiveKind::kAllReduce, CollectiveKind::kBroadcast,
                                     CollectiveKind::kAllToAll,  CollectiveKind::kPermute};
constexpr weft_argument_dtype kDtypes[] = {WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_DTYPE_BF16, WEFT_ARGUMENT_DTYPE_I32,
                                           WEFT_ARGUMENT_DTYPE_I8};
constexpr uint64_t kBytes[] = {16, 4112, 40'016};  // blocks of 16 bytes that few numbers of ranks divide

enum class Coverage : bool { kInTurn, kAll };

struct Tally {
  uint64_t slices = 0, runs = 0, elements = 0, differing = 0;
  std::string first;  // run that differs
};

bool adds(CollectiveKind kind) { return kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllReduce; }

/// All choices of axes that have several chips.
std::vector<compiler::MeshAxes> axes_of(const compiler::SliceShape& shape) {
  std::vector<compiler::MeshAxes> all;
  for (unsigned mask = 1; mask < 8; mask++) {
    bool good = true;
    for (unsigned axis = 0; axis < 3; axis++) good &= (mask >> axis & 1) == 0 || shape.size[axis] > 1;
    if (good) all.push_back({(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0});
  }
  return all;
}

/// What runs on a slice: every kind, axes and algorithm; with each all dtypes and lengths, or the next length, with all
/// dtypes where numbers are added.
std::vector<Collective> works_of(const compiler::SliceShape& shape, Coverage coverage, unsigned turn) {
  std::vector<Collective> all;
  for (const auto kind : kKinds)
    for (const auto& axes : axes_of(shape))
      for (const auto algorithm : {CollectiveAlgorithm::kNeighbor, CollectiveAlgorithm::kDirect}) {
        if (algorithm == CollectiveAlgorithm::kNeighbor && !compiler::has_algorithms(kind)) continue;
        const unsigned dtypes = adds(kind) ? 3 : 4;
        const unsigned ranks = compiler::collective_mesh(shape, {.axes = axes}, 0).value().ranks();
        for (unsigned choice = 0; choice < dtypes * std::size(kBytes); choice++) {
          const unsigned next = turn % (dtypes * std::size(kBytes));
          const bool due = choice / dtypes == next / dtypes && (adds(kind) || choice % dtypes == next % dtypes);
          if (coverage == Coverage::kInTurn && !due) continue;
          all.push_back({.kind = kind,
                         .axes = axes,
                         .dtype = kDtypes[choice % dtypes],
                         .bytes = kBytes[choice / dtypes],
                         .root = kind == CollectiveKind::kBroadcast ? turn % ranks : 0,
                         .shift = kind == CollectiveKind::kPermute ? turn % ranks : 0,
                         .algorithm = algorithm});
        }
        turn++;
      }
  return all;
}

std::string text_of(const std::string& slice, const Collective& c) {
  return fmt::format("{}: kind {}, axes {}{}{}, dtype {}, {} bytes, root {}, shift {}, {}", slice,
                     static_cast<int>(c.kind), c.axes[0] ? "x" : "", c.axes[1] ? "y" : "", c.axes[2] ? "z" : "",
                     static_cast<int>(c.dtype), c.bytes, c.root, c.shift, compiler::algorithm_name(c.algorithm));
}

Status sweep(const std::string& name, Coverage coverage, unsigned turn, std::mt19937_64& random, Tally& tally) {
  auto session = runtime::SliceSession::open("sim:" + name);
  if (!session.ok()) return session.error();
  const auto& shape = session.value().shape();
  tally.slices++;
  for (const Collective& c : works_of(shape, coverage, turn)) {
    tools::ChipData inputs;
    for (uint32_t chip = 0; chip < shape.chips(); chip++)
      inputs.push_back(tools::draw_numbers(random, tools::collective_input_bytes(shape, chip, c), c.dtype));
    const auto result = runtime::run_collective(session.value(), c, inputs);
    if (!result.ok()) return Error{result.error().code, text_of(name, c) + ": " + result.error().message};
    const auto checked =
        tools::check_collective(shape, c, tools::collective_reference(shape, c, inputs), result.value().outputs);
    if (const auto verdict = checked.verdict("the documented order"); checked.differing() == 0 && !verdict.ok())
      return Error{verdict.error().code, text_of(name, c) + ": " + verdict.error().message};
    tally.runs++;
    tally.elements += checked.elements();
    tally.differing += checked.differing();
    if (checked.differing() != 0 && tally.first.empty()) tally.first = text_of(name, c) + ", " + checked.first();
  }
  return Ok{};
}

std::vector<std::string> generation_names() {
  std::vector<std::string> names;
  for (const auto& generation : spec::kGenerations) names.emplace_back(generation.name);
  return names;
}

/// Slices of these generations (empty: of all), of so many chips at most.
std::vector<std::string> all_slices(unsigned most, const std::vector<std::string>& generations, bool powers_of_two) {
  const auto good = [&](unsigned length) { return !powers_of_two || std::has_single_bit(length); };
  std::vector<std::string> names;
  for (const auto& generation : spec::kGenerations) {
    if (!generations.empty() && std::ranges::find(generations, generation.name) == generations.end()) continue;
    for (unsigned x = 1; x <= most; x++)
      for (unsigned y = 1; x * y <= most; y++)
        for (unsigned z = 1; x * y * z <= most && z <= (generation.dimensions == 3 ? most : 1); z++) {
          if (x * y * z == 1 || !good(x) || !good(y) || !good(z)) continue;
          auto name = fmt::format("{}-{}x{}", generation.name, x, y);
          if (generation.dimensions == 3) name += fmt::format("x{}", z);
          if (std::holds_alternative<ici::Slice>(ici::parse_slice(name))) names.push_back(name);
        }
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Every collective over every choice of axes, in both algorithms, against the documented order."};
  std::vector<std::string> slices, generations;
  unsigned most = 0;
  uint64_t seed = 1;
  bool json = false, powers_of_two = false;
  app.add_option("--slice", slices, "with every dtype and length; again for more slices");
  auto* all = app.add_option("--all", most,
                             "all slices of so many chips at most, lengths in turn, and dtypes where nothing is added");
  app.add_option("--generation", generations, "of those the slices of this one; again for more")
      ->check(CLI::IsMember(generation_names()))
      ->needs(all);
  app.add_flag("--powers-of-two", powers_of_two, "of those the slices whose axes are powers of two")->needs(all);
  app.add_option("--seed", seed, "of the numbers")->capture_default_str();
  app.add_flag("--json", json, "print JSON");
  CLI11_PARSE(app, argc, argv);
  std::mt19937_64 random(seed);
  Tally tally;
  const auto run = [&](const std::string& name, Coverage coverage, unsigned turn) {
    const auto status = sweep(name, coverage, turn, random, tally);
    if (!status.ok()) fmt::print(stderr, "collective_sweep: {}: {} (--seed {})\n", name, status.error().message, seed);
    return status.ok();
  };
  unsigned turn = 0;
  for (const auto& name : slices)
    if (!run(name, Coverage::kAll, 0)) return 2;
  for (const auto& name : all_slices(most, generations, powers_of_two))
    if (!run(name, Coverage::kInTurn, turn++)) return 2;
  if (json)
    fmt::print("{}\n", nlohmann::ordered_json{{"seed", seed},
                                              {"slices", tally.slices},
                                              {"runs", tally.runs},
                                              {"elements", tally.elements},
                                              {"differing", tally.differing}}
                           .dump(2));
  else
    fmt::print("seed {}: {} of {} elements differ, {} collectives on {} slices\n", seed, tally.differing,
               tally.elements, tally.runs, tally.slices);
  if (tally.slices == 0) {
    fmt::print(stderr, "collective_sweep: no slice: give --slice or --all, which names the most chips, 2 at least\n");
    return 2;
  }
  if (tally.differing != 0) fmt::print(stderr, "collective_sweep: first on {}\n", tally.first);
  return tally.differing == 0 ? 0 : 1;
}
