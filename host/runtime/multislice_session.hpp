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
#include "host/runtime/slice_session.hpp"

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

/// When all slices had ended a step, in femtoseconds from the first launch on. A step that a kind does not have ends with
/// the one before.
struct HierarchicalTimes {
  uint64_t reduced = 0;   ///< reductions: within the slices, by their links, and the hosts have the parts
  uint64_t parts = 0;     ///< reductions: the parts have crossed the hosts' network
  uint64_t added = 0;     ///< by the chips that own them, and, if they go on, the hosts have the sums; all-gather: the
                          ///< hosts have the blocks
  uint64_t sums = 0;      ///< gatherings: the sums, or blocks, have crossed it
  uint64_t gathered = 0;  ///< gatherings: within the slices. The whole of it
  uint64_t network = 0;   ///< of that, from the first message of a crossing to its last arrival, both crossings
};

struct HierarchicalResult {
  std::vector<std::vector<std::vector<std::byte>>> outputs;  ///< by slice and chip; none if there are no data
  HierarchicalTimes times;
};

/// True: run_hierarchical knows it (all-reduce, reduce-scatter, all-gather).
[[nodiscard]] bool goes_over_slices(compiler::CollectiveKind kind);

/// The hierarchical collective (kind all-reduce, reduce-scatter or all-gather; axes, groups, dtype, bytes of the whole
/// array, algorithm) on all slices, inputs by slice and chip. A rank's block of the slice's collective is cut into as
/// many parts as slices; part p is the block of the chip of this rank in slice p.
///
/// reduce-scatter: a slice reduces and scatters by its links; of what a chip has then, part p goes to the chip of its
/// number in slice p, which adds ((slice 0 + slice 1) + slice 2) + .... all-gather: a chip's block goes to the chips of
/// its number in all other slices; then each slice gathers by its links. all-reduce: one behind the other. Launches of a
/// step begin on all slices at one time, when all that they need has arrived. Slices stand still while data are between
/// them: an idle device has no time of its own. Payload::kNone: simulators that take the time alone; `inputs` are not
/// looked at.
///
/// Errors of compile_collective, compile_sum and the driver, whose message names slice and chip; INVALID_ARGUMENT:
/// another kind, or not an input each chip, of its bytes.
[[nodiscard]] Result<HierarchicalResult> run_hierarchical(
    MultisliceSession& session, HostNetwork& network, const compiler::Collective& collective,
    const std::vector<std::vector<std::vector<std::byte>>>& inputs, Payload payload = Payload::kArrays);

}  // namespace weft::runtime
