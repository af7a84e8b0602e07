// What lies under windows, tap by tap on the vector unit: one operation for each tap, two if it has weights.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "host/compiler/tiles/chunk_copies.hpp"
#include "host/compiler/tiles/window_images.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint64_t kWords = 2;      // of a row of f32
constexpr uint64_t kPlaces = 1024;  // that go through all taps together

}  // namespace

class WindowFold {
 public:
  WindowFold(TileBuilder& tiles, Matrix& x, const WindowOperation& by)
      : tiles_(tiles), graph_(tiles.graph_), by_(by), x_(x) {}

  Matrix run() {
    Matrix* const sources[] = {&x_};
    Matrix y = tiles_.new_matrix(by_.windows.results(), x_.columns, WEFT_VPU_DTYPE_F32);
    if (by_.weights) load_weights();
    for (const Span& group : image_groups(by_.windows)) {
      Windows windows = by_.windows;
      windows.images = group.count;
      // Of one place the stride means nothing; with 1 all of a line lies in one copy, which fold_whole() counts on.
      for (size_t d = 0; d < 2; d++)
        if (windows.places[d] == 1) windows.stride[d] = 1;
      WindowImages images(tiles_, windows, by_.name, WEFT_VPU_DTYPE_F32, std::bit_cast<uint32_t>(by_.padding));
      taps_ = images.copy(sources, group.first);
      if (whole_images()) {
        fold_whole(images.grid(), group, y);
        continue;
      }
      for (const Span& places : images.grid().cut(kPlaces))
        for (uint64_t block = 0; block < tiles_.blocks(x_.columns); block++) {
          tag_ = tiles_.program_.tag(fmt::format("{} places {}..", by_.name, places.first));
          fold(images.grid(), places, block, y);
        }
    }
    return y;
  }

 private:
  /// Windows as large as their images, which lie row behind row.
  [[nodiscard]] bool whole_images() const {
    const auto& w = by_.windows;
    return w.places == std::array<uint64_t, 2>{1, 1} && w.taps == w.size && w.size[0] == 1 && w.size[1] > 1 &&
           w.low == std::array<int64_t, 2>{0, 0} && w.dilation[1] == 1 && !by_.weights && by_.op != WEFT_VPU_OP_MUL;
  }
  void fold_whole(const PlaceGrid& grid, Span group, const Matrix& y) {
    for (uint64_t image = 0; image < group.count; image++)
      for (uint64_t block = 0; block < tiles_.blocks(x_.columns); block++) {
        tag_ = tiles_.program_.tag(fmt::format("{} image {}", by_.name, group.first + image));
        const auto& t = taps_[0];
        const uint64_t row = group.first + image, chunk = chunk_of(y, row);
        auto c = command(
            {t.buffer, t.word + image * grid.line_places * grid.image_lines * t.row_words + block * kWords, 0}, 1,
            block,
            {y.chunks[chunk], (row - y.row_chunks[chunk].first) * y.row_words + block * y.block_words, y.row_words});
        c.header.opcode = WEFT_OPCODE_REDUCE;
        c.op = by_.op == WEFT_VPU_OP_ADD   ? WEFT_VPU_OP_SUM
               : by_.op == WEFT_VPU_OP_MAX ? WEFT_VPU_OP_RMAX
                                           : WEFT_VPU_OP_RMIN;
        c.axis = WEFT_VPU_AXIS_ROWS;
        c.window = static_cast<uint16_t>(by_.windows.size[1]);
        c.b_stride = static_cast<uint32_t>(t.row_words);
        graph_.vector(c, t.buffer, command_graph::kNoBuffer, y.chunks[chunk]);
      }
  }

  /// Rows of a buffer.
  struct Rows {
    BufferId buffer;
    uint64_t word, stride;
  };

  void load_weights() {
    const uint64_t count = by_.windows.tap_count(), words = tiles_.blocks(x_.columns) * kWords;
    weights_ = graph_.add_buffer(command_graph::BufferSpace::kVmem, count * words);
    const auto load = chunk_load(tiles_.chip_, tiles_.program_.tag(by_.name + " weights"), *by_.weights, 0, count,
                                 x_.columns * 4, 0, words);
    tiles_.program_.note_hbm_bytes(uint64_t{load.size0} * load.size1);
    graph_.load(load, weights_);
  }

