/// L1 as text, for tests and for people.
#pragma once
#include <string>
#include <string_view>

#include "host/compiler/ir/module.hpp"

namespace weft::compiler::ir {

/// One line an operator:
///
///   module "net"
///   %0 = parameter() {dims = [2, 3], element = f32, name = "x"} : f32[2, 3]
///   %1 = constant() [0.5, -1, nan] : f32[3]
///   %2 = broadcast_in_dim(%1) {dims = [2, 3], dimensions = [1]} : f32[2, 3]
///   %3 = add(%0, %2) : f32[2, 3]
///   return "y" = %3
///
/// A constant of more than `most_elements` elements is shown as <count>, which parse() does not read.
[[nodiscard]] std::string print(const Module& module, uint64_t most_elements = UINT64_MAX);

/// What print() writes. INVALID_ARGUMENT names the line and what is wrong with it; the types are checked by infer().
[[nodiscard]] Result<Module> parse(std::string_view text);

}  // namespace weft::compiler::ir
