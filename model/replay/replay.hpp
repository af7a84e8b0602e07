/// Jobs replayed on the links of a slice: each node of their traces begins when what it depends on has ended.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/ici/dcn.hpp"
#include "model/ici/optical_links.hpp"
#include "model/ici/slice.hpp"
#include "model/replay/job.hpp"

namespace weft::replay {

using ici::Femtoseconds;

/// What a chip computes with. operations_per_second 0: operations take no time; so with bytes.
struct ChipCosts {
  double operations_per_second = 0;
  double bytes_per_second = 0;  ///< of HBM
};

/// Of a generation's chip, all of its cores (spec/chips); zeros where it has no preset.
ChipCosts costs_of(const spec::Generation& generation);

/// What computing takes: kRecorded, the trace's duration, and its cost where it has none; kCost, the cost where
/// num_ops or tensor_size say one. The cost is the longer one of operations and memory traffic. A host's nodes
/// (is_cpu_op) take their duration.
enum class Durations : uint8_t { kRecorded, kCost };

/// A job, and the chip of each of its ranks: different ones, also from other jobs'.
struct PlacedJob {
  const Job* job = nullptr;
  std::vector<uint32_t> chips;
};

struct ReplayOptions {
  ici::Grain grain = ici::Grain::kPackets;
  bool framing = true;  ///< false: the time of the payload alone, to be compared with closed forms
  Durations durations = Durations::kRecorded;
  ChipCosts costs;
  ici::OpticalLinks optical = {};  ///< of the slice
};

/// When a node began and ended.
struct NodeTimes {
  Femtoseconds begin = 0, end = 0;
};

/// What a rank has done until its last node ended. A chip works while one of its nodes computes or moves memory, it
/// communicates while one of its communications has begun and not ended.
struct RankTimes {
  Femtoseconds end = 0;
  Femtoseconds working = 0;        ///< communicating or not
  Femtoseconds communicating = 0;  ///< working or not
  Femtoseconds hidden = 0;         ///< both
  Femtoseconds host = 0;           ///< its host works
  std::vector<NodeTimes> nodes;    ///< by place in its trace

  [[nodiscard]] Femtoseconds exposed() const { return communicating - hidden; }
};

struct JobTimes {
  Femtoseconds end = 0;
  std::vector<RankTimes> ranks;
};

/// A direction of a link that has carried bytes.
struct LinkLoad {
  uint32_t chip = 0;
  unsigned port = 0;
  Femtoseconds busy = 0;
};

struct ReplayResult {
  Femtoseconds end = 0;
  std::vector<JobTimes> jobs;
  std::vector<LinkLoad> links;  ///< the most loaded ones first
};

/// All jobs begin at 0. A chip computes one node at a time, moves memory for one, and so does its host: of those that
/// are ready, the one with the lowest id. Communications begin at once: a message sets out when its send begins, and
/// waits at the receiver for its receive; both end when its last byte is there. A collective begins when the last rank
/// of its group has come, and ends for all at once. Deterministic.
///
/// Returns what happened, or why not all of it could: a name of a node that does not fit, or nodes of different ranks
/// that wait for each other.
std::variant<ReplayResult, std::string> replay(const ici::Slice& slice, const std::vector<PlacedJob>& jobs,
                                               const ReplayOptions& options);

}  // namespace weft::replay
