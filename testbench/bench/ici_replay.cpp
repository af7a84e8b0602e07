/// Jobs recorded elsewhere, as Chakra execution traces (PREFIX.<rank>.et), replayed on a slice's links: how long they
/// take, how much of their communication is hidden behind what chips compute, and which links they load most. Several
/// jobs run side by side, and each alone, to tell what they cost each other.
///
///   ici_replay PREFIX .. [--slice NAME] [--chips 0-3,8 ..] [--groups FILE ..] [--flows] [--no-framing]
///              [--optical-us L] [--durations recorded|cost] [--tera-ops T] [--hbm-gb G] [--links N] [--write PREFIX] [--json]
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/ici/slice.hpp"
#include "model/replay/record.hpp"
#include "model/replay/replay.hpp"
#include "optical_option.hpp"

using namespace weft;
using namespace weft::replay;
using ici::microseconds;
using Json = nlohmann::ordered_json;

namespace {

constexpr int kFailed = 1, kWrongInput = 2;

struct Arguments {
  std::vector<std::string> prefixes, chips, groups;
  std::string slice = "v5e-4x4", durations = "recorded", write;
  double tera_ops = 0, hbm_gb = 0, optical_us = 0;
  unsigned links = 5;
  bool flows = false, no_framing = false, json = false;
};

int refuse(const std::string& message) {
  fmt::print(stderr, "ici_replay: {}\n", message);
  return kWrongInput;
}

/// "0-3,8": chips of a job, by rank. Empty: not that.
std::vector<uint32_t> parse_chips(const std::string& text, uint32_t most) {
  std::vector<uint32_t> chips;
  const char *at = text.data(), *const end = at + text.size();
  while (at < end) {
    uint32_t first = 0;
    const auto begin = std::from_chars(at, end, first);
    if (begin.ec != std::errc{}) return {};
    uint32_t last = first;
    at = begin.ptr;
    if (at < end && *at == '-') {
      const auto rest = std::from_chars(at + 1, end, last);
      if (rest.ec != std::errc{}) return {};
      at = rest.ptr;
    }
    if (last < first || last >= most) return {};
    for (auto chip = first; chip <= last; chip++) chips.push_back(chip);
    if (at < end && *at++ != ',') return {};
  }
  return chips;
}

/// The chips of each job: those that were named, else the first ones behind the job before.
std::string place(const Arguments& a, const ici::Slice& slice, const std::vector<Job>& jobs,
                  std::vector<PlacedJob>& placed) {
  uint32_t next = 0;
  for (size_t i = 0; i < jobs.size(); i++) {
    PlacedJob one{&jobs[i], {}};
    if (i < a.chips.size()) {
      one.chips = parse_chips(a.chips[i], slice.chips());
      if (one.chips.empty())
        return fmt::format("--chips '{}': not chips of {}, such as 0-{}", a.chips[i], slice.name(), slice.chips() - 1);
    } else {
      for (uint32_t rank = 0; rank < jobs[i].ranks.size(); rank++) one.chips.push_back(next + rank);
    }
    if (one.chips.size() != jobs[i].ranks.size())
      return fmt::format("{}: {} ranks on {} chips", jobs[i].name, jobs[i].ranks.size(), one.chips.size());
    next = one.chips.empty() ? next : one.chips.back() + 1;
    if (one.chips.size() > slice.chips() || *std::ranges::max_element(one.chips) >= slice.chips())
      return fmt::format("{}: {} ranks from chip {} on have no room on {} of {} chips", jobs[i].name,
                         jobs[i].ranks.size(), one.chips.front(), slice.name(), slice.chips());
    placed.push_back(std::move(one));
  }
  return {};
}

/// Of a job's ranks: mean, and that of the rank that ends last.
struct Summary {
  double working = 0, communicating = 0, hidden = 0, exposed = 0;
};

Summary mean_of(const JobTimes& job) {
  Summary sum;
  const auto ranks = static_cast<double>(job.ranks.size());
  for (const auto& rank : job.ranks) {
    sum.working += microseconds(rank.working) / ranks;
    sum.communicating += microseconds(rank.communicating) / ranks;
    sum.hidden += microseconds(rank.hidden) / ranks;
    sum.exposed += microseconds(rank.exposed()) / ranks;
  }
  return sum;
}

struct Outcome {
  ReplayResult together;
  std::vector<double> alone_us;  // of each job, if there are several
};

Json link_json(const ici::Topology& topology, const LinkLoad& link, double us, uint64_t rate) {
  return {{"chip", link.chip},
          {"port", ici::port_name(link.port)},
          {"neighbor", topology.neighbor(link.chip, link.port)},
          {"busy_us", microseconds(link.busy)},
          {"share", us == 0 ? 0 : microseconds(link.busy) / us},
          {"bytes", microseconds(link.busy) * 1e-6 * static_cast<double>(rate)}};
}

void print_json(const Arguments& a, const ici::Slice& slice, const std::vector<PlacedJob>& jobs, const Outcome& out) {
  const auto topology = slice.topology();
  const double us = microseconds(out.together.end);
  Json json{{"slice", slice.name()}, {"chips", slice.chips()}, {"grain", a.flows ? "flows" : "packets"}, {"us", us}};
  for (size_t i = 0; i < jobs.size(); i++) {
    const auto& times = out.together.jobs[i];
    Json job{{"name", jobs[i].job->name}, {"ranks", times.ranks.size()}, {"us", microseconds(times.end)}};
    if (!out.alone_us.empty()) {
      job["alone_us"] = out.alone_us[i];
      job["slowdown"] = out.alone_us[i] == 0 ? 1 : microseconds(times.end) / out.alone_us[i];
    }
    for (size_t rank = 0; rank < times.ranks.size(); rank++) {
      const auto& t = times.ranks[rank];
      job["by_rank"].push_back({{"chip", jobs[i].chips[rank]},
                                {"us", microseconds(t.end)},
                                {"working_us", microseconds(t.working)},
                                {"communicating_us", microseconds(t.communicating)},
                                {"hidden_us", microseconds(t.hidden)},
                                {"exposed_us", microseconds(t.exposed())},
                                {"host_us", microseconds(t.host)}});
    }
    json["jobs"].push_back(std::move(job));
  }
  json["links"] = Json::array();
  for (size_t i = 0; i < std::min<size_t>(a.links, out.together.links.size()); i++)
    json["links"].push_back(link_json(topology, out.together.links[i], us, slice.generation->link_bytes_per_second));
  json["links_used"] = out.together.links.size();
  fmt::print("{}\n", json.dump(2));
}

void print_text(const Arguments& a, const ici::Slice& slice, const std::vector<PlacedJob>& jobs, const Outcome& out) {
  const auto topology = slice.topology();
  const double us = microseconds(out.together.end);
  for (size_t i = 0; i < jobs.size(); i++) {
    const auto& times = out.together.jobs[i];
    const auto mean = mean_of(times);
    fmt::print("{} on {} of {} chips of {}: {:.2f} us", jobs[i].job->name, jobs[i].chips.size(), slice.chips(),
               slice.name(), microseconds(times.end));
    if (!out.alone_us.empty())
      fmt::print(", alone {:.2f}: {:.3f} times as long", out.alone_us[i],
                 out.alone_us[i] == 0 ? 1 : microseconds(times.end) / out.alone_us[i]);
    fmt::print(
        "\n  mean of the ranks: works {:.2f} us, communicates {:.2f}, of which {:.2f} hidden and {:.2f} exposed\n",
        mean.working, mean.communicating, mean.hidden, mean.exposed);
  }
  if (out.together.links.empty()) return;
  fmt::print("  the most loaded of {} links that carried bytes\n", out.together.links.size());
  for (size_t i = 0; i < std::min<size_t>(a.links, out.together.links.size()); i++) {
    const auto& link = out.together.links[i];
    fmt::print("    {:>4} {} to {:>4}  {:10.2f} us busy, {:5.1f} % of the time\n", link.chip, ici::port_name(link.port),
               topology.neighbor(link.chip, link.port), microseconds(link.busy), 100 * microseconds(link.busy) / us);
  }
}

/// Each job's traces with the times of this replay: PREFIX.<rank>.et, PREFIX.<job>.<rank>.et of several.
std::string write(const std::string& prefix, const std::vector<PlacedJob>& jobs, const ReplayResult& result) {
  for (size_t i = 0; i < jobs.size(); i++)
    for (size_t rank = 0; rank < jobs[i].chips.size(); rank++) {
      const auto path =
          jobs.size() == 1 ? fmt::format("{}.{}.et", prefix, rank) : fmt::format("{}.{}.{}.et", prefix, i, rank);
      std::ofstream file(path, std::ios::binary);
      file << chakra::write_trace(with_times(jobs[i].job->ranks[rank], result.jobs[i].ranks[rank]));
      if (!file.flush()) return fmt::format("{}: cannot be written", path);
    }
  return {};
}

int run(const Arguments& a, const CLI::Option& optical) {
  const auto parsed = ici::parse_slice(a.slice);
  if (const auto* error = std::get_if<std::string>(&parsed)) return refuse(*error);
  const auto& slice = std::get<ici::Slice>(parsed);
  if (a.chips.size() > a.prefixes.size()) return refuse("more --chips than jobs");
  if (a.groups.size() > a.prefixes.size()) return refuse("more --groups than jobs");
  std::vector<Job> jobs;
  for (size_t i = 0; i < a.prefixes.size(); i++) {
    auto job = read_job(a.prefixes[i], i < a.groups.size() ? a.groups[i] : "");
    if (const auto* error = std::get_if<std::string>(&job)) return refuse(*error);
    jobs.push_back(std::move(std::get<Job>(job)));
  }
  std::vector<PlacedJob> placed;
  if (const auto error = place(a, slice, jobs, placed); !error.empty()) return refuse(error);
  ReplayOptions options;
  options.grain = a.flows ? ici::Grain::kFlows : ici::Grain::kPackets;
  options.framing = !a.no_framing;
  const auto links = ici::optical_links_of(optical, a.optical_us, slice);
  if (const auto* error = std::get_if<std::string>(&links)) return refuse(*error);
  options.optical = std::get<ici::OpticalLinks>(links);
  options.durations = a.durations == "cost" ? Durations::kCost : Durations::kRecorded;
  options.costs = costs_of(*slice.generation);
  if (a.tera_ops > 0) options.costs.operations_per_second = 1e12 * a.tera_ops;
  if (a.hbm_gb > 0) options.costs.bytes_per_second = 1e9 * a.hbm_gb;
  auto together = replay::replay(slice, placed, options);
  if (const auto* error = std::get_if<std::string>(&together)) return refuse(*error);
  Outcome out{std::move(std::get<ReplayResult>(together)), {}};
  for (size_t i = 0; placed.size() > 1 && i < placed.size(); i++) {
    const auto alone = replay::replay(slice, {placed[i]}, options);
    if (const auto* error = std::get_if<std::string>(&alone)) return refuse(*error);
    out.alone_us.push_back(microseconds(std::get<ReplayResult>(alone).end));
  }
  if (a.json)
    print_json(a, slice, placed, out);
  else
    print_text(a, slice, placed, out);
  if (a.write.empty()) return 0;
  if (const auto error = write(a.write, placed, out.together); !error.empty()) {
    fmt::print(stderr, "ici_replay: {}\n", error);
    return kFailed;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Chakra execution traces replayed on the links of a slice."};
  Arguments a;
  app.add_option("job", a.prefixes, "of its files, PREFIX.<rank>.et; several run side by side")->required();
  app.add_option("--slice", a.slice)->capture_default_str();
  app.add_option("--chips", a.chips,
                 "of a job's ranks, such as 0-3,8; again for the next job (default: one behind the "
                 "other)")
      ->take_all();
  app.add_option("--groups", a.groups,
                 "JSON file {\"name\": [ranks], ..} of a job's process groups; again for the next")
      ->take_all();
  const auto* optical = ici::add_optical_option(app, a.optical_us);
  app.add_flag("--flows", a.flows, "the flow model in place of packets");
  app.add_flag("--no-framing", a.no_framing, "the time of the payload alone, to be compared with closed forms");
  app.add_option("--durations", a.durations, "of nodes that compute: recorded, or cost (num_ops, tensor_size)")
      ->check(CLI::IsMember({"recorded", "cost"}))
      ->capture_default_str();
  app.add_option("--tera-ops", a.tera_ops, "10^12 operations a second of a chip (default: the generation's)")
      ->check(CLI::Range(1e-6, 1e9));
  app.add_option("--hbm-gb", a.hbm_gb, "GB a second of its HBM (default: the generation's)")
      ->check(CLI::Range(1e-6, 1e9));
  app.add_option("--links", a.links, "most loaded links that are shown")->capture_default_str();
  app.add_option("--write", a.write, "writes the traces with the times of this replay, by this prefix");
  app.add_flag("--json", a.json);
  CLI11_PARSE(app, argc, argv);
  return run(a, *optical);
}
