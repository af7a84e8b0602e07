/// The worked examples of ICI transfers whose times are published, in one table: closed form, packet model without and
/// with framing, flow model, and programs with real data in weft-sim (WEFT_SIM).
///
///   ici_examples [--json] [--level ci|nightly|release] [--only WORD] [--flows] [--trace FILE]
#include <fmt/core.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "host/reference/collective_reference.hpp"
#include "host/runtime/slice_session.hpp"
#include "model/ici/collective.hpp"
#include "model/ici/exchange.hpp"
#include "model/ici/flow_network.hpp"
#include "model/ici/link_trace.hpp"
#include "model/ici/slice.hpp"

namespace {

using namespace weft::ici;
namespace compiler = weft::compiler;

using Messages = std::function<std::vector<Message>(const Topology&)>;  // all sent at 0
using Work = std::variant<CollectiveOptions, Messages>;

enum class Level : uint8_t {
  kCi,       ///< seconds
  kNightly,  ///< minutes
  kRelease,  ///< an hour
};

/// The same by programs on one group of chips, which is all that matters of a slice whose groups run side by side.
struct RealData {
  const char* slice;
  compiler::Collective work;
  unsigned steps;  // hops to the farthest; all-to-all: messages of a chip, one after the other
};

struct Example {
  const char* name;
  const char* what;
  const char* slice;
  double published_us;  // 0: none
  double exact_us;
  Work work;
  Level packets = Level::kCi;
  std::optional<RealData> real = {};  // none: more data than a test machine holds
};

/// On either model. 0 if something never arrived.
template <typename Net>
double time_us(const Work& work, Net& network) {
  Femtoseconds last = 0;
  if (const auto* messages = std::get_if<Messages>(&work)) {
    network.on_delivery([&](const Message&, auto...) { last = network.now(); });
    for (const auto& message : (*messages)(network.topology())) network.send(message, 0);
    network.run_until(kNever);
  } else {
    Collective collective(network.topology(), std::get<CollectiveOptions>(work),
                          [&](const Message& message) { network.send(message, network.now()); });
    network.on_delivery([&](const Message& message, auto...) { collective.delivered(message); });
    collective.start();
    network.run_until(kNever);
    if (collective.finished()) last = network.now();
  }
  return microseconds(last);
}

enum class Framing : bool { kNone, kAll };

double packets_us(const Example& example, const Slice& slice, Framing framing,
                  std::shared_ptr<weft::TraceFile> trace = nullptr) {
  Network network(slice.topology(), {.link_bytes_per_second = slice.generation->link_bytes_per_second,
                                     .framing = framing == Framing::kAll});
  if (trace == nullptr) return time_us(example.work, network);
  LinkTrace links(std::move(trace), network.topology());
  network.on_hop([&](const Hop& hop) { links.hop(hop); });
  return time_us(example.work, network);
}

double flows_us(const Example& example, const Slice& slice, Framing framing) {
  FlowNetwork network(slice.topology(), {.link_bytes_per_second = slice.generation->link_bytes_per_second,
                                         .framing = framing == Framing::kAll});
  return time_us(example.work, network);
}

CollectiveOptions collective(CollectiveKind kind, uint64_t bytes, unsigned axes) { return {kind, bytes, axes}; }

/// Corner to corner, in so many orders of the axes at once.
Messages corner_to_corner(uint64_t bytes, unsigned ways) {
  return [=](const Topology& topology) {
    std::vector<Message> messages;
    for (unsigned way = 0; way < ways; way++)
      messages.push_back({0, topology.chips() - 1, bytes / ways, 0, static_cast<uint8_t>(way)});
    return messages;
  };
}

Messages all_to_all(uint64_t bytes, unsigned axis) {
  return [=](const Topology& topology) {
    return exchange(topology, {.kind = ExchangeKind::kAllToAll, .bytes = bytes, .axis = axis});
  };
}

/// From the hosts, which each chip has its share of, to chip 0.
Messages gather_to_one(uint64_t bytes) {
  return [=](const Topology& topology) {
    std::vector<Message> messages;
    for (uint32_t chip = 1; chip < topology.chips(); chip++)
      for (uint8_t order = 0; order < 2; order++)
        messages.push_back({chip, 0, bytes / (topology.chips() - 1) / 2, 0, order});
    return messages;
  };
}

compiler::Collective real(compiler::CollectiveKind kind, uint64_t bytes, compiler::MeshAxes axes) {
  return {.kind = kind, .axes = axes, .bytes = bytes};
}
compiler::Collective real_in_group(compiler::CollectiveKind kind, uint64_t bytes, std::vector<uint32_t> group) {
  auto out = real(kind, bytes, compiler::one_axis(0));
  out.groups = {std::move(group)};
  return out;
}

std::vector<Example> examples() {
  using enum CollectiveKind;
  using enum Level;
  constexpr auto kRealGather = compiler::CollectiveKind::kAllGather;
  const auto y = compiler::one_axis(1);
  auto corner = real_in_group(compiler::CollectiveKind::kPermute, 16'777'216, {0, 15});
  corner.shift = 1;
  const auto shuffle = real(compiler::CollectiveKind::kAllToAll, 2'097'152, y);  // of each of 16 chips
  return {
      {"E1", "16,777,216 bytes corner to corner, two ways", "v5e-4x4", 194, 192.41, corner_to_corner(16'777'216, 2),
       kCi, RealData{"v5e-4x4", corner, 1}},
      {"E1b", "the same by one way", "v5e-4x4", 0, 378.83, corner_to_corner(16'777'216, 1)},
      {"E2", "all-gather bf16[2048,8192], line of 4", "v5e-8x4", 560, 562.24, collective(kAllGather, 33'554'432, 2),
       kCi, RealData{"v5e-1x4", real(kRealGather, 33'554'432, y), 3}},
      {"E3", "all-gather bf16[256,256], line of 4", "v5e-8x4", 3, 5.1845, collective(kAllGather, 131'072, 2), kCi,
       RealData{"v5e-1x4", real(kRealGather, 131'072, y), 3}},
      {"E4", "all-gather of 33,554,432 bytes, ring of 16", "v5e-4x16", 373, 357.53,
       collective(kAllGather, 33'554'432, 2), kCi, RealData{"v5e-1x16", real(kRealGather, 33'554'432, y), 8}},
      {"E5", "all-gather bf16[1024,4096] over one axis", "v4-4x4x4", 23, 19.476, collective(kAllGather, 2'097'152, 1),
       kCi, RealData{"v4-4x4x4", real_in_group(kRealGather, 2'097'152, {0, 1, 2, 3}), 2}},
      {"E6", "the same over two axes", "v4-4x4x4", 46, 47.69, collective(kAllGather, 8'388'608, 3), kCi,
       RealData{"v4-4x4x4", real(kRealGather, 8'388'608, {true, true, false}), 4}},
      {"E8", "all-gather of 256 bytes over one axis", "v4-4x4x4", 2, 2.0021, collective(kAllGather, 256, 1), kCi,
       RealData{"v4-4x4x4", real_in_group(kRealGather, 256, {0, 1, 2, 3}), 2}},
      {"E9", "15e9 bytes from the hosts to one chip", "v5e-4x4", 167'000, 166'666.67, gather_to_one(15'000'000'000),
       kNightly},
      {"E10", "all-to-all of 33,554,432 bytes, ring of 16", "v5e-4x16", 93.25, 94.21, all_to_all(33'554'432, 1), kCi,
       RealData{"v5e-1x16", shuffle, 15}},
      {"E11", "all-reduce of 1e9 bytes", "v5e-16x16", 0, 11'100, collective(kAllReduce, 1'000'000'000, 3), kNightly},
      {"E11", "all-reduce of 1e9 bytes", "v5p-4x4x4", 0, 3'657.7, collective(kAllReduce, 1'000'000'000, 7), kNightly},
      {"E11s", "all-reduce of 1e7 bytes", "v4-16x16x16", 0, 122.056, collective(kAllReduce, 10'000'000, 7), kNightly},
      {"E11", "all-reduce of 1e9 bytes", "v4-16x16x16", 0, 7'453.6, collective(kAllReduce, 1'000'000'000, 7), kRelease},
  };
}

struct Measured {
  double us = NAN;  // barrier taken off
  uint64_t differing = 0;
};

/// Programs with real data: from the first command to the last write, less what the group's barrier takes alone.
weft::Result<Measured> real_us(const RealData& example) {
  auto session = weft::runtime::SliceSession::open(std::string("sim:") + example.slice);
  if (!session.ok()) return session.error();
  const auto& shape = session.value().shape();
  const auto run = [&](const compiler::Collective& work, const weft::tools::ChipData& inputs,
                       uint64_t& cycles) -> weft::Result<weft::runtime::SliceResult> {
    auto result = weft::runtime::run_collective(session.value(), work, inputs);
    if (result.ok())
      cycles =
          *std::ranges::max_element(result.value().end_cycle) - *std::ranges::min_element(result.value().start_cycle);
    return result;
  };
  auto barrier = example.work;
  barrier.kind = compiler::CollectiveKind::kBarrier, barrier.bytes = 0, barrier.shift = 0;
  uint64_t barrier_cycles = 0, cycles = 0;
  if (const auto result = run(barrier, weft::tools::ChipData(shape.chips()), barrier_cycles); !result.ok())
    return result.error();
  std::mt19937_64 random(1);
  weft::tools::ChipData inputs;
  for (uint32_t chip = 0; chip < shape.chips(); chip++)
    inputs.push_back(weft::tools::draw_numbers(random, weft::tools::collective_input_bytes(shape, chip, example.work),
                                               example.work.dtype));
  const auto result = run(example.work, inputs, cycles);
  if (!result.ok()) return result.error();
  const auto checked = weft::tools::check_collective(
      shape, example.work, weft::tools::collective_reference(shape, example.work, inputs), result.value().outputs);
  if (const auto verdict = checked.verdict("the reference"); checked.differing() == 0 && !verdict.ok())
    return verdict.error();
  return Measured{
      1e6 * static_cast<double>(cycles - barrier_cycles) / static_cast<double>(session.value().chip().clock_hz),
      checked.differing()};
}

double user_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

/// One line of the table; NAN: not measured.
struct Line {
  double packets = NAN, framed = NAN, flow = NAN, flow_framed = NAN, flow_seconds = NAN, packet_seconds = NAN;
  Measured real;
};

void print_head() {
  fmt::print("{:<4} {:<12} {:<44} {:>9} {:>10} {:>10} {:>6} {:>8} {:>10} {:>6} {:>10} {:>8}\n", "", "slice",
             "microseconds", "published", "exact", "measured", "off %", "framing", "flows", "off %", "programs",
             "a step");
}

std::string shown(double value, int digits = 2) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, digits);
}

/// measured: packets with framing, off exact and framing; programs: with real data, a step: what they take more.
void print(const Example& e, const Line& line) {
  const double framing = line.flow_framed - line.flow;
  const double step = e.real ? (line.real.us - e.exact_us - framing) / e.real->steps : NAN;
  fmt::print("{:<4} {:<12} {:<44} {:>9} {:>10.2f} {:>10} {:>6} {:>8.2f} {:>10.2f} {:>6.3f} {:>10} {:>8}\n", e.name,
             e.slice, e.what, e.published_us == 0 ? "-" : fmt::format("{}", e.published_us), e.exact_us,
             shown(line.framed), shown(100 * (line.framed / (e.exact_us + framing) - 1)), framing, line.flow,
             100 * (line.flow / e.exact_us - 1), shown(line.real.us), shown(step));
  std::fflush(stdout);
}

nlohmann::ordered_json json_of(const Example& e, const Line& line) {
  return {{"name", e.name},
          {"what", e.what},
          {"slice", e.slice},
          {"published_us", e.published_us},
          {"exact_us", e.exact_us},
          {"packet_us", line.packets},
          {"framed_us", line.framed},
          {"framing_us", line.flow_framed - line.flow},
          {"packet_user_seconds", line.packet_seconds},
          {"flow_us", line.flow},
          {"flow_framed_us", line.flow_framed},
          {"flow_user_seconds", line.flow_seconds},
          {"program_us", line.real.us},
          {"program_slice", e.real ? e.real->slice : ""},
          {"program_steps", e.real ? e.real->steps : 0},
          {"program_differing", line.real.differing},
          {"packets_at_level", e.packets == Level::kCi        ? "ci"
                               : e.packets == Level::kNightly ? "nightly"
                                                              : "release"}};
}

int trace_first(const Example& example, const std::string& path) {
  std::string error;
  const auto file = weft::TraceFile::open(path, error);
  if (file == nullptr) {
    fmt::print(stderr, "ici_examples: {}\n", error);
    return 2;
  }
  const auto slice = std::get<Slice>(parse_slice(example.slice));
  fmt::print("{} on {}: {:.2f} us\n", example.name, example.slice, packets_us(example, slice, Framing::kAll, file));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Worked examples of ICI transfers: exact, packet model, flow model, programs with real data."};
  bool json = false, flows_only = false;
  std::string only, trace;
  Level level = Level::kCi;
  const std::map<std::string, Level> levels{
      {"ci", Level::kCi}, {"nightly", Level::kNightly}, {"release", Level::kRelease}};
  app.add_flag("--json", json, "print JSON");
  app.add_option("--level", level, "packets of up to ci: seconds, nightly: minutes, release: an hour")
      ->transform(CLI::CheckedTransformer(levels));
  app.add_flag("--flows", flows_only, "only the flow model");
  app.add_option("--only", only, "examples whose name or slice contains this word");
  app.add_option("--trace", trace, "write a Chrome trace of the first example's packets to this JSON file, and end");
  CLI11_PARSE(app, argc, argv);
  auto rows = nlohmann::ordered_json::array();
  if (!json && trace.empty()) print_head();
  uint64_t differing = 0;
  for (const auto& example : examples()) {
    if ((std::string(example.name) + " " + example.slice).find(only) == std::string::npos) continue;
    if (!trace.empty()) return trace_first(example, trace);
    const auto slice = std::get<Slice>(parse_slice(example.slice));
    Line line;
    double start = user_seconds();
    if (!flows_only && example.packets <= level) {
      line.packets = packets_us(example, slice, Framing::kNone);
      line.framed = packets_us(example, slice, Framing::kAll);
      line.packet_seconds = user_seconds() - start;
    }
    start = user_seconds();
    line.flow = flows_us(example, slice, Framing::kNone);
    line.flow_seconds = user_seconds() - start;
    line.flow_framed = flows_us(example, slice, Framing::kAll);
    if (!flows_only && example.real) {
      const auto real = real_us(*example.real);
      if (!real.ok()) {
        fmt::print(stderr, "ici_examples: {} on {}: {}\n", example.name, example.real->slice, real.error().message);
        return 2;
      }
      line.real = real.value();
      differing += line.real.differing;
    }
    if (json)
      rows.push_back(json_of(example, line));
    else
      print(example, line);
  }
  if (json) fmt::print("{}\n", rows.dump(2));
  if (differing != 0) fmt::print(stderr, "ici_examples: {} elements differ from the reference\n", differing);
  return differing == 0 ? 0 : 1;
}
