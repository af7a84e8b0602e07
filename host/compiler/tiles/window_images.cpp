// What lies before the first pixel of a line lies behind the last one of the line before, and so do lines of images:
// padding is shared.
#include "host/compiler/tiles/window_images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "host/compiler/tiles/chunk_copies.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint64_t kGroupPlaces = 8192;

/// Which residue of the stride an offset is, and how many strides before or behind.
struct Offset {
  uint64_t phase = 0;
  int64_t steps = 0;
};
Offset offset_of(const Windows& w, size_t d, uint64_t tap) {
  const auto stride = static_cast<int64_t>(w.stride[d]);
  const int64_t at = static_cast<int64_t>(w.dilation[d] * tap) - w.low[d], phase = (at % stride + stride) % stride;
  return {static_cast<uint64_t>(phase), (at - phase) / stride};
}

}  // namespace

uint64_t chunk_of(const Matrix& matrix, uint64_t row) {
  return static_cast<uint64_t>(std::ranges::upper_bound(matrix.row_chunks, row, {}, &Span::first) -
                               matrix.row_chunks.begin()) -
         1;
}

std::vector<Span> image_groups(const Windows& windows) {
  const uint64_t places = std::max(windows.places[0] * windows.places[1], windows.size[0] * windows.size[1]),
                 count = std::max<uint64_t>(kGroupPlaces / places, 1);
  std::vector<Span> groups;
  for (uint64_t first = 0; first < windows.images; first += count)
    groups.push_back({first, std::min(count, windows.images - first)});
  return groups;
}

uint64_t PlaceGrid::count() const {
  return ((windows->images - 1) * image_lines + windows->places[0] - 1) * line_places + windows->places[1];
}

std::vector<Span> PlaceGrid::cut(uint64_t most) const {
  const uint64_t total = count(), parts = (total + most - 1) / most;
  std::vector<Span> chunks;
  for (uint64_t i = 0; i < parts; i++) {
    const uint64_t first = total * i / parts;
    chunks.push_back({first, total * (i + 1) / parts - first});
  }
  return chunks;
}

void PlaceGrid::for_each_run(
    Span places, const Matrix& y,
    const std::function<void(uint64_t place, uint64_t row, uint64_t chunk, uint64_t count)>& visit) const {
  const uint64_t end = places.first + places.count, lines = windows->places[0], columns = windows->places[1];
  const std::array<uint64_t, 2> one{1, 1};
  const bool dense = line_places == columns && image_lines == lines && spread == one;  // nothing lies between results
  for (uint64_t place = places.first; place < end;) {
    const uint64_t line = place / line_places, column = place % line_places;
    if (column >= columns || line % image_lines >= lines) {
      place = (line + 1) * line_places;
      continue;
    }
    const uint64_t result_line =
                       ((first_image + line / image_lines) * lines + line % image_lines) * spread[0] + residue[0],
                   row = (result_line * columns + column) * spread[1] + residue[1], chunk = chunk_of(y, row);
    const Span rows = y.row_chunks[chunk];
    const uint64_t some = std::min(dense ? end - place : std::min(columns - column, end - place),
                                   (rows.first + rows.count - 1 - row) / spread[1] + 1);
    visit(place, row, chunk, some);
    place += some;
  }
}

WindowImages::Image WindowImages::padding(uint64_t rows, uint64_t columns) {
  Image image{command_graph::kNoBuffer, words(columns)};
  const uint64_t all = rows * image.row_words;
  image.buffer = tiles_.graph_.add_buffer(command_graph::BufferSpace::kVmem, all);
  spec::DmaCommand fill;
  fill.header.opcode = WEFT_OPCODE_FILL;
  fill.header.tag = tiles_.program_.tag(fmt::format("{} padding", name_));
  fill.src_off = padding_;
  fill.size0 = static_cast<uint32_t>(all * tiles_.chip_.word_bytes);
  tiles_.graph_.load(fill, image.buffer);
  return image;
}

