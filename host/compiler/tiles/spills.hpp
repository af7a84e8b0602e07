/// What of a program goes through memory, so that the rest fits VMEM.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "host/compiler/program.hpp"
#include "host/compiler/tiles/gemm_tiling.hpp"

namespace weft::compiler::tiles {

/// Where the matrices lie that a step reads, of the steps that stay in VMEM.
[[nodiscard]] std::vector<TensorPlace> operand_places(const Step& step);

/// Segment and offset of what a step computes.
using ValueKey = std::pair<uint8_t, uint64_t>;

struct Spills {
  /// Values that go to memory behind the step that computes them and come back for each step that reads them.
  std::set<ValueKey> values;
  /// Products by their number among the steps, whose weights do not fit beside the values: operands and result are in
  /// memory.
  std::map<size_t, GemmTiling> products;
};

/// Of VMEM values may take `eighths` at a time. Where more are live, the value leaves that is read latest, and so on;
/// what a step reads or computes itself counts. Products that need more than the rest are streamed.
/// NO_DEVICE_MEMORY: the smallest tiling of one does not fit.
[[nodiscard]] Result<Spills> choose_spills(const spec::Chip& chip, const Program& program, uint64_t eighths);

}  // namespace weft::compiler::tiles
