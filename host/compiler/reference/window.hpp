/// Where the taps of a sliding window lie: of convolutions, and of reductions and scatters of windows.
#pragma once
#include "host/compiler/ir/tensor.hpp"

namespace weft::compiler::reference {

/// All of equal rank. Between neighbours of the base lie `base_dilation - 1` holes, which have no element.
struct Window {
  const ir::Dims &size, &strides, &low, &dilation, &base_dilation;
  ir::Dims element_strides = ir::strides_of(size);

  /// The element under a tap with the window at a place, both by their coordinates; -1: padding, or a hole.
  [[nodiscard]] int64_t element(const ir::Dims& place, const ir::Dims& tap) const {
    int64_t element = 0;
    for (size_t d = 0; d < size.size(); d++) {
      const int64_t x = place[d] * strides[d] + tap[d] * dilation[d] - low[d];
      if (x < 0 || x % base_dilation[d] != 0 || x / base_dilation[d] >= size[d]) return -1;
      element += x / base_dilation[d] * element_strides[d];
    }
    return element;
  }
};

}  // namespace weft::compiler::reference