void WindowImages::copy_rows(Matrix& from, uint64_t first, uint64_t step, uint64_t count, const Image& to, uint64_t row,
                             uint64_t apart) {
  const uint16_t tag = tiles_.program_.tag(fmt::format("{} pixels", name_));
  for (uint64_t done = 0; done < count;) {
    const uint64_t at = first + done * step, chunk = chunk_of(from, at);
    const Span rows = from.row_chunks[chunk];
    const uint64_t some = std::min(count - done, (rows.first + rows.count - 1 - at) / step + 1);
    tiles_.need(from, chunk, {0, tiles_.blocks(from.columns)});
    for (uint64_t word = 0; dtype_ == WEFT_VPU_DTYPE_I8 && word < to.row_words; word++) {
      auto c = tiles_.i8_cast(from, at - rows.first, some, word, bytes_, tag);
      c.a_stride *= static_cast<uint32_t>(step), c.b_stride *= static_cast<uint32_t>(step);
      c.d_addr = static_cast<uint32_t>((row + done * apart) * to.row_words + word);
      c.d_stride = static_cast<uint32_t>(apart * to.row_words);
      tiles_.graph_.vector(c, from.chunks[chunk],
                           c.b_mode == WEFT_VPU_B_MODE_TENSOR ? from.chunks[chunk] : command_graph::kNoBuffer,
                           to.buffer);
    }
    for (uint64_t block = 0; dtype_ != WEFT_VPU_DTYPE_I8 && block < tiles_.blocks(from.columns); block++) {
      spec::VpuCommand c;
      c.header.opcode = from.dtype == dtype_ ? WEFT_OPCODE_ELEMENTWISE : WEFT_OPCODE_CAST;
      c.header.tag = tag;
      c.src_dtype = static_cast<uint8_t>(from.dtype), c.dst_dtype = static_cast<uint8_t>(dtype_);
      c.rows = static_cast<uint16_t>(some), c.cols = static_cast<uint16_t>(tiles_.lanes(from.columns, block));
      c.a_addr = static_cast<uint32_t>((at - rows.first) * from.row_words + block * from.block_words);
      c.a_stride = static_cast<uint32_t>(step * from.row_words);
      c.d_addr = static_cast<uint32_t>((row + done * apart) * to.row_words + block * row_words(dtype_));
      c.d_stride = static_cast<uint32_t>(apart * to.row_words);
      tiles_.graph_.vector(c, from.chunks[chunk], command_graph::kNoBuffer, to.buffer);
    }
    done += some;
  }
}

/// Elements `phase`, `phase` + stride, .. of a dimension: how many there are.
uint64_t WindowImages::held(size_t d, uint64_t phase) const {
  const uint64_t size = windows_.size[d], stride = windows_.stride[d];
  return phase >= size ? 0 : (size - phase + stride - 1) / stride;
}

std::vector<WindowImages::Tap> WindowImages::copy(std::span<Matrix* const> sources, uint64_t first_image) {
  std::array<uint64_t, 2> before{}, after{}, most{};
  for (size_t d = 0; d < 2; d++)
    for (uint64_t tap = 0; tap < windows_.taps[d]; tap++) {
      const Offset offset = offset_of(windows_, d, tap);
      before[d] = std::max(before[d], static_cast<uint64_t>(std::max<int64_t>(-offset.steps, 0)));
      after[d] = std::max(after[d], static_cast<uint64_t>(std::max<int64_t>(offset.steps, 0)));
      most[d] = std::max(most[d], held(d, offset.phase));
    }
  const uint64_t line = std::max(most[1] + before[1], windows_.places[1] + after[1]),
                 lines = std::max(most[0] + before[0], windows_.places[0] + after[0]);
  grid_ = {.windows = &windows_, .line_places = line, .image_lines = lines, .first_image = first_image};
  const uint64_t lead = before[0] * line + before[1];
  const uint64_t rows =
      lead + std::max(grid_.count() + after[0] * line + after[1], ((windows_.images - 1) * lines + most[0]) * line);
  std::map<std::array<uint64_t, 3>, Image> images;  // by source and residues
  std::vector<Tap> taps;
  for (uint64_t ky = 0; ky < windows_.taps[0]; ky++)
    for (uint64_t kx = 0; kx < windows_.taps[1]; kx++)
      for (size_t s = 0; s < sources.size(); s++) {
        const Offset y = offset_of(windows_, 0, ky), x = offset_of(windows_, 1, kx);
        const auto [found, fresh] = images.try_emplace({s, y.phase, x.phase});
        if (fresh) {
          found->second = padding(rows, sources[s]->columns);
          fill(*sources[s], y.phase, x.phase, found->second, lead);
        }
        const auto row =
            static_cast<uint64_t>(static_cast<int64_t>(lead) + y.steps * static_cast<int64_t>(line) + x.steps);
        taps.push_back({found->second.buffer, row * found->second.row_words, found->second.row_words, s});
      }
  return taps;
}

void WindowImages::fill(Matrix& source, uint64_t phase_line, uint64_t phase_column, const Image& image, uint64_t lead) {
  const auto [high, wide] = windows_.size;
  const uint64_t lines = held(0, phase_line), columns = held(1, phase_column);
  if (columns == 0) return;
  // Lines that follow each other without padding, here and there, are one.
  const bool whole = windows_.stride == std::array<uint64_t, 2>{1, 1} && grid_.line_places == columns;
  for (uint64_t i = 0; i < windows_.images; i++)
    for (uint64_t j = 0; j < lines; j += whole ? lines : 1)
      copy_rows(source, ((grid_.first_image + i) * high + j * windows_.stride[0] + phase_line) * wide + phase_column,
                windows_.stride[1], whole ? lines * columns : columns, image,
                lead + (i * grid_.image_lines + j) * grid_.line_places, 1);
}

}  // namespace weft::compiler::tiles
