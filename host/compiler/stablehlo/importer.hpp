/// Reads a StableHLO program into L1.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "host/compiler/ir/module.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler::stablehlo {

/// A portable artifact (MLIR bytecode 6, VHLO) of one device: its function `main`, calls written out. Inputs are named
/// "0", "1", ... and outputs too, in the program's order. The module keeps ir::verify() and has not gone through
/// passes; modules of regions have. INVALID_ARGUMENT: bytes that are no such program, or break its rules. UNSUPPORTED:
/// an operator, attribute or element type that is not built; the message names the operator with its version, and the
/// place in the user's program if that is told.
[[nodiscard]] Result<ir::Module> import_program(std::span<const std::byte> bytes);

}  // namespace weft::compiler::stablehlo
