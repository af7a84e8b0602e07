/// Collectives along any dimension, as ones whose parts are consecutive elements.
#pragma once
#include "host/compiler/ir/module.hpp"

namespace weft::compiler::localise {

/// A gathering, scattering or exchange of parts along another dimension than the first becomes one along a new first
/// dimension, with transposes beside it: what a device computes, collectives of consecutive bytes join. Collectives in
/// regions stay.
[[nodiscard]] ir::Module consecutive_parts(const ir::Module& module);

}  // namespace weft::compiler::localise
