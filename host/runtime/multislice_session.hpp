/// Several slices that are alike, each with links of its own, between which hosts carry data.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/result.hpp"
#include "host/runtime/chip_set.hpp"
#include "host/runtime/host_network.hpp"

namespace weft::runtime {

/// "slice 1: " before what went wrong on one of several slices.
[[nodiscard]] Error on_slice(uint32_t slice, Error error);

/// Open slices. Not thread-safe. Everything it holds is released with it.
class MultisliceSession {
 public:
  /// Names as weft_slice_open takes them, one a slice; a simulator is started for each "sim:". Any error of the driver
  /// names the slice. INVALID_ARGUMENT: no name at all, or slices of other presets, shapes or links than the first.
  [[nodiscard]] static Result<MultisliceSession> open(const std::vector<std::string>& names);

  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(slices_.size()); }
  [[nodiscard]] ChipSet& slice(uint32_t number) { return slices_[number]; }
  [[nodiscard]] const ChipSet& slice(uint32_t number) const { return slices_[number]; }
  /// Of each slice.
  [[nodiscard]] const compiler::SliceShape& shape() const { return slices_.front().shape(); }
  [[nodiscard]] const spec::Chip& chip() const { return slices_.front().chip(); }

 private:
  std::vector<ChipSet> slices_;
};

/// When all slices had ended a step, in femtoseconds from the first launch on.
struct HierarchicalTimes {
  uint64_t reduced = 0;   ///< within the slices, by their links, and the hosts have the parts
  uint64_t parts = 0;     ///< the parts have crossed the hosts' network
  uint64_t added = 0;     ///< by the chips that own them, and the hosts have the sums
  uint64_t sums = 0;      ///< the sums have crossed it
  uint64_t gathered = 0;  ///< within the slices: the whole of it
  uint64_t network = 0;   ///< of that, from the first message of a crossing to its last arrival, both crossings
};

struct HierarchicalResult {
  std::vector<std::vector<std::vector<std::byte>>> outputs;  ///< by slice and chip: the array, summed over all of them
  HierarchicalTimes times;
};

/// The hierarchical all-reduce of `collective` (kind all-reduce; axes, groups, dtype, bytes of an array, algorithm) on
/// all slices, inputs by slice and chip. A slice reduces and scatters by its links; of what a chip has then, part p of
/// as many as slices goes to the chip of its number in slice p, which adds ((slice 0 + slice 1) + slice 2) + ... and
/// sends the sum to all others; then the slice gathers. Launches of a step begin on all slices at one time, when all
/// that they need has arrived. Slices stand still while data are between them: an idle device has no time of its own.
/// Errors of compile_collective, compile_sum and the driver, whose message names slice and chip; INVALID_ARGUMENT: not
/// an input each chip, of the array's bytes.
[[nodiscard]] Result<HierarchicalResult> run_hierarchical_all_reduce(
    MultisliceSession& session, HostNetwork& network, const compiler::Collective& collective,
    const std::vector<std::vector<std::vector<std::byte>>>& inputs);

}  // namespace weft::runtime
