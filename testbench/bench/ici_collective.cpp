/// A collective of packets alone: who sends what to whom is the model's (model/ici/collective.hpp), no program runs.
/// Programs with real data are compared with it: the faster of gathering in step and not. Beside it the closed form.
///
///   ici_collective all-gather|reduce-scatter|all-reduce [--slice NAME] [--bytes B] [--axis xyz] [--flows] [--no-framing]
///                  [--optical-us L] [--write PREFIX] [--json]
///   ici_collective KIND --slices S [--host-gbps G] [--chips-per-host C] [--dcn-us L] [--pieces P] ...
#include <fmt/core.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "model/ici/closed_forms.hpp"
#include "model/ici/collective.hpp"
#include "model/ici/flow_network.hpp"
#include "model/ici/multislice.hpp"
#include "model/ici/slice.hpp"
#include "model/replay/record.hpp"
#include "optical_option.hpp"

using namespace weft::ici;
namespace spec = weft::spec;

namespace {

/// 0: it did not end.
template <typename Net, typename Options>
double run(const Topology& topology, const Options& links, const CollectiveOptions& options) {
  Net network(topology, links);
  Collective collective(network.topology(), options,
                        [&](const Message& message) { network.send(message, network.now()); });
  network.on_delivery([&](const Message& message, auto...) { collective.delivered(message); });
  collective.start();
  network.run_until(kNever);
  return collective.finished() ? microseconds(network.now()) : 0;
}

const std::map<CollectiveKind, weft::chakra::CollectiveType> kTypes{
    {CollectiveKind::kAllGather, weft::chakra::CollectiveType::kAllGather},
    {CollectiveKind::kReduceScatter, weft::chakra::CollectiveType::kReduceScatter},
    {CollectiveKind::kAllReduce, weft::chakra::CollectiveType::kAllReduce}};

/// PREFIX.<rank>.et: the collective that has been run, as a job for ici_replay and other tools. An error, or nothing.
std::string write(const std::string& prefix, const Slice& slice, const CollectiveOptions& options, double us) {
  const uint64_t shares = options.kind == CollectiveKind::kAllGather ? slice.chips() : 1;
  const auto job = weft::replay::collective_job(kTypes.at(options.kind), options.bytes / shares, slice.chips());
  const auto end = static_cast<Femtoseconds>(std::llround(us * static_cast<double>(kMicrosecond)));
  for (size_t rank = 0; rank < job.ranks.size(); rank++) {
    const auto path = fmt::format("{}.{}.et", prefix, rank);
    std::ofstream file(path, std::ios::binary);
    file << weft::chakra::write_trace(weft::replay::with_times(job.ranks[rank], {.end = end, .nodes = {{0, end}}}));
    if (!file.flush()) return fmt::format("{}: cannot be written", path);
  }
  return {};
}

double user_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec) + 1e-6 * static_cast<double>(used.ru_utime.tv_usec);
}

uint64_t peak_bytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<uint64_t>(used.ru_maxrss) * 1024;
}

/// What the command line says of the hosts, 0 where it says nothing.
struct Hosts {
  uint32_t slices = 1, pieces = 1, chips = 0;
  double gigabits = 0, latency_us = spec::kDcnLatencyUs;
};

/// Fills in what the slice's generation has, or tells what is missing.
std::string complete(Hosts& hosts, const Slice& slice) {
  for (const auto& known : spec::kDcnHosts) {
    if (known.generation != slice.generation->name) continue;
    if (hosts.chips == 0) hosts.chips = known.chips_per_host;
    if (hosts.gigabits == 0) hosts.gigabits = static_cast<double>(known.network_bytes_per_second) * 8e-9;
  }
  if (hosts.gigabits > 0) return {};
  return fmt::format("{}: the bandwidth of its hosts is not published, give --host-gbps", slice.generation->name);
}

