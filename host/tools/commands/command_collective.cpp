// weft collective: a collective with real data on a slice of its own, compared with the documented order of reduction.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <span>

#include "host/compiler/collectives/collective_algorithm.hpp"
#include "host/compiler/collectives/collective_mesh.hpp"
#include "host/reference/collective_reference.hpp"
#include "host/runtime/slice_session.hpp"
#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/multislice_collective.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/commands/slice_options.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/trace/trace_names.hpp"

namespace weft::tools {
namespace {

using compiler::Collective;
using compiler::CollectiveAlgorithm;
using compiler::CollectiveKind;

const std::map<std::string, CollectiveKind> kKinds{
    {"all-gather", CollectiveKind::kAllGather}, {"reduce-scatter", CollectiveKind::kReduceScatter},
    {"all-reduce", CollectiveKind::kAllReduce}, {"broadcast", CollectiveKind::kBroadcast},
    {"barrier", CollectiveKind::kBarrier},      {"all-to-all", CollectiveKind::kAllToAll},
    {"permute", CollectiveKind::kPermute}};
const std::map<std::string, weft_argument_dtype> kDtypes{{"f32", WEFT_ARGUMENT_DTYPE_F32},
                                                         {"bf16", WEFT_ARGUMENT_DTYPE_BF16},
                                                         {"i8", WEFT_ARGUMENT_DTYPE_I8},
                                                         {"i32", WEFT_ARGUMENT_DTYPE_I32}};

const std::map<std::string, CollectiveAlgorithm> kAlgorithms{{"auto", CollectiveAlgorithm::kBySize},
                                                             {"neighbor", CollectiveAlgorithm::kNeighbor},
                                                             {"direct", CollectiveAlgorithm::kDirect}};

struct Arguments {
  std::string kind, slice, directory, core = "fast", axis = "x", dtype = "f32", algorithm = "auto", trace, optical_us;
  uint64_t bytes = 65536, seed = 1;
  std::vector<std::string> groups;
  unsigned root = 0, shift = 1;
  bool timing_only = false;
  bool json = false;
  HostOptions hosts;
};

/// "0,1,4,5": chips of a group, by rank.
Result<std::vector<uint32_t>> parse_group(const std::string& text) {
  std::vector<uint32_t> chips{0};
  bool digit = false;
  for (const char c : text + ",") {
    if (c == ',' && digit) {
      chips.push_back(0);
      digit = false;
    } else if (c >= '0' && c <= '9' && chips.back() < 1'000'000) {
      chips.back() = 10 * chips.back() + static_cast<uint32_t>(c - '0');
      digit = true;
    } else {
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   fmt::format("--group '{}' is not chips with commas between, such as 0,1,4,5", text)};
    }
  }
  chips.pop_back();
  return chips;
}

/// The trace with the compiler's names of each chip's commands.
Status name_trace_of(const std::string& path, const spec::Chip& chip, const compiler::SliceShape& shape,
                     const Collective& c) {
  std::vector<TagNames> tags;
  for (uint32_t number = 0; number < shape.chips(); number++) {
    auto kernel = compiler::compile_collective(chip, shape, number, c);
    tags.push_back(kernel.ok() ? std::move(kernel.value().tags) : TagNames{});  // a chip in no group has none
  }
  return name_trace(path, tags);
}

/// "x ", "xy ": where the groups are.
std::string where(const Arguments& a) {
  if (a.groups.empty()) return "along " + a.axis;
  return fmt::format("in {} group{}", a.groups.size(), a.groups.size() == 1 ? "" : "s");
}

void print(const Arguments& a, const runtime::SliceSession& session, const Collective& c,
           const runtime::SliceResult& result, const Comparison& checked, double wall_seconds) {
  const uint64_t cycles = *std::ranges::max_element(result.end_cycle) - *std::ranges::min_element(result.start_cycle);
  const double us = 1e6 * static_cast<double>(cycles) / static_cast<double>(session.chip().clock_hz);
  const std::string slice = a.slice.empty() ? a.directory : a.slice;
  const auto& size = session.shape().size;
  const uint32_t member = c.groups.empty() ? 0 : c.groups.front().front();
  const auto mesh = compiler::collective_mesh(session.shape(), c, member).value();
  const auto algorithm = compiler::collective_algorithm(session.chip(), session.shape(), mesh, c).value();
  const auto times = compiler::collective_times(session.chip(), session.shape(), mesh, c);
  const bool ring = std::ranges::all_of(mesh.axes, [](const auto& axis) { return axis.ring; });
  if (a.json) {
    const nlohmann::ordered_json json = {
        {"collective", a.kind},
        {"slice", slice},
        {"chips", session.shape().chips()},
        {"dimensions", size},
        {"core", a.core},
        {"axis", a.axis},
        {"groups", c.groups},
        {"ranks", mesh.ranks()},
        {"ring", ring},
        {"dtype", a.dtype},
        {"bytes", c.bytes},
        {"algorithm", compiler::algorithm_name(algorithm)},
        {"neighbor_us", times.neighbor_us},
        {"direct_us", times.direct_us},
        {"seed", a.seed},
        {"timing_only", a.timing_only},
        {"device_cycles", cycles},
        {"microseconds", us},
        {"link_bytes_per_second", session.link_bytes_per_second()},
        {"elements", checked.elements()},
        {"differing", a.timing_only ? nlohmann::ordered_json() : nlohmann::ordered_json(checked.differing())},
        {"wall_seconds", wall_seconds}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  const char* form = mesh.axes.size() > 1 ? (ring ? "rings" : "lines") : ring ? "a ring" : "a line";
  fmt::print("{} of {} bytes of {} {} ({} ranks, {}) on {}\n", a.kind, c.bytes, a.dtype, where(a), mesh.ranks(), form,
             slice);
  if (compiler::has_algorithms(c.kind) && mesh.ranks() > 1)
    fmt::print("  algorithm           {}{}; by closed form neighbor {:.1f} us, direct {:.1f} us\n",
               compiler::algorithm_name(algorithm), a.algorithm == "auto" ? "" : ", as asked", times.neighbor_us,
               times.direct_us);
  fmt::print("  device cycles       {} ({:.1f} us), barrier and loads included\n", cycles, us);
  fmt::print("  wall time           {:.3f} s\n", wall_seconds);
  if (a.timing_only)
    fmt::print("  data                none: the time alone\n");
  else if (c.kind != CollectiveKind::kBarrier)
    fmt::print("  differing           {} of {} elements from the documented order of reduction{}\n",
               checked.differing(), checked.elements(), checked.first().empty() ? "" : ", first at " + checked.first());
}

/// Arrays that one thread draws, chip by chip, while another one sends them to the chips.
class DrawnArrays {
 public:
  explicit DrawnArrays(uint32_t chips) : arrays_(chips) {}
  /// One after the other; then the arrays of all chips. In one thread.
  const ChipData& draw(const compiler::SliceShape& shape, const Collective& c, uint64_t seed) {
    std::mt19937_64 random(seed);
    try {
      for (uint32_t chip = 0; chip < shape.chips(); chip++) {
        arrays_[chip] = draw_numbers(random, collective_input_bytes(shape, chip, c), c.dtype);
        tell(chip + 1);
      }
    } catch (...) {  // so that no one waits for what is never drawn
      tell(shape.chips());
      throw;
    }
    return arrays_;
  }
  /// Waits until it is drawn.
  [[nodiscard]] std::span<const std::byte> of(uint32_t chip) const {
    for (uint32_t drawn = drawn_; drawn <= chip; drawn = drawn_) drawn_.wait(drawn);
    return arrays_[chip];
  }

 private:
  void tell(uint32_t drawn) {
    drawn_ = drawn;
    drawn_.notify_all();
  }

  ChipData arrays_;
  std::atomic<uint32_t> drawn_ = 0;
};

int collective(const Arguments& a) {
  const auto kind = value_of_word("collective", a.kind, kKinds);
  if (!kind.ok()) return fail(kind.error());
  const auto axes = parse_axes("--axis", a.axis);
  if (!axes.ok()) return fail(axes.error());
  const auto dtype = value_of_word("dtype", a.dtype, kDtypes);
  if (!dtype.ok()) return fail(dtype.error());
  const auto algorithm = value_of_word("algorithm", a.algorithm, kAlgorithms);
  if (!algorithm.ok()) return fail(algorithm.error());
  if (a.timing_only && a.core != "fast")
    return fail(Error{WEFT_ERROR_INVALID_ARGUMENT,
                      fmt::format("--timing-only --core {}: RTL computes what it carries; fast cores only", a.core)});
  Collective c{.kind = kind.value(), .axes = axes.value(), .dtype = dtype.value(), .bytes = a.bytes, .root = a.root};
  for (const auto& text : a.groups) {
    auto group = parse_group(text);
    if (!group.ok()) return fail(group.error());
    c.groups.push_back(std::move(group.value()));
  }
  c.algorithm = algorithm.value();
  if (c.kind == CollectiveKind::kBarrier) c.bytes = 0;
  if (c.kind == CollectiveKind::kPermute) c.shift = a.shift;
  if (a.hosts.slices > 1 && !a.trace.empty())
    return fail(Error{WEFT_ERROR_INVALID_ARGUMENT,
                      "--trace --slices: each slice has a clock of its own, which stands still while data are between "
                      "the hosts, and a trace has one: trace one slice"});
  if (a.hosts.slices > 1 && !a.directory.empty())
    return fail(Error{WEFT_ERROR_INVALID_ARGUMENT,
                      "--listen --slices: a folder is of one slice, and several are simulators that this command "
                      "starts: give --slice"});
  if (a.hosts.slices > 1)
    return collective_over_slices({.kind = a.kind,
                                   .slice = a.slice,
                                   .core = a.core,
                                   .optical_us = a.optical_us,
                                   .axis = a.groups.empty() ? a.axis : "groups",
                                   .dtype = a.dtype,
                                   .seed = a.seed,
                                   .timing_only = a.timing_only,
                                   .json = a.json},
                                  a.hosts, c);
  std::string name = a.slice.empty() ? "vfio-user:" + a.directory : fmt::format("sim:{}?core={}", a.slice, a.core);
  if (!a.optical_us.empty()) name += "&optical-us=" + a.optical_us;
  if (!a.trace.empty()) {
    if (auto status = check_regular(a.trace); !status.ok()) return fail(status.error());
    name += "&trace=" + a.trace;
  }
  if (a.timing_only) ::setenv("WEFT_TIMING_ONLY", "1", 1);  // for the simulator, which this process starts
  auto session = runtime::SliceSession::open(name);
  if (!session.ok()) return fail(session.error());
  const compiler::SliceShape shape = session.value().shape();
  const uint32_t member = c.groups.empty() ? 0 : c.groups.front().front();
  if (const auto first = compiler::compile_collective(session.value().chip(), shape, member, c); !first.ok())
    return fail(first.error());
  // Numbers are drawn while kernels are compiled and loaded. The simulator works in its own process; what it is to be
  // compared with is worked out meanwhile.
  DrawnArrays inputs(shape.chips());
  auto reference = std::async(std::launch::async, [&] {
    return a.timing_only ? ChipData{} : collective_reference(shape, c, inputs.draw(shape, c, a.seed));
  });
  const auto began = std::chrono::steady_clock::now();
  const auto kernels = runtime::compile_collectives(session.value(), c);
  if (!kernels.ok()) return fail(kernels.error());
  const auto payload = a.timing_only ? runtime::Payload::kNone : runtime::Payload::kArrays;
  const auto result = runtime::run_collective(
      session.value(), kernels.value(), [&](uint32_t chip) { return runtime::ChipInputs{inputs.of(chip)}; }, payload);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (!result.ok()) return fail(result.error());
  const ChipData expected = reference.get();
  const Comparison checked =
      a.timing_only ? Comparison{} : check_collective(shape, c, expected, result.value().outputs);
  print(a, session.value(), c, result.value(), checked, wall);
  if (!a.trace.empty()) {
    const spec::Chip& chip = session.value().chip();
    { const auto ended = std::move(session.value()); }  // its simulator completes the trace
    if (auto status = name_trace_of(a.trace, chip, shape, c); !status.ok()) return fail(status.error());
  }
  if (c.kind == CollectiveKind::kBarrier || a.timing_only) return 0;  // there are no data
  const auto verdict = checked.verdict("the documented order of reduction");
  return verdict.ok() ? 0 : fail(verdict.error());
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
  command->add_option("--core", a->core, "core of each chip: fast, rtl or lockstep")
      ->capture_default_str()
      ->excludes(directory);
  command
      ->add_option("--optical-us", a->optical_us,
                   "slices of v4 or v5p made of cubes: microseconds of a hop between cubes, 1 to 1000; default: 1, as "
                   "of other hops")
      ->excludes(directory);
  auto* axis = command->add_option("--axis", a->axis, "axes whose chips are a group: x, y, z, xy, ...");
  axis->capture_default_str();
  command
      ->add_option("--group", a->groups, "chips of a group by rank, in place of --axis: 0,1,4,5; again for more groups")
      ->excludes(axis);
  command->add_option("--dtype", a->dtype, "f32, bf16, i32, or i8, which is not added")->capture_default_str();
  command->add_option("--bytes", a->bytes, "of the whole array, a multiple of 16")->capture_default_str();
  command
      ->add_option("--algorithm", a->algorithm,
                   "neighbor: each link carries a block once; direct: straight to each rank; auto: the faster one")
      ->capture_default_str();
  command->add_option("--root", a->root, "broadcast: rank that holds the array")->capture_default_str();
  command->add_option("--shift", a->shift, "permute: rank r sends to rank r + shift, modulo the ranks")
      ->capture_default_str();
  command->add_option("--seed", a->seed, "of the numbers")->capture_default_str();
  command->add_option("--trace", a->trace, "write a Chrome trace (opens in Perfetto) to this JSON file")
      ->excludes(directory);
  command
      ->add_flag("--timing-only", a->timing_only,
                 "the same cycles without any data, which are neither moved nor checked: for slices that no memory "
                 "has room for; fast cores only")
      ->excludes(directory);
  command->add_flag("--json", a->json, "print JSON");
  add_host_options(*command, a->hosts);
  command->callback([=, &action] {
    if (slice->count() + directory->count() != 1)
      throw CLI::ValidationError("collective", "one of --slice and --listen is needed");
    check_host_options(*command, a->hosts);
    action = [a] { return collective(*a); };
  });
}

}  // namespace weft::tools
