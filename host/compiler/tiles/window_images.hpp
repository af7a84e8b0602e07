/// Images in VMEM under whose windows each tap's rows lie equally far apart.
#pragma once
#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "host/compiler/tiles/chunk_copies.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {

/// Places of windows in the order of lines and columns, with others between them that are no result: a line has
/// `line_places`, an image `image_lines`.
struct PlaceGrid {
  const Windows* windows = nullptr;
  uint64_t line_places = 0, image_lines = 0;
  uint64_t first_image = 0;
  std::array<uint64_t, 2> spread{1, 1}, residue{};  ///< a result is at (spread x place + residue)

  /// The number of places up to the last result.
  [[nodiscard]] uint64_t count() const;
  /// As few equal parts as have up to `most` places each.
  [[nodiscard]] std::vector<Span> cut(uint64_t most) const;
  /// Runs of results among `places` whose rows are spread[1] apart in one row chunk of y: `visit` gets their first
  /// place, their first row of y, its chunk, and how many there are.
  void for_each_run(
      Span places, const Matrix& y,
      const std::function<void(uint64_t place, uint64_t row, uint64_t chunk, uint64_t count)>& visit) const;
};

/// Copies of matrices whose rows are pixels, with padding around each image: one copy for each residue of a pixel's
/// line and column by the stride, so that places and pixels count alike.
class WindowImages {
 public:
  /// Rows of a source under a tap, from place 0 on; places lie `row_words` apart.
  struct Tap {
    BufferId buffer = command_graph::kNoBuffer;
    uint64_t word = 0, row_words = 0;
    size_t source = 0;
  };

  /// The copies are bf16, f32 or i8; `padding` is the pattern of 32 bits that padding is made of,
  /// `bytes` how values become i8.
  WindowImages(TileBuilder& tiles, const Windows& windows, std::string name, weft_vpu_dtype dtype, uint32_t padding,
               const ToBytes& bytes = {})
      : tiles_(tiles), windows_(windows), name_(std::move(name)), dtype_(dtype), padding_(padding), bytes_(bytes) {}

  /// Images from `first_image` on, as many as the windows have; taps by tap line, tap column and source.
  [[nodiscard]] std::vector<Tap> copy(std::span<Matrix* const> sources, uint64_t first_image);
  [[nodiscard]] const PlaceGrid& grid() const { return grid_; }

  struct Image {
    BufferId buffer = command_graph::kNoBuffer;
    uint64_t row_words = 0;
  };
  /// Rows of padding.
  [[nodiscard]] Image padding(uint64_t rows, uint64_t columns);
  /// Rows first, first + step, .. of a source to rows of `to` from `row` on, `apart` apart.
  void copy_rows(Matrix& from, uint64_t first, uint64_t step, uint64_t count, const Image& to, uint64_t row,
                 uint64_t apart);

 private:
  void fill(Matrix& source, uint64_t phase_line, uint64_t phase_column, const Image& image, uint64_t lead);
  [[nodiscard]] uint64_t held(size_t d, uint64_t phase) const;
  /// Words of a row of so many columns.
  [[nodiscard]] uint64_t words(uint64_t columns) const {
    return dtype_ == WEFT_VPU_DTYPE_I8 ? tiles_.blocks((columns + 1) / 2) : tiles_.blocks(columns) * row_words(dtype_);
  }

  TileBuilder& tiles_;
  const Windows& windows_;
  const std::string name_;
  const weft_vpu_dtype dtype_;
  const uint32_t padding_;
  const ToBytes bytes_;
  PlaceGrid grid_;
};

/// Images that go through VMEM together: one if it is large, more to fill the array if they are small.
[[nodiscard]] std::vector<Span> image_groups(const Windows& windows);

/// The row chunk of a matrix that a row lies in.
[[nodiscard]] uint64_t chunk_of(const Matrix& matrix, uint64_t row);

}  // namespace weft::compiler::tiles