  /// All taps but the last into rows beside each other, the last to where the results lie.
  void fold(const PlaceGrid& grid, Span places, uint64_t block, const Matrix& y) {
    const BufferId sums = graph_.add_buffer(command_graph::BufferSpace::kVmem, places.count * kWords);
    const BufferId terms =
        by_.weights ? graph_.add_buffer(command_graph::BufferSpace::kVmem, places.count * kWords) : sums;
    const Rows all{sums, 0, kWords};
    Rows term{};
    for (size_t tap = 0; tap < taps_.size(); tap++) {
      const auto& t = taps_[tap];
      term = {t.buffer, t.word + places.first * t.row_words + block * kWords, t.row_words};
      if (by_.weights) {
        const Rows to{tap == 0 ? sums : terms, 0, kWords};
        weigh(term, tap, places.count, block, to);
        term = to;
      }
      if (tap == 0) {
        first_ = term;
        continue;
      }
      if (tap + 1 == taps_.size()) break;
      combine(tap == 1 ? first_ : all, &term, places.count, block, all);
    }
    const bool one = taps_.size() == 1;
    const Rows before = taps_.size() == 2 || one ? first_ : all;
    grid.for_each_run(places, y, [&](uint64_t place, uint64_t row, uint64_t chunk, uint64_t count) {
      const uint64_t skipped = place - places.first;
      const auto behind = [&](Rows rows) { return Rows{rows.buffer, rows.word + skipped * rows.stride, rows.stride}; };
      const Rows last = behind(term);
      combine(behind(before), one ? nullptr : &last, count, block,
              {y.chunks[chunk], (row - y.row_chunks[chunk].first) * y.row_words + block * y.block_words, y.row_words});
    });
  }

  [[nodiscard]] spec::VpuCommand command(const Rows& a, uint64_t rows, uint64_t block, const Rows& d) const {
    spec::VpuCommand c;
    c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    c.header.tag = tag_;
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
    c.rows = static_cast<uint16_t>(rows), c.cols = static_cast<uint16_t>(tiles_.lanes(x_.columns, block));
    c.a_addr = static_cast<uint32_t>(a.word), c.a_stride = static_cast<uint32_t>(a.stride);
    c.d_addr = static_cast<uint32_t>(d.word), c.d_stride = static_cast<uint32_t>(d.stride);
    return c;
  }
  void weigh(const Rows& a, size_t tap, uint64_t rows, uint64_t block, const Rows& d) {
    auto c = command(a, rows, block, d);
    c.op = WEFT_VPU_OP_MUL;
    c.b_mode = WEFT_VPU_B_MODE_ROW;
    c.b_addr = static_cast<uint32_t>((tap * tiles_.blocks(x_.columns) + block) * kWords);
    graph_.vector(c, a.buffer, weights_, d.buffer);
  }
  /// Without b a copy.
  void combine(const Rows& a, const Rows* b, uint64_t rows, uint64_t block, const Rows& d) {
    auto c = command(a, rows, block, d);
    if (b != nullptr) {
      c.op = static_cast<uint8_t>(by_.op);
      c.b_mode = WEFT_VPU_B_MODE_TENSOR;
      c.b_addr = static_cast<uint32_t>(b->word), c.b_stride = static_cast<uint32_t>(b->stride);
    }
    graph_.vector(c, a.buffer, b == nullptr ? command_graph::kNoBuffer : b->buffer, d.buffer);
  }

  TileBuilder& tiles_;
  CommandGraph& graph_;
  const WindowOperation& by_;
  Matrix& x_;
  std::vector<WindowImages::Tap> taps_;
  BufferId weights_ = command_graph::kNoBuffer;
  Rows first_{};
  uint16_t tag_ = 0;
};

Matrix TileBuilder::fold_windows(Matrix& x, const WindowOperation& by) { return WindowFold(*this, x, by).run(); }

}  // namespace weft::compiler::tiles
