/// Reads a StableHLO program into L1.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/compiler/ir/devices.hpp"
#include "host/compiler/ir/module.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler::stablehlo {

/// A portable artifact (MLIR bytecode 6, VHLO): its function `main`, calls written out. Inputs are named
/// "0", "1", ... and outputs too, in the program's order. A program of several devices is one of whole
/// arrays, with a manual operator for each of its manual computations. The module keeps ir::verify() and has not gone through
/// passes; modules of regions have. INVALID_ARGUMENT: bytes that are no such program, or break its rules. UNSUPPORTED:
/// an operator, attribute or element type that is not built; the message names the operator with its version, and the
/// place in the user's program if that is told.
[[nodiscard]] Result<ir::Module> import_program(std::span<const std::byte> bytes);

/// How the arrays of a program of several devices lie on them.
struct Layout {
  std::vector<ir::Tiling> inputs, outputs;
  std::vector<bool> open = {};  ///< outputs of which nothing is said
};
/// What the program's shardings say of the inputs and outputs of `main`, and of an output that they say nothing of, the
/// manual computation or constraint that it comes of; else replicated, and open.
/// `module`: the program's. UNSUPPORTED: a mesh of another number of devices, an axis in parts.
[[nodiscard]] Result<Layout> layout_of(std::span<const std::byte> bytes, const ir::Module& module, size_t devices);

/// An input that the caller gives away with a launch.
struct Donation {
  size_t input = 0;
  std::optional<size_t> output;  ///< takes the input's place in memory
};
/// Those of `main`, by input: `tf.aliasing_output`, and `jax.buffer_donor` where no output is named. `module`: the
/// program's. INVALID_ARGUMENT: an output that the program does not have, or that two inputs name.
[[nodiscard]] Result<std::vector<Donation>> donations_of(std::span<const std::byte> bytes, const ir::Module& module);

}  // namespace weft::compiler::stablehlo
