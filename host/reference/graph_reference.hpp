/// A network evaluated on the host: by the golden model's arithmetic, and in fp64 from the unrounded model.
#pragma once
#include <vector>

#include "host/compiler/graph.hpp"

namespace weft::tools {

/// The graph passes compiler::check_graph. inputs[i]: fp32 values of graph input i, row-major; of i32 the bits of its
/// elements. One array for each graph output, in their order, with the bits of i32 too. The golden evaluation rounds as the compiled program does: inputs, weights and values
/// between nodes to bf16, sums and outputs fp32.
[[nodiscard]] std::vector<std::vector<float>> evaluate_golden(const compiler::Graph& graph,
                                                              const std::vector<std::vector<float>>& inputs);

/// The same for a network whose products by constants are sums over `parts` equal blocks of k, where these divide it: the
/// sums of blocks are added up in f32, from the left; then the bias.
[[nodiscard]] std::vector<std::vector<float>> evaluate_golden_in_parts(const compiler::Graph& graph,
                                                                       const std::vector<std::vector<float>>& inputs,
                                                                       unsigned parts);

/// No rounding but fp64's: independent of the golden model, of layouts and of the compiler. Results of i32 are numbers.
[[nodiscard]] std::vector<std::vector<double>> evaluate_fp64(const compiler::Graph& graph,
                                                             const std::vector<std::vector<float>>& inputs);

}  // namespace weft::tools
