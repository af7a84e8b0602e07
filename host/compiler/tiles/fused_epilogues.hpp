/// Steps behind a product that its EPILOGUE does on the way from ACC.
#pragma once
#include "host/compiler/program.hpp"

namespace weft::compiler::tiles {

/// The same program with fewer steps: what becomes bytes behind a product of bytes, and the sum of a product, or of a
/// convolution, and a tensor, where nothing else reads what lies between. The bits are the same.
[[nodiscard]] Program with_fused_epilogues(const Program& program);

}  // namespace weft::compiler::tiles
