/// Training of a dense network as programs for one chip: scores, gradients of a batch, and the update.
/// docs/training.md.
#pragma once
#include <cstdint>
#include <vector>

#include "host/compiler/program.hpp"

namespace weft::compiler {

/// x W + b layer after layer, relu after each but the last; the last one's columns are the classes.
struct DenseNetwork {
  std::vector<uint64_t> widths;  ///< inputs, outputs of each layer: {64, 128, 10}
};

/// Where the parameters lie in a buffer of f32, and likewise their momentum and gradients. Padding is zero and stays
/// so.
struct ParameterLayout {
  struct Layer {
    uint64_t k = 0, n = 0;
    uint64_t weights_offset = 0, weights_pitch = 0;  ///< bytes; k rows
    uint64_t bias_offset = 0;                        ///< bytes; n elements
  };
  std::vector<Layer> layers;
  uint64_t parameter_bytes = 0;  ///< a multiple of 4 N
  uint64_t loss_offset = 0;      ///< of gradients only: the loss as f32
  uint64_t bytes = 0;            ///< of the buffer
};

/// INVALID_ARGUMENT: fewer than two widths, or one that is 0 or above 65535.
[[nodiscard]] Result<ParameterLayout> parameter_layout(const spec::Chip& chip, const DenseNetwork& network);

/// A buffer of the layout from dense parameters, layer by layer weights[k, n] and bias[n], and the reverse. Padding and
/// loss are zero. The dense array has parameter_count() elements (checked by assert).
[[nodiscard]] uint64_t parameter_count(const DenseNetwork& network);
[[nodiscard]] std::vector<float> pack_parameters(const ParameterLayout& layout, const std::vector<float>& dense);
[[nodiscard]] std::vector<float> unpack_parameters(const ParameterLayout& layout, const std::vector<float>& buffer);

/// Arguments: parameters, x (f32 rows), scores (f32 rows, output). Products read bf16.
[[nodiscard]] Result<Program> scores_program(const spec::Chip& chip, const DenseNetwork& network, uint64_t rows);

/// Arguments: parameters, x (f32 rows), targets (f32 rows: 1 for the class, else 0), gradients of the parameters (output),
/// loss (output, one f32 in 16 bytes). Gradients and loss of mean softmax cross-entropy are sums over these rows times
/// `scale`: 1 / rows of the whole batch, whose parts may be on several chips.
[[nodiscard]] Result<Program> gradient_program(const spec::Chip& chip, const DenseNetwork& network, uint64_t rows,
                                               float scale);

/// Stochastic gradient descent with momentum.
struct Sgd {
  float rate = 0.1F, momentum = 0.9F;
};

/// Arguments: parameters and momentum (both read and written), gradients. v = v momentum + g; p = v (-rate) + p, each
/// with one rounding.
[[nodiscard]] Result<Program> update_program(const spec::Chip& chip, const DenseNetwork& network, const Sgd& sgd);

}  // namespace weft::compiler
