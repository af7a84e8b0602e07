/// What a run draws from its seed: the first parameters, and the order of each epoch. The same on every host.
#pragma once
#include <cstdint>
#include <vector>

#include "host/compiler/training.hpp"

namespace weft::examples {

/// Dense parameters: weights even over +-sqrt(6 / inputs), as He et al. 2015 have it for relu, biases 0.
[[nodiscard]] std::vector<float> first_parameters(const compiler::DenseNetwork& network, uint64_t seed);

/// 0 to examples - 1 in the order of epoch `epoch` (Fisher and Yates). A step takes the next batch; what is left over
/// at the end is not trained on in this epoch.
[[nodiscard]] std::vector<uint32_t> epoch_order(uint64_t seed, uint64_t epoch, uint64_t examples);

}  // namespace weft::examples
