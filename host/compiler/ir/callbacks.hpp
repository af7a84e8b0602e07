/// Operators that call the host's program.
#pragma once
#include <cstdint>

#include "host/compiler/ir/module.hpp"

namespace weft::compiler::ir {

/// Whether it is a callback, or has one in a region: then it is needed, whether or not its results are.
[[nodiscard]] bool has_callback(const Op& op);

/// The numbers of all callbacks of a module and its regions, as they are met.
[[nodiscard]] Dims callbacks_of(const Module& module);

/// The attribute "results" of a callback: of each result the element type, the rank and the dimensions.
[[nodiscard]] Dims written_types(const Types& types);

}  // namespace weft::compiler::ir
