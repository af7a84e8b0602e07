/// Windows of convolutions and of operations tap by tap, over dense arrays of any type of numbers; private to reference/.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "host/compiler/graph.hpp"

namespace weft::tools {

/// What lies under each window, a row for a place, in the order of the sum; `values` by source.
template <typename T>
std::vector<T> under_windows(const compiler::ConvolutionNode& node, const compiler::Graph& graph,
                             const std::vector<std::vector<T>>& values) {
  const auto& w = node.windows;
  const bool lines = node.order == compiler::ConvolutionNode::Order::kLines;
  const uint64_t pixels = w.size[0] * w.size[1];
  // Of lines the channels of a tap line come before its tap columns.
  const uint64_t channels_outside = lines ? graph.tensors[node.sources[0]].rows / (w.images * w.size[0]) : 1;
  std::vector<T> rows;
  rows.reserve(w.results() * node.k);
  for (uint64_t image = 0; image < w.images; image++)
    for (uint64_t line = 0; line < w.places[0]; line++)
      for (uint64_t column = 0; column < w.places[1]; column++)
        for (uint64_t ky = 0; ky < w.taps[0]; ky++)
          for (uint64_t outside = 0; outside < channels_outside; outside++)
            for (uint64_t kx = 0; kx < w.taps[1]; kx++) {
              const auto iy = w.element(0, line, ky), ix = w.element(1, column, kx);
              for (size_t s = 0; s < node.sources.size(); s++) {
                const uint64_t inside = lines ? 1 : graph.tensors[node.sources[s]].columns;
                for (uint64_t c = 0; c < inside; c++) {
                  if (!iy || !ix) {
                    rows.push_back(static_cast<T>(node.padding));
                    continue;
                  }
                  const uint64_t pixel = *iy * w.size[1] + *ix;
                  rows.push_back(values[s][lines ? (image * channels_outside + outside) * pixels + pixel
                                                 : (image * pixels + pixel) * inside + c]);
                }
              }
            }
  return rows;
}

/// The results of a residue to their rows.
template <typename T>
void spread(const compiler::ConvolutionNode& node, uint64_t residue, const std::vector<T>& part, std::vector<T>& y) {
  const uint64_t columns = node.windows.places[1], n = node.n;
  for (uint64_t row = 0; row < node.windows.results(); row++) {
    const uint64_t line = row / columns * node.spread[0] + residue / node.spread[1],
                   to = (line * columns + row % columns) * node.spread[1] + residue % node.spread[1];
    std::copy_n(&part[row * n], n, &y[to * n]);
  }
}

/// One operation after the other, tap by tap; a window of one tap without weights is a copy, which a multiplication by
/// one is.
template <typename T, typename Operate>
std::vector<T> fold_windows(const compiler::WindowNode& node, const std::vector<T>& x, uint64_t columns,
                            Operate operate) {
  const auto& w = node.windows;
  std::vector<T> y(w.results() * columns);
  for (uint64_t row = 0; row < w.results(); row++) {
    const uint64_t image = row / (w.places[0] * w.places[1]);
    for (uint64_t tap = 0; tap < w.tap_count(); tap++) {
      const auto iy = w.element(0, row / w.places[1] % w.places[0], tap / w.taps[1]),
                 ix = w.element(1, row % w.places[1], tap % w.taps[1]);
      for (uint64_t c = 0; c < columns; c++) {
        T value = iy && ix ? x[((image * w.size[0] + *iy) * w.size[1] + *ix) * columns + c] : T{node.padding};
        const T weight = node.weights.empty() ? T{1} : T{node.weights[tap * columns + c]};
        if (!node.weights.empty() || w.tap_count() == 1) value = operate(WEFT_VPU_OP_MUL, value, weight);
        T& to = y[row * columns + c];
        to = tap == 0 ? value : operate(node.op, to, value);
      }
    }
  }
  return y;
}

}  // namespace weft::tools