int over_slices(const std::string& kind, const Slice& slice, const Hosts& hosts, const OpticalLinks& optical,
                const CollectiveOptions& options, Grain grain, bool framing, bool json) {
  const MultisliceOptions what{
      .slices = hosts.slices,
      .kind = options.kind,
      .bytes = options.bytes,
      .axes = options.axes,
      .pieces = hosts.pieces,
      .framing = framing,
      .grain = grain,
      .chips_per_host = hosts.chips,
      .host_bytes_per_second = static_cast<uint64_t>(std::llround(hosts.gigabits * 1e9 / 8)),
      .dcn_latency = static_cast<Femtoseconds>(std::llround(hosts.latency_us * static_cast<double>(kMicrosecond))),
      .optical = optical};
  const auto found = run_multislice(slice, what);
  const double exact = multislice_us(slice, what);
  if (json)
    fmt::print("{}\n", nlohmann::ordered_json{{"collective", kind},
                                              {"slice", slice.name()},
                                              {"slices", hosts.slices},
                                              {"chips", slice.chips() * hosts.slices},
                                              {"hosts", hosts_of(slice, hosts.chips) * hosts.slices},
                                              {"bytes", options.bytes},
                                              {"pieces", hosts.pieces},
                                              {"us", found.us},
                                              {"exact_us", exact},
                                              {"reduced_us", found.reduced_us},
                                              {"exchanged_us", found.exchanged_us},
                                              {"dcn_bytes", found.dcn_bytes},
                                              {"user_seconds", user_seconds()},
                                              {"peak_bytes", peak_bytes()}}
                           .dump(2));
  else
    fmt::print(
        "{} of {} bytes on {} slices {} of {} hosts each, {:g} Gbit/s and {:g} us between them: {:.2f} us, in "
        "one piece without framing and waits {:.2f}\n  first piece: within the slices until {:.2f}, between them "
        "until {:.2f}; {} bytes on the busiest host's wire\n",
        kind, options.bytes, hosts.slices, slice.name(), hosts_of(slice, hosts.chips), hosts.gigabits, hosts.latency_us,
        found.us, exact, found.reduced_us, found.exchanged_us, found.dcn_bytes);
  return found.finished ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A collective of packets alone, on one slice or on several."};
  std::string name = "v5e-16x16", axes = "xyz", kind = "all-reduce", prefix;
  uint64_t bytes = 1 << 20;
  bool flows = false, no_framing = false, json = false;
  double optical_us = 0;
  Hosts hosts;
  const std::map<std::string, CollectiveKind> kinds{{"all-gather", CollectiveKind::kAllGather},
                                                    {"reduce-scatter", CollectiveKind::kReduceScatter},
                                                    {"all-reduce", CollectiveKind::kAllReduce}};
  app.add_option("kind", kind)->check(CLI::IsMember(kinds))->capture_default_str();
  app.add_option("--slice", name)->capture_default_str();
  app.add_option("--bytes", bytes, "of the whole array")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--axis", axes, "x, y, z or several")->capture_default_str();
  app.add_flag("--flows", flows, "the flow model in place of packets");
  app.add_option("--slices", hosts.slices, "slices, joined by their hosts' network")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  app.add_option("--chips-per-host", hosts.chips, "default: the generation's (spec/dcn.toml)")
      ->check(CLI::Range(1u, 1024u));
  app.add_option("--host-gbps", hosts.gigabits, "Gbit/s of a host, each way; default: the generation's")
      ->check(CLI::Range(1e-3, 1e6));
  app.add_option("--dcn-us", hosts.latency_us, "microseconds from host to host")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  const auto* optical_option = add_optical_option(app, optical_us);
  app.add_option("--pieces", hosts.pieces, "that the array is cut into over several slices, to overlap")
      ->check(CLI::Range(1u, 4096u))
      ->capture_default_str();
  app.add_flag("--no-framing", no_framing, "the time of the payload alone, to be compared with the closed form");
  app.add_option("--write", prefix, "writes it as execution traces, PREFIX.<rank>.et, of all chips of one slice");
  app.add_flag("--json", json);
  CLI11_PARSE(app, argc, argv);
  const auto parsed = parse_slice(name);
  if (const auto* error = std::get_if<std::string>(&parsed)) {
    fmt::print(stderr, "ici_collective: {}\n", *error);
    return 2;
  }
  const Slice& slice = std::get<Slice>(parsed);
  const auto links = optical_links_of(*optical_option, optical_us, slice);
  if (const auto* error = std::get_if<std::string>(&links)) {
    fmt::print(stderr, "ici_collective: {}\n", *error);
    return 2;
  }
  const auto& optical = std::get<OpticalLinks>(links);
  for (const auto* option : {"--chips-per-host", "--host-gbps", "--dcn-us", "--pieces"})
    if (hosts.slices == 1 && app.count(option) != 0) {
      fmt::print(stderr, "ici_collective: {} is of several slices: give --slices\n", option);
      return 2;
    }
  CollectiveOptions options{kinds.at(kind), bytes, 0};
  for (const char axis : axes) options.axes |= axis >= 'x' && axis <= 'z' ? 1u << (axis - 'x') : 0;
  const auto topology = slice.topology();
  for (unsigned axis = 0; axis < kAxes && !prefix.empty(); axis++)
    if (hosts.slices > 1 || (topology.size(axis) > 1 && (options.axes >> axis & 1) == 0)) {
      fmt::print(stderr, "ici_collective: --write takes a collective of all chips of one slice\n");
      return 2;
    }
  if (hosts.slices > 1) {
    if (const auto missing = complete(hosts, slice); !missing.empty()) {
      fmt::print(stderr, "ici_collective: {}\n", missing);
      return 2;
    }
    return over_slices(kind, slice, hosts, optical, options, flows ? Grain::kFlows : Grain::kPackets, !no_framing,
                       json);
  }
  const uint64_t rate = slice.generation->link_bytes_per_second;
  double us = 0;
  bool in_step = false;
  for (const bool together : {true, false}) {
    options.in_step = together;
    const double found =
        flows ? run<FlowNetwork>(
                    slice.topology(),
                    FlowNetworkOptions{.link_bytes_per_second = rate, .optical = optical, .framing = !no_framing},
                    options)
              : run<Network>(slice.topology(),
                             NetworkOptions{.link_bytes_per_second = rate, .optical = optical, .framing = !no_framing},
                             options);
    if (found == 0) return 1;
    if (us == 0 || found < us) us = found, in_step = together;
  }
  if (!prefix.empty())
    if (const auto error = write(prefix, slice, options, us); !error.empty()) {
      fmt::print(stderr, "ici_collective: {}\n", error);
      return 1;
    }
  const LinkRate rates{.bytes_per_second = static_cast<double>(rate), .optical = optical};
  const double half = all_gather_us(slice.topology(), bytes, options.axes, rates);
  const double in_step_half = all_gather_us(slice.topology(), bytes, options.axes, rates, true);
  const double halves = options.kind == CollectiveKind::kAllReduce ? 2 : 1;
  const double exact = halves * half;
  if (json)
    fmt::print("{}\n", nlohmann::ordered_json{{"collective", kind},
                                              {"slice", name},
                                              {"chips", slice.chips()},
                                              {"bytes", bytes},
                                              {"us", us},
                                              {"exact_us", exact},
                                              {"exact_in_step_us", halves * in_step_half},
                                              {"in_step", in_step},
                                              {"user_seconds", user_seconds()},
                                              {"peak_bytes", peak_bytes()}}
                           .dump(2));
  else
    fmt::print("{} of {} bytes on {}: {:.2f} us, without framing and waits {:.2f}\n", kind, bytes, name, us, exact);
  return 0;
}
