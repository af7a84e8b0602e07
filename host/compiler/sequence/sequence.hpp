/// A launch of several parts: device programs one behind the other on each chip, and collectives between the chips.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/partition/partition.hpp"
#include "host/compiler/result.hpp"
#include "host/compiler/step.hpp"

namespace weft::compiler {

/// A value of the module in an argument of the launch, as rows of bf16, f32 or i32.
struct SequenceValue {
  ir::ValueId value{};
  uint64_t rows = 0, columns = 0;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_F32;
  uint64_t offset_bytes = 0;

  [[nodiscard]] uint64_t pitch_bytes() const;
  [[nodiscard]] uint64_t size_bytes() const { return rows * pitch_bytes(); }
};

/// Where values lie: the first argument, which the host fills, the second one, which it reads, and scratch memory.
enum class SequenceMemory : uint8_t { kInputs, kResults, kBetween };

struct SequencePlace {
  SequenceMemory memory = SequenceMemory::kBetween;
  uint64_t offset_bytes = 0, size_bytes = 0;
};

/// A device program or a collective. Sums over equal groups that follow each other are one collective, of what is summed
/// one behind the other.
struct SequenceStep {
  size_t part = 0;                             ///< of the partition; the first of those that are one
  std::optional<Graph> graph;                  ///< none: `collective`
  Collective collective;                       ///< with its bytes
  std::vector<SequencePlace> inputs, outputs;  ///< of the graph; of a collective one each
  bool is_long = false;                        ///< a collective that a program may run beside
};

/// What a value between two parts is, both have as rows of one length. Places begin at multiples of 64 bytes.
struct Sequence {
  std::vector<SequenceStep> steps;
  std::vector<SequenceValue> inputs, results;
  uint64_t input_bytes = 0, result_bytes = 0, between_bytes = 0;
};

/// The parts `parts` of the partition, in this order, which launches_of() has put together. Where it fails, `refused` is
/// the one among them that is to blame. UNSUPPORTED: a collective that cuts a row. INTERNAL: errors of check_graph.
[[nodiscard]] Result<Sequence> plan_sequence(const ir::Module& module, const Partition& partition,
                                             const std::vector<size_t>& parts, size_t& refused);

}  // namespace weft::compiler
