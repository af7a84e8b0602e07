/// Launches of several parts of a model, compiled for the devices of a slice.
#pragma once
#include <cstddef>
#include <vector>

#include "host/compiler/partition/device_collective.hpp"
#include "host/tools/run/model_program.hpp"

namespace weft::tools {

/// Whether parts that run at once are more than a program: a collective is among them.
[[nodiscard]] bool is_sequence(const compiler::Partition& partition, const std::vector<size_t>& parts);

/// Where it fails, `refused` is the one of `parts` that is to blame. Errors of plan_sequence, compile_fitting,
/// compile_collective and write_executable.
[[nodiscard]] Result<SequenceProgram> compile_sequence(const ModelProgram& model, const std::vector<size_t>& parts,
                                                       const spec::Chip& chip, const compiler::DeviceSlice& slice,
                                                       size_t& refused);

/// The same with what has been compiled before. INVALID_ARGUMENT: they are not those of the devices.
[[nodiscard]] Result<SequenceProgram> known_sequence(const ModelProgram& model, const std::vector<size_t>& parts,
                                                     const compiler::DeviceSlice& slice, CompiledSequence compiled);

}  // namespace weft::tools
