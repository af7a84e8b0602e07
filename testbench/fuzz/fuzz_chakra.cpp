// Chakra execution traces: any bytes give a trace or an error; what is written is read again; a small trace runs on all
// chips of a slice to its end, or it is said why not.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "model/replay/replay.hpp"
#include "testbench/fuzz/fuzz_target.hpp"

using namespace weft;

namespace {

constexpr uint64_t kMaxNodes = 32, kMaxBytes = 1u << 16;  // of a trace that is replayed
constexpr uint32_t kRanks = 4;

bool is_small(const chakra::Trace& trace) {
  return trace.nodes.size() <= kMaxNodes &&
         std::ranges::all_of(trace.nodes, [](const chakra::Node& node) { return node.bytes.value_or(0) <= kMaxBytes; });
}

/// The same for all ranks, with neighbours counted from each.
replay::Job job_of(const chakra::Trace& trace) {
  replay::Job job{.name = "fuzz", .ranks = {}, .groups = {}};
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    chakra::Trace& own = job.ranks.emplace_back(trace);
    for (chakra::Node& node : own.nodes)
      for (auto* end : {&node.from, &node.to})
        if (*end && **end < kRanks) *end = (**end + rank) % kRanks;
  }
  return job;
}

void run(const replay::Job& job, ici::Grain grain) {
  static const auto slice = std::get<ici::Slice>(ici::parse_slice("nano-2x2"));
  replay::ReplayOptions options;
  options.grain = grain;
  options.costs = {.operations_per_second = 1e12, .bytes_per_second = 1e11};
  const auto result = replay::replay(slice, {{&job, {0, 1, 2, 3}}}, options);
  if (const auto* why = std::get_if<std::string>(&result)) return fuzz::require(!why->empty(), "a refusal has words");
  const auto& times = std::get<replay::ReplayResult>(result);
  for (const auto& rank : times.jobs.front().ranks) {
    fuzz::require(rank.nodes.size() == job.ranks.front().nodes.size(), "every node has times");
    fuzz::require(rank.hidden <= std::min(rank.working, rank.communicating), "what is hidden is both");
    for (const auto& node : rank.nodes)
      fuzz::require(node.begin <= node.end && node.end <= times.end, "a node ends after it begins, and none after all");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto read = chakra::read_trace({reinterpret_cast<const char*>(data), size}, "fuzz.0.et");
  if (const auto* error = std::get_if<std::string>(&read)) {
    fuzz::require(error->starts_with("fuzz.0.et"), "an error names the file");
    return 0;
  }
  const auto& trace = std::get<chakra::Trace>(read);
  const std::string written = chakra::write_trace(trace);
  const auto again = chakra::read_trace(written, "fuzz.0.et");
  fuzz::require(std::holds_alternative<chakra::Trace>(again), "what is written is read again");
  fuzz::require(chakra::write_trace(std::get<chakra::Trace>(again)) == written, "and is the same");
  if (!is_small(trace)) return 0;
  replay::Job job = job_of(trace);
  for (const auto& node : trace.nodes)
    if (!node.groups_text.empty()) (void)replay::add_groups(job, node.groups_text, "groups");
  run(job, ici::Grain::kPackets);
  run(job, ici::Grain::kFlows);
  return 0;
}
