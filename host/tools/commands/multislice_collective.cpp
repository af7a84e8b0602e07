// Words, report and check; the work is run_hierarchical_all_reduce's.
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
  const nlohmann::ordered_json json = {{"collective", "all-reduce"},
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
                                       {"differing", r.checked.differing()},
                                       {"wall_seconds", r.wall_seconds}};
  fmt::print("{}\n", json.dump(2));
}

void print_text(const Report& r) {
  const auto& t = r.times;
  fmt::print("all-reduce of {} bytes of {} along {} ({} ranks) on {} slices {}\n", r.c.bytes, r.a.dtype, r.a.axis,
             r.ranks, r.hosts.slices, r.a.slice);
  fmt::print("  hosts               {} of each slice, {:g} Gbit/s and {:g} us between them\n", r.hosts_of_a_slice(),
             r.hosts.gigabits, r.hosts.latency_us);
  fmt::print("  time                {:.1f} us\n", us(t.gathered));
  fmt::print("    reduce-scatter    {:.1f} us, {} cycles: within the slices, and to their hosts\n", us(t.reduced),
             r.cycles(0, t.reduced));
  fmt::print("    parts             {:.1f} us more on the hosts' network\n", us(t.parts - t.reduced));
  fmt::print("    sum               {:.1f} us, {} cycles: by the chips, from and to their hosts\n",
             us(t.added - t.parts), r.cycles(t.parts, t.added));
  fmt::print("    sums              {:.1f} us more on the hosts' network\n", us(t.sums - t.added));
  fmt::print("    all-gather        {:.1f} us, {} cycles: from the hosts, and within the slices\n",
             us(t.gathered - t.sums), r.cycles(t.sums, t.gathered));
  fmt::print(
      "  hosts' network      {:.1f} us from each crossing's first message to its last; {:.1f} by closed form, "
      "without framing; {} bytes of a host\n",
      us(t.network), r.network_exact_us, r.network_bytes);
  fmt::print("  wall time           {:.3f} s\n", r.wall_seconds);
  fmt::print("  differing           {} of {} elements from the documented order of reduction{}\n",
             r.checked.differing(), r.checked.elements(),
             r.checked.first().empty() ? "" : ", first at " + r.checked.first());
}

}  // namespace

void add_host_options(CLI::App& app, HostOptions& options) {
  auto* slices = app.add_option("--slices", options.slices,
                                "all-reduce: slices that are alike, joined by their hosts' network (DCN)")
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

int collective_over_slices(const MultisliceArguments& a, const HostOptions& options, const compiler::Collective& c) {
  if (c.kind != compiler::CollectiveKind::kAllReduce)
    return fail(Error{WEFT_ERROR_INVALID_ARGUMENT, "--slices: over several slices there is only all-reduce"});
  const auto hosts = with_known_hosts(options, a.slice);
  if (!hosts.ok()) return fail(hosts.error());
  std::string name = fmt::format("sim:{}?core={}", a.slice, a.core);
  if (!a.optical_us.empty()) name += "&optical-us=" + a.optical_us;
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
  for (auto& slice : inputs)
    for (uint32_t chip = 0; chip < shape.chips(); chip++)
      slice.push_back(draw_numbers(random, collective_input_bytes(shape, chip, c), c.dtype));
  auto reference = std::async(std::launch::async, [&] { return multislice_reference(shape, c, inputs); });
  SimulatedHosts network(hosts.value(), shape.chips());
  const auto began = std::chrono::steady_clock::now();
  const auto result = runtime::run_hierarchical_all_reduce(session.value(), network, c, inputs);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (!result.ok()) return fail(result.error());
  const Comparison checked = check_multislice(shape, c, reference.get(), result.value().outputs);
  const uint64_t share = compiler::collective_block(c.bytes, mesh.value().ranks(), 0).bytes;
  const Report report{.a = a,
                      .hosts = hosts.value(),
                      .c = c,
                      .times = result.value().times,
                      .clock_hz = session.value().chip().clock_hz,
                      .chips_of_a_slice = shape.chips(),
                      .ranks = mesh.value().ranks(),
                      .network_exact_us = network.all_reduce_us(share),
                      .network_bytes = network.most_bytes_sent(),
                      .checked = checked,
                      .wall_seconds = wall};
  a.json ? print_json(report) : print_text(report);
  const auto verdict = checked.verdict("the documented order of reduction");
  return verdict.ok() ? 0 : fail(verdict.error());
}

}  // namespace weft::tools
