/// Passes over L1, each a function from a module to another one that computes the same outputs from the same inputs.
#pragma once
#include <functional>
#include <span>
#include <string_view>

#include "host/compiler/ir/module.hpp"

namespace weft::compiler::passes {

/// integer_products.cpp: products of dequantised values become scaled products of integers.
[[nodiscard]] ir::Module integer_products(const ir::Module& module);
/// plain_convolutions.cpp: convolutions in groups, of three dimensions, or transposed with windows that overlap become
/// ones of one group and at most two dimensions, with zeros among their weights.
[[nodiscard]] ir::Module plain_convolutions(const ir::Module& module);
/// split_products.cpp: products of f32 that ask for more than one pass of bf16 become sums of products of bf16 parts.
[[nodiscard]] ir::Module split_products(const ir::Module& module);
/// fold.cpp: operators on constants become constants, unless their results are large and easily made again.
[[nodiscard]] ir::Module fold(const ir::Module& module);
/// loop_constants.cpp: what a loop carries and never changes, it reads from outside instead.
[[nodiscard]] ir::Module loop_constants(const ir::Module& module);
/// unroll.cpp: loops with products for the device whose turns can be counted, written out and folded; of longer ones
/// the turns are noted.
[[nodiscard]] ir::Module unroll(const ir::Module& module);
/// simplify.cpp: reshapes and transposes that meet or do nothing.
[[nodiscard]] ir::Module simplify(const ir::Module& module);
/// row_blocks.cpp: what is large between two products, and computed row by row, is computed block by block of rows.
[[nodiscard]] ir::Module row_blocks(const ir::Module& module);
/// common_subexpressions.cpp: of equal operators on equal operands the first one serves all.
[[nodiscard]] ir::Module common_subexpressions(const ir::Module& module);
/// dead_code.cpp: what no output needs goes; inputs stay.
[[nodiscard]] ir::Module dead_code(const ir::Module& module);

struct Pass {
  std::string_view name;
  ir::Module (*run)(const ir::Module&);
};
/// In the order in which an imported model goes through them.
[[nodiscard]] std::span<const Pass> all();

/// Runs all of them; `after` sees the module behind each. UNSUPPORTED: folding takes too much.
[[nodiscard]] Result<ir::Module> run_all(ir::Module module,
                                         const std::function<void(std::string_view, const ir::Module&)>& after = {});

}  // namespace weft::compiler::passes
