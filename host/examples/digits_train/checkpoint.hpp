/// The state of a training run in a file: all that the next step depends on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/compiler/result.hpp"
#include "host/compiler/training.hpp"

namespace weft::examples {

/// What a run is: with the same of it, and on the same chips, every step gives the same bits.
struct RunSettings {
  compiler::DenseNetwork network;
  uint64_t seed = 1;      ///< of the first parameters and of each epoch's order
  uint64_t batch = 64;    ///< rows of a step, over all chips
  uint64_t examples = 0;  ///< rows that are trained on
  compiler::Sgd sgd;
  bool operator==(const RunSettings&) const;
};

/// After `step` steps. Parameters and momentum are dense (pack_parameters), so that any chip can go on from them.
struct Checkpoint {
  RunSettings settings;
  uint64_t step = 0;
  std::vector<float> parameters, momentum;
};

/// Little-endian: magic, version, CRC-32C of all that follows, settings, step, widths, parameters, momentum.
[[nodiscard]] std::vector<std::byte> encode_checkpoint(const Checkpoint& checkpoint);

/// Any bytes give a checkpoint or INVALID_ARGUMENT that says what is wrong: length, magic, version, CRC, widths, batch,
/// sizes, a rate or momentum that is no number of 0 or more.
[[nodiscard]] Result<Checkpoint> decode_checkpoint(std::span<const std::byte> bytes);

}  // namespace weft::examples
