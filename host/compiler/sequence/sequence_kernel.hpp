/// A sequence as one kernel a chip.
#pragma once
#include <string>
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/partition/device_collective.hpp"
#include "host/compiler/sequence/overlap.hpp"
#include "host/compiler/sequence/sequence.hpp"

namespace weft::compiler {

/// Kernels of the device programs, by step, the same on all chips; those of collectives are empty. Errors of compile_fitting, `refused` being the step that has one.
[[nodiscard]] Result<std::vector<Kernel>> compile_sequence_programs(const spec::Chip& chip, const Sequence& sequence,
                                                                    size_t& refused);

/// The kernel of a step's graph, with each value where the sequence has it; it leaves so many semaphores below 48 unused.
/// Errors of lower and compile_fitting.
[[nodiscard]] Result<Kernel> compile_step(const spec::Chip& chip, const SequenceStep& step,
                                          unsigned semaphores_left = 0);

/// The kernel of device `device`: a control list that runs the programs and the device's part of the collectives.
/// Arguments: the inputs, and the results. Errors of compile_collective, of step `refused`, and of a control list.
[[nodiscard]] Result<Kernel> sequence_kernel(const spec::Chip& chip, const std::string& name, const Sequence& sequence,
                                             const std::vector<Kernel>& programs, const Overlap& overlap,
                                             const DeviceSlice& slice, size_t device, size_t& refused);

}  // namespace weft::compiler
