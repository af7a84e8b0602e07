// weft collective: a collective with real data on a slice of its own, compared with the documented order of reduction.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "host/runtime/slice_session.hpp"
#include "host/tools/collective_reference.hpp"
#include "host/tools/command.hpp"
#include "host/tools/failure.hpp"
#include "host/tools/options.hpp"

namespace weft::tools {
namespace {

using compiler::Collective;
using compiler::CollectiveKind;

constexpr int kDiffers = 6;  // exit code

const std::map<std::string, CollectiveKind> kKinds{
    {"all-gather", CollectiveKind::kAllGather}, {"reduce-scatter", CollectiveKind::kReduceScatter},
    {"all-reduce", CollectiveKind::kAllReduce}, {"broadcast", CollectiveKind::kBroadcast},
    {"barrier", CollectiveKind::kBarrier},      {"all-to-all", CollectiveKind::kAllToAll},
    {"permute", CollectiveKind::kPermute}};
const std::map<std::string, unsigned> kAxes{{"x", 0}, {"y", 1}, {"z", 2}};
const std::map<std::string, weft_argument_dtype> kDtypes{{"f32", WEFT_ARGUMENT_DTYPE_F32},
                                                         {"bf16", WEFT_ARGUMENT_DTYPE_BF16}};

struct Arguments {
  std::string kind, slice, directory, core = "fast", axis = "x", dtype = "f32";
  uint64_t bytes = 65536, seed = 1;
  unsigned root = 0, shift = 1;
  bool json = false;
};

/// Numbers from -2 to 2 of which most sums are rounded, so that another order of additions shows.
std::vector<std::byte> draw(std::mt19937_64& random, uint64_t bytes, weft_argument_dtype dtype) {
  const size_t size = dtype == WEFT_ARGUMENT_DTYPE_F32 ? 4 : 2;
  std::vector<std::byte> data(bytes);
  for (size_t at = 0; at < bytes; at += size) {
    const auto bits = static_cast<uint32_t>((random() & 0x807fffff) | (uint64_t{112 + random() % 16} << 23));
    for (size_t i = 0; i < size; i++) data[at + i] = static_cast<std::byte>(bits >> (8 * (i + 4 - size)));
  }
  return data;
}

struct Checked {
  uint64_t elements = 0, differing = 0;
  std::string first;  ///< place of the first that differs
};

Checked compare(const ChipData& expected, const ChipData& got, weft_argument_dtype dtype) {
  const size_t size = dtype == WEFT_ARGUMENT_DTYPE_F32 ? 4 : 2;
  Checked out;
  for (size_t chip = 0; chip < expected.size(); chip++) {
    for (size_t at = 0; at < expected[chip].size(); at += size) {
      out.elements++;
      if (std::equal(&expected[chip][at], &expected[chip][at] + size, &got[chip][at])) continue;
      if (out.differing++ == 0) out.first = fmt::format("chip {}, element {}", chip, at / size);
    }
  }
  return out;
}

void print(const Arguments& a, const runtime::SliceSession& session, const Collective& c,
           const runtime::SliceResult& result, const Checked& checked, double wall_seconds) {
  const uint64_t cycles = *std::ranges::max_element(result.end_cycle) - *std::ranges::min_element(result.start_cycle);
  const double us = 1e6 * static_cast<double>(cycles) / static_cast<double>(session.chip().clock_hz);
  const std::string slice = a.slice.empty() ? a.directory : a.slice;
  const auto& size = session.shape().size;
  if (a.json) {
    const nlohmann::ordered_json json = {{"collective", a.kind},
                                         {"slice", slice},
                                         {"chips", session.shape().chips()},
                                         {"dimensions", size},
                                         {"core", a.core},
                                         {"axis", a.axis},
                                         {"ranks", size[c.axis]},
                                         {"ring", static_cast<bool>(session.shape().wraps[c.axis])},
                                         {"dtype", a.dtype},
                                         {"bytes", c.bytes},
                                         {"seed", a.seed},
                                         {"device_cycles", cycles},
                                         {"microseconds", us},
                                         {"link_bytes_per_second", session.link_bytes_per_second()},
                                         {"elements", checked.elements},
                                         {"differing", checked.differing},
                                         {"wall_seconds", wall_seconds}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{} of {} bytes of {} along {} ({} ranks, a {}) on {}\n", a.kind, c.bytes, a.dtype, a.axis, size[c.axis],
             session.shape().wraps[c.axis] ? "ring" : "line", slice);
  fmt::print("  device cycles       {} ({:.1f} us), barrier and loads included\n", cycles, us);
  fmt::print("  wall time           {:.3f} s\n", wall_seconds);
  fmt::print("  differing           {} of {} elements from the documented order of reduction{}\n", checked.differing,
             checked.elements, checked.first.empty() ? "" : ", first at " + checked.first);
}

int collective(const Arguments& a) {
  const auto kind = value_of_word("collective", a.kind, kKinds);
  if (!kind.ok()) return fail(kind.error());
  const auto axis = value_of_word("axis", a.axis, kAxes);
  if (!axis.ok()) return fail(axis.error());
  const auto dtype = value_of_word("dtype", a.dtype, kDtypes);
  if (!dtype.ok()) return fail(dtype.error());
  Collective c{.kind = kind.value(), .axis = axis.value(), .dtype = dtype.value(), .bytes = a.bytes, .root = a.root};
  if (c.kind == CollectiveKind::kBarrier) c.bytes = 0;
  if (c.kind == CollectiveKind::kPermute) c.shift = a.shift;
  auto session = runtime::SliceSession::open(a.slice.empty() ? "vfio-user:" + a.directory
                                                             : fmt::format("sim:{}?core={}", a.slice, a.core));
  if (!session.ok()) return fail(session.error());
  const compiler::SliceShape shape = session.value().shape();
  if (const auto first = compiler::compile_collective(session.value().chip(), shape, 0, c); !first.ok())
    return fail(first.error());
  std::mt19937_64 random(a.seed);
  ChipData inputs;
  for (uint32_t chip = 0; chip < shape.chips(); chip++)
    inputs.push_back(draw(random, collective_input_bytes(shape, chip, c), c.dtype));
  const auto began = std::chrono::steady_clock::now();
  const auto result = runtime::run_collective(session.value(), c, inputs);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (!result.ok()) return fail(result.error());
  const Checked checked = compare(collective_reference(shape, c, inputs), result.value().outputs, c.dtype);
  print(a, session.value(), c, result.value(), checked, wall);
  return checked.differing == 0 ? 0 : kDiffers;
}

}  // namespace

void register_collective(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("collective", "a collective with real data on a slice of chips, and its check");
  auto a = std::make_shared<Arguments>();
  command
      ->add_option("collective", a->kind,
                   "all-gather, reduce-scatter, all-reduce, broadcast, all-to-all, permute, barrier")
      ->required();
  auto* slice = command->add_option("--slice", a->slice, "slice to simulate: nano-2x2, nano-4x4, v5e-4x4, ...");
  auto* directory =
      command->add_option("--listen", a->directory, "directory in which a weft-sim --slice listens, instead")
          ->excludes(slice);
  command->add_option("--core", a->core, "core of each chip; remote commands need fast")
      ->capture_default_str()
      ->excludes(directory);
  command->add_option("--axis", a->axis, "axis whose chips are a group: x, y, z")->capture_default_str();
  command->add_option("--dtype", a->dtype, "f32 or bf16")->capture_default_str();
  command->add_option("--bytes", a->bytes, "of the whole array, a multiple of 16")->capture_default_str();
  command->add_option("--root", a->root, "broadcast: rank on the axis that holds the array")->capture_default_str();
  command->add_option("--shift", a->shift, "permute: rank r sends to rank r + shift, modulo the ranks")
      ->capture_default_str();
  command->add_option("--seed", a->seed, "of the numbers")->capture_default_str();
  command->add_flag("--json", a->json, "print JSON");
  command->callback([=, &action] {
    if (slice->count() + directory->count() != 1)
      throw CLI::ValidationError("collective", "one of --slice and --listen is needed");
    action = [a] { return collective(*a); };
  });
}

}  // namespace weft::tools
