/// Random networks through the compiler, as programs: products, chains of layers, vector steps, training.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "testbench/random/random_program.hpp"

namespace weft::compiler {
struct Kernel;
}

namespace weft::random {

/// One step of a network; which sizes and choices count depends on its kind.
struct LayerRecipe {
  enum class Kind : uint8_t { kProduct, kVector, kTranspose, kRowSums, kPairProduct };
  Kind kind = Kind::kProduct;
  uint64_t rows = 1, inner = 1, cols = 1;  ///< products: m, k, n
  bool chained = false;                    ///< products: x is the result before it, if that is bf16
  bool int8 = false, bias = false, relu = false;
  bool narrow = false;  ///< the result is bf16
  bool narrow_input =
      false;  ///< a vector step's operands, or what is transposed, or the weights of a pair product, are bf16
  uint8_t op = 0, b_mode = 0;  ///< a vector step's
};

/// What a compiled program is made of. The same recipe always gives the same program.
struct Recipe {
  enum class Form : uint8_t { kLayers, kScores, kGradient, kUpdate };
  const spec::Chip* chip = nullptr;
  uint64_t seed = 0;
  uint64_t data_seed = 0;
  unsigned stall_percent = 0;
  bool jitter = false;
  bool prefetch = false;
  Form form = Form::kLayers;
  std::vector<LayerRecipe> layers;  ///< kLayers
  std::vector<uint64_t> widths;     ///< of a network that is trained
  uint64_t rows = 1;                ///< of its batch
};

/// Sizes around 1, N and its multiples; one recipe in sixteen is large, so that rings wrap and K and rows are cut.
[[nodiscard]] Recipe draw_recipe(const spec::Chip& chip, uint64_t seed);

/// A kernel as a program: commands in an order that their semaphores allow, with tags of their own; constants, scratch
/// and arguments lie one behind the other in HBM. Nothing: it hangs.
[[nodiscard]] std::optional<Program> program_of(const spec::Chip& chip, const compiler::Kernel& kernel);

/// Compiles it. Commands stand in an order that their semaphores allow, with tags of their own; constants, scratch and
/// arguments lie one behind the other in HBM, which holds plain numbers. Nothing: the compiler refuses the recipe, and
/// `error` says why.
[[nodiscard]] std::optional<Program> make_program(const Recipe& recipe, std::string& error);

/// In words: "2x64x3000 bias -> 3x4 add".
[[nodiscard]] std::string recipe_text(const Recipe& recipe);

/// Drops layers and reduces sizes while `still_fails`, which `recipe` does; at most `max_runs` calls.
[[nodiscard]] Recipe shrink_recipe(Recipe recipe, const std::function<bool(const Program&)>& still_fails,
                                   unsigned max_runs = 200);

}  // namespace weft::random
