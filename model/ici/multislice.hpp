/// Timing of collectives over several slices: within each slice by its links (ICI), between them by their hosts (DCN).
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "model/ici/collective.hpp"
#include "model/ici/dcn.hpp"
#include "model/ici/optical_links.hpp"
#include "model/ici/slice.hpp"

namespace weft::ici {

struct MultisliceOptions {
  uint32_t slices = 2;  ///< alike, >= 1
  CollectiveKind kind = CollectiveKind::kAllReduce;
  uint64_t bytes = 0;   ///< of the whole array: that each chip holds before a reduction, or after a gathering; > 0
  unsigned axes = 7;    ///< of a slice, one bit each: chips that differ in another axis hold other arrays
  uint32_t pieces = 1;  ///< that the array is cut into, >= 1: one is in the slices while another is between them
  bool framing = true;  ///< of both networks
  Grain grain = Grain::kPackets;
  uint32_t chips_per_host = 0;         ///< >= 1
  uint64_t host_bytes_per_second = 0;  ///< of a host, each way, > 0
  Femtoseconds dcn_latency = spec::kDcnLatencyUs * kMicrosecond;
  OpticalLinks optical = {};  ///< of each slice
};

/// Hosts that a slice's chips have.
uint32_t hosts_of(const Slice& slice, uint32_t chips_per_host);

/// When all slices had ended a step of the first piece, and the whole. dcn_bytes: of the busiest host, on its wire.
struct MultisliceTimes {
  double reduced_us = 0;    ///< reduce-scatters within the slices; all-gather: 0
  double exchanged_us = 0;  ///< the same collective between the hosts
  double us = 0;            ///< all of it
  uint64_t dcn_bytes = 0;
  bool finished = false;
};

/// Runs the hierarchical collective. An all-reduce: a slice reduces and scatters, so that each chip holds a share of its slice's sum;
/// hosts with the same place in their slices exchange their chips' shares, a part of them straight to each owner, and
/// the owners send the sums back; then a slice gathers. A reduce-scatter ends
/// with the owners' sums; an all-gather begins with what the hosts' chips hold. A slice's links carry one step at a time, reductions first. A
/// host adds up in no time, and reaches its chips' memory at the rate of its network. One thread.
MultisliceTimes run_multislice(const Slice& slice, const MultisliceOptions& options);

/// The same on links that do nothing else, in one piece and without framing: of an all-reduce a reduce-scatter,
/// 2 (S - 1) / S of a host's shares over its bandwidth and two latencies, and an all-gather; half of it of the others.
double multislice_us(const Slice& slice, const MultisliceOptions& options);

}  // namespace weft::ici
