/// Windows over images of two dimensions, lines and columns.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

namespace weft::compiler {

/// Tap t of the window at place p lies over element stride p + dilation t - low of a dimension; outside of 0 .. size - 1
/// over padding. Dimension 0 counts lines, 1 columns.
struct Windows {
  uint64_t images = 1;
  std::array<uint64_t, 2> size{1, 1}, taps{1, 1}, stride{1, 1}, dilation{1, 1}, places{1, 1};
  std::array<int64_t, 2> low{0, 0};

  bool operator==(const Windows&) const = default;
  [[nodiscard]] uint64_t pixels() const { return images * size[0] * size[1]; }
  [[nodiscard]] uint64_t results() const { return images * places[0] * places[1]; }
  [[nodiscard]] uint64_t tap_count() const { return taps[0] * taps[1]; }
  /// The element of dimension `d` under a tap; none: padding.
  [[nodiscard]] std::optional<uint64_t> element(size_t d, uint64_t place, uint64_t tap) const {
    const int64_t at = static_cast<int64_t>(stride[d] * place + dilation[d] * tap) - low[d];
    if (at < 0 || at >= static_cast<int64_t>(size[d])) return std::nullopt;
    return static_cast<uint64_t>(at);
  }
};

}  // namespace weft::compiler
