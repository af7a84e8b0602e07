/// Convolutions as several families of operators need them. Private to the importer.
#pragma once
#include "host/compiler/onnx/node.hpp"

namespace weft::compiler::frontend {

/// By the node's attributes; sums have type `sums`.
[[nodiscard]] ValueId convolve(Node& n, ValueId x, ValueId w, ElementType sums);

/// One element of `bias` to each channel (dimension 1).
[[nodiscard]] ValueId add_channels(Builder& b, ValueId y, ValueId bias);

}  // namespace weft::compiler::frontend
