/// Programs of equal layers, one behind the other, as a loop of the firmware's control list (docs/executable.md).
#pragma once
#include "host/compiler/program.hpp"

namespace weft::compiler::tiles {

/// As compile_resident(), with the layers' commands there once. UNSUPPORTED: the program has no equal layers that can be
/// a loop. NO_DEVICE_MEMORY: a turn's values do not fit VMEM.
[[nodiscard]] Result<Kernel> compile_looped(const spec::Chip& chip, const Program& program);

}  // namespace weft::compiler::tiles
