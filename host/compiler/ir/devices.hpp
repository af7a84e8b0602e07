/// How operators of several devices name the places of values on them.
#pragma once
#include <vector>

#include "host/compiler/ir/op.hpp"

namespace weft::compiler::ir {

/// A tensor cut into equal tiles: how many along each dimension, and which of them each device has. Several devices may
/// have one tile, or parts of it, whose sum it is.
struct Tiling {
  Dims tiles;               ///< along each dimension
  std::vector<Dims> place;  ///< of each device: its tile's index along each dimension
  Dims part = {};           ///< of each device: which part of a sum it has; none: it has all

  /// The type of one tile. Refuses a dimension that the tiles do not divide.
  [[nodiscard]] TensorType local(const TensorType& whole) const;
  [[nodiscard]] TensorType whole(const TensorType& local) const;
  /// Whether each device has all of the tensor.
  [[nodiscard]] bool replicated() const;
  bool operator==(const Tiling&) const = default;
};
/// One tile for all devices.
[[nodiscard]] Tiling replicated(size_t rank, size_t devices);

/// The device's tile of a tensor. Of a sum part 0 is the tile, and others are zeros.
[[nodiscard]] TensorPtr tile_of(const TensorPtr& whole, const Tiling& tiling, size_t device);
/// The tensor of which each device has its tile; of devices with one tile, or one part of
/// it, the first one's.
[[nodiscard]] TensorPtr joined(const std::vector<TensorPtr>& tiles, const Tiling& tiling);

/// A manual operator's tilings: of its operands, then of its results, whose ranks these are.
[[nodiscard]] std::vector<Tiling> tilings_of(const Op& manual, const std::vector<size_t>& ranks);
/// Writes the attributes "tiles" and "places", which tilings_of() reads.
void set_tilings(Attributes& attributes, const std::vector<Tiling>& tilings);

/// Whether the operator's value depends on more than its operands: on the device that evaluates it (partition_id, a
/// collective) or on the host's program (a callback); and an operator whose regions have one, except manual.
[[nodiscard]] bool reads_outside(const Op& op);

}  // namespace weft::compiler::ir
