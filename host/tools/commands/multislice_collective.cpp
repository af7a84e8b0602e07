// Words, report and check; the work is run_hierarchical's.
#include "host/tools/commands/multislice_collective.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "host/compiler/collectives/collective_mesh.hpp"
#include "host/reference/multislice_reference.hpp"
#include "host/runtime/multislice_session.hpp"
#include "host/tools/commands/failure.hpp"

namespace weft::tools {
namespace {

double us(uint64_t femtoseconds) { return static_cast<double>(femtoseconds) * 1e-9; }

/// What has been run, for both forms of the report.
struct Report {
  const MultisliceArguments& a;
  const HostOptions& hosts;
  const compiler::Collective& c;
  const runtime::HierarchicalTimes& times;
  uint64_t clock_hz;
  uint32_t chips_of_a_slice, ranks;
  double network_exact_us;
  uint64_t network_bytes;
  const Comparison& checked;
  double wall_seconds;

  [[nodiscard]] uint32_t hosts_of_a_slice() const {
    return (chips_of_a_slice + hosts.chips_per_host - 1) / hosts.chips_per_host;
  }
  /// A launch and what it waits for, from the end of the step before.
  [[nodiscard]] uint64_t cycles(uint64_t from, uint64_t until) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(until - from) * clock_hz / 1'000'000'000'000'000);
  }
};

void print_json(const Report& r) {
  const auto& t = r.times;
  const nlohmann::ordered_json json = {
      {"collective", r.a.kind},
      {"slice", r.a.slice},
      {"slices", r.hosts.slices},
      {"chips", r.chips_of_a_slice * r.hosts.slices},
      {"hosts", r.hosts_of_a_slice() * r.hosts.slices},
      {"chips_per_host", r.hosts.chips_per_host},
      {"host_gbps", r.hosts.gigabits},
      {"dcn_us", r.hosts.latency_us},
      {"core", r.a.core},
      {"axis", r.a.axis},
      {"ranks", r.ranks},
      {"dtype", r.a.dtype},
      {"bytes", r.c.bytes},
      {"seed", r.a.seed},
      {"microseconds", us(t.gathered)},
      {"reduce_cycles", r.cycles(0, t.reduced)},
      {"parts_us", us(t.parts - t.reduced)},
      {"add_cycles", r.cycles(t.parts, t.added)},
      {"sums_us", us(t.sums - t.added)},
      {"gather_cycles", r.cycles(t.sums, t.gathered)},
      {"network_us", us(t.network)},
      {"network_exact_us", r.network_exact_us},
      {"network_bytes", r.network_bytes},
      {"elements", r.checked.elements()},
      {"timing_only", r.a.timing_only},
      {"differing", r.a.timing_only ? nlohmann::ordered_json() : nlohmann::ordered_json(r.checked.differing())},
      {"wall_seconds", r.wall_seconds}};
  fmt::print("{}\n", json.dump(2));
}

void print_text(const Report& r) {
  const auto& t = r.times;
  const bool reduces = r.c.kind != compiler::CollectiveKind::kAllGather;
  const bool gathers = r.c.kind != compiler::CollectiveKind::kReduceScatter;
  fmt::print("{} of {} bytes of {} along {} ({} ranks) on {} slices {}\n", r.a.kind, r.c.bytes, r.a.dtype, r.a.axis,
             r.ranks, r.hosts.slices, r.a.slice);
  fmt::print("  hosts               {} of each slice, {:g} Gbit/s and {:g} us between them\n", r.hosts_of_a_slice(),
             r.hosts.gigabits, r.hosts.latency_us);
  fmt::print("  time                {:.1f} us\n", us(t.gathered));
  if (reduces) {
    fmt::print("    reduce-scatter    {:.1f} us, {} cycles: within the slices, and to their hosts\n", us(t.reduced),
               r.cycles(0, t.reduced));
    fmt::print("    parts             {:.1f} us more on the hosts' network\n", us(t.parts - t.reduced));
    fmt::print("    sum               {:.1f} us, {} cycles: by the chips, from {}their hosts\n", us(t.added - t.parts),
               r.cycles(t.parts, t.added), gathers ? "and to " : "");
  } else {
    fmt::print("    copies            {:.1f} us, {} cycles: of the chips' blocks to their hosts\n", us(t.added),
               r.cycles(0, t.added));
  }
  if (gathers) {
    fmt::print("    {:<18}{:.1f} us more on the hosts' network\n", reduces ? "sums" : "blocks", us(t.sums - t.added));
    fmt::print("    all-gather        {:.1f} us, {} cycles: from the hosts, and within the slices\n",
               us(t.gathered - t.sums), r.cycles(t.sums, t.gathered));
  }
  fmt::print(
      "  hosts' network      {:.1f} us from each crossing's first message to its last; {:.1f} by closed form, "
      "without framing; {} bytes of a host\n",
      us(t.network), r.network_exact_us, r.network_bytes);
  fmt::print("  wall time           {:.3f} s\n", r.wall_seconds);
  if (r.a.timing_only) {
    fmt::print("  data                none: the time alone\n");
    return;
  }
  fmt::print("  differing           {} of {} elements from the documented order of reduction{}\n",
             r.checked.differing(), r.checked.elements(),
             r.checked.first().empty() ? "" : ", first at " + r.checked.first());
}

}  // namespace

