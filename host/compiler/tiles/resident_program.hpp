/// Programs whose values stay in VMEM from one step to the next, with weights loaded ahead of their use.
#pragma once
#include "host/compiler/program.hpp"

namespace weft::compiler::tiles {

/// A program of one chip as one kernel. UNSUPPORTED: too many commands, or a row that no stride reaches.
/// NO_DEVICE_MEMORY: its values do not fit VMEM. Errors name the step that is most to blame.
[[nodiscard]] Result<Kernel> compile_resident(const spec::Chip& chip, const Program& program);

/// The same where values do not fit VMEM: these are in scratch, and products whose weights do not fit are streamed.
/// NO_DEVICE_MEMORY: what a step needs at a time does not fit.
[[nodiscard]] Result<Kernel> compile_spilled(const spec::Chip& chip, const Program& program);

/// Whether equal layers become a loop of the control list: where it spares 32,768 commands or more (2 MiB), not at all, or
/// wherever it can be.
enum class Loops : uint8_t { kAuto, kNever, kAlways };

/// In VMEM if its values fit, else with some in scratch and with streamed products.
[[nodiscard]] Result<Kernel> compile_fitting(const spec::Chip& chip, const Program& program,
                                             Loops loops = Loops::kNever);

}  // namespace weft::compiler::tiles
