/// Programs of a launch with collectives beside them.
#pragma once
#include <cstddef>
#include <map>
#include <vector>

#include "host/compiler/sequence/beside.hpp"
#include "host/compiler/sequence/sequence.hpp"
#include "host/compiler/sequence/stages.hpp"

namespace weft::compiler {

/// A stage of two steps.
struct SequencePair {
  Kernel program;
  Beginnings of_program;
  std::vector<Kernel> collectives;  ///< by device
  std::vector<Beginnings> of_collectives;
  Hiding hidden;
  CollectivePlace place;
};

struct Overlap {
  std::vector<SequenceStage> stages;
  std::map<size_t, SequencePair> pairs;  ///< by stage; others have one step
};

/// Stages of the sequence. Two steps are one only where a program with what VMEM and semaphores the collective leaves
/// takes less time than both one behind the other. `programs`: of compile_sequence_programs.
[[nodiscard]] Overlap overlap(const spec::Chip& chip, const Sequence& sequence, const std::vector<Kernel>& programs,
                              const DeviceSlice& slice);

}  // namespace weft::compiler