void add_host_options(CLI::App& app, HostOptions& options) {
  auto* slices =
      app.add_option(
             "--slices", options.slices,
             "all-reduce, reduce-scatter, all-gather: slices that are alike, joined by their hosts' network (DCN)")
          ->check(CLI::Range(1u, 28u))
          ->capture_default_str();
  app.add_option("--chips-per-host", options.chips_per_host, "default: the generation's (spec/dcn.toml)")
      ->check(CLI::Range(1u, 1024u))
      ->needs(slices);
  app.add_option("--host-gbps", options.gigabits, "Gbit/s of a host, each way; default: the generation's")
      ->check(CLI::Range(1e-3, 1e6))
      ->needs(slices);
  app.add_option("--dcn-us", options.latency_us, "microseconds from a host's memory to another's")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str()
      ->needs(slices);
}

void check_host_options(const CLI::App& app, const HostOptions& options) {
  for (const auto* option : {"--chips-per-host", "--host-gbps", "--dcn-us"})
    if (options.slices == 1 && app.count(option) != 0)
      throw CLI::ValidationError(option, "it is of several slices: give --slices 2 or more");
}

int collective_over_slices(const MultisliceArguments& a, const HostOptions& options, const compiler::Collective& c) {
  if (!runtime::goes_over_slices(c.kind))
    return fail(Error{WEFT_ERROR_INVALID_ARGUMENT,
                      fmt::format("{} --slices: over several slices there are all-reduce, reduce-scatter and "
                                  "all-gather only",
                                  a.kind)});
  const auto hosts = with_known_hosts(options, a.slice);
  if (!hosts.ok()) return fail(hosts.error());
  std::string name = fmt::format("sim:{}?core={}", a.slice, a.core);
  if (!a.optical_us.empty()) name += "&optical-us=" + a.optical_us;
  if (a.timing_only) ::setenv("WEFT_TIMING_ONLY", "1", 1);  // for the simulators, which this process starts
  auto session = runtime::MultisliceSession::open(std::vector<std::string>(options.slices, name));
  if (!session.ok()) return fail(session.error());
  const compiler::SliceShape& shape = session.value().shape();
  const uint32_t member = c.groups.empty() ? 0 : c.groups.front().front();
  const auto mesh = compiler::collective_mesh(shape, c, member);
  if (!mesh.ok()) return fail(mesh.error());
  if (const auto first = compiler::compile_collective(session.value().chip(), shape, member, c); !first.ok())
    return fail(first.error());
  std::mt19937_64 random(a.seed);
  std::vector<ChipData> inputs(options.slices);
  for (uint32_t number = 0; number < options.slices; number++)
    for (uint32_t chip = 0; chip < shape.chips() && !a.timing_only; chip++)
      inputs[number].push_back(
          draw_numbers(random, multislice_input_bytes(shape, chip, c, options.slices, number), c.dtype));
  auto reference = std::async(std::launch::async, [&] {
    return a.timing_only ? std::vector<ChipData>{} : multislice_reference(shape, c, inputs);
  });
  SimulatedHosts network(hosts.value(), shape.chips());
  const auto began = std::chrono::steady_clock::now();
  const auto payload = a.timing_only ? runtime::Payload::kNone : runtime::Payload::kArrays;
  const auto result = runtime::run_hierarchical(session.value(), network, c, inputs, payload);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (!result.ok()) return fail(result.error());
  const Comparison checked = check_multislice(c, reference.get(), result.value().outputs);
  const uint64_t share = compiler::collective_block(c.bytes, mesh.value().ranks(), 0).bytes;
  const double crossings = c.kind == compiler::CollectiveKind::kAllReduce ? 2 : 1;
  const Report report{.a = a,
                      .hosts = hosts.value(),
                      .c = c,
                      .times = result.value().times,
                      .clock_hz = session.value().chip().clock_hz,
                      .chips_of_a_slice = shape.chips(),
                      .ranks = mesh.value().ranks(),
                      .network_exact_us = crossings * network.crossing_us(share),
                      .network_bytes = network.most_bytes_sent(),
                      .checked = checked,
                      .wall_seconds = wall};
  a.json ? print_json(report) : print_text(report);
  if (a.timing_only) return 0;  // there are no data
  const auto verdict = checked.verdict("the documented order of reduction");
  return verdict.ok() ? 0 : fail(verdict.error());
}

}  // namespace weft::tools
