// Convolutions without copies of what lies under the windows. The sources are rounded once into images in which the rows
// under a tap at all places lie equally far apart, so each tap is one MATMUL, all into one block of sums. Between the
// places of two lines lies padding: its sums are computed and not used.
//
// Of few channels, rows of the source are lines: those under the taps of one column, of all channels, become by one
// TRANSPOSE columns of rows that are pixels, so that a MATMUL sums over all of them.
#include <fmt/format.h>

#include <algorithm>

#include "host/compiler/chunk_pipeline.hpp"
#include "host/compiler/tiles/window_images.hpp"

namespace weft::compiler::tiles {
namespace {

using command_graph::kNoBuffer;

constexpr uint64_t kLoadTiles = 4;  // of weights, at least, of a load

}  // namespace

class Convolver {
 public:
  Convolver(TileBuilder& tiles, const Convolution& by)
      : tiles_(tiles), graph_(tiles.graph_), chip_(tiles.chip_), by_(by), w_(by.windows), group_(by.windows) {}

  Matrix run() {
    const Product& product = by_.product;
    const uint64_t column_blocks = tiles_.blocks(product.n), residues = by_.spread[0] * by_.spread[1];
    Matrix y = tiles_.new_matrix(w_.results() * residues, product.n, product.dtype);
    const BufferId bias = product.bias
                              ? tiles_.load_row(*product.bias, column_blocks * 4ull * chip_.n, product.name + " bias")
                              : kNoBuffer;
    weights_.assign(residues, std::vector<std::vector<BufferId>>(column_blocks));
    for (const Span& images : image_groups(w_)) {
      group_.images = images.count;
      taps_.clear(), groups_.clear(), sum_length_ = 0;
      if (by_.by_lines)
        from_lines(images.first);
      else
        from_pixels(images.first);
      group_taps();
      grid_.spread = by_.spread;
      for (residue_ = 0; residue_ < residues; residue_++) {
        grid_.residue = {residue_ / by_.spread[1], residue_ % by_.spread[1]};
        add_blocks(y, bias);
      }
    }
    tiles_.begun_ = true;
    tiles_.program_.note_macs(w_.results() * residues * sum_length_ * product.n);
    return y;
  }

 private:
  /// A term of the sum: `channels` columns of the rows that begin at `word` with place 0.
  struct Tap {
    BufferId buffer = kNoBuffer;
    uint64_t word = 0, row_words = 0, channels = 0;
    uint64_t weight = 0;  ///< its first row of the weights
  };

  /// A block of sums for each MXU at a time: they run side by side.
  void add_blocks(Matrix& y, BufferId bias) {
    const uint64_t most = std::min<uint64_t>(chip_.acc_bank_rows, uint64_t{std::max(2u, chip_.pe_latency)} * chip_.n);
    std::vector<std::pair<Span, uint64_t>> blocks;  // places, column block
    for (const Span& places : grid_.cut(most))
      for (uint64_t block = 0; block < tiles_.blocks(by_.product.n); block++) blocks.emplace_back(places, block);
    for (size_t first = 0; first < blocks.size(); first += chip_.num_mxu) {
      const size_t end = std::min<size_t>(first + chip_.num_mxu, blocks.size());
      std::vector<BufferId> sums;
      for (size_t i = first; i < end; i++)
        sums.push_back(graph_.add_buffer(command_graph::BufferSpace::kAcc, blocks[i].first.count));
      for (size_t group = 0; group < groups_.size(); group++)
        for (size_t i = first; i < end; i++) multiply(blocks[i].first, blocks[i].second, group, sums[i - first]);
      for (size_t i = first; i < end; i++) finish(y, blocks[i].first, blocks[i].second, sums[i - first], bias);
    }
  }

  void from_pixels(uint64_t first_image) {
    WindowImages images(tiles_, group_, by_.product.name, WEFT_VPU_DTYPE_BF16, 0);
    for (const auto& tap : images.copy(by_.sources, first_image)) {
      const uint64_t channels = by_.sources[tap.source]->columns;
      taps_.push_back({tap.buffer, tap.word, tap.row_words, channels, sum_length_});
      sum_length_ += channels;
    }
    grid_ = images.grid();
  }

  void from_lines(uint64_t first_image) {
    WindowImages images(tiles_, group_, by_.product.name, WEFT_VPU_DTYPE_BF16, 0);
    Matrix& source = *by_.sources[0];
    const uint64_t channels = source.rows / (w_.images * w_.size[0]), high = w_.taps[0] * channels;
    const auto low_y = static_cast<uint64_t>(w_.low[0]), low_x = static_cast<uint64_t>(w_.low[1]);
    // Lines of an image, padding among them; of each all channels, one behind the other.
    const uint64_t lines = std::max(w_.size[0] + low_y, (w_.places[0] - 1) * w_.stride[0] + w_.taps[0]);
    const auto wide = images.padding(group_.images * lines * channels, w_.size[1]);
    for (uint64_t i = 0; i < group_.images; i++)
      for (uint64_t c = 0; c < channels; c++)
        images.copy_rows(source, ((first_image + i) * channels + c) * w_.size[0], 1, w_.size[0], wide,
                         (i * lines + low_y) * channels + c, channels);
    const uint64_t reach = (w_.places[1] - 1) * w_.stride[1] + (w_.taps[1] - 1) * w_.dilation[1] + 1;
    grid_.windows = &group_, grid_.image_lines = w_.places[0], grid_.first_image = first_image;
    grid_.line_places = (std::max(w_.size[1] + low_x, reach) + w_.stride[1] - 1) / w_.stride[1];
    place_rows_ = w_.stride[1];
    const uint64_t line_rows = grid_.line_places * place_rows_;
    const auto tall = images.padding(group_.images * w_.places[0] * line_rows, high);
    for (uint64_t i = 0; i < group_.images; i++)
      for (uint64_t oy = 0; oy < w_.places[0]; oy++)
        for (uint64_t first = 0; first < high; first += chip_.n)
          for (uint64_t block = 0; block < wide.row_words; block++) {
            spec::VpuCommand c;
            c.header.opcode = WEFT_OPCODE_TRANSPOSE;
            c.header.tag = tiles_.program_.tag(fmt::format("{} pixels", by_.product.name));
            c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_BF16;
            c.rows = static_cast<uint16_t>(std::min<uint64_t>(chip_.n, high - first));
            c.cols = static_cast<uint16_t>(tiles_.lanes(w_.size[1], block));
            const uint64_t from = (i * lines + oy * w_.stride[0]) * channels + first;
            c.a_addr = static_cast<uint32_t>(from * wide.row_words + block);
            c.a_stride = static_cast<uint32_t>(wide.row_words);
            const uint64_t row = (i * w_.places[0] + oy) * line_rows + low_x + block * chip_.n;
            c.d_addr = static_cast<uint32_t>(row * tall.row_words + first / chip_.n);
            c.d_stride = static_cast<uint32_t>(tall.row_words);
            graph_.vector(c, wide.buffer, kNoBuffer, tall.buffer);
          }
    for (uint64_t kx = 0; kx < w_.taps[1]; kx++)
      taps_.push_back({tall.buffer, kx * w_.dilation[1] * tall.row_words, tall.row_words, high, kx * high});
    sum_length_ = w_.taps[1] * high;
  }

  /// Taps whose weights are loaded together.
  void group_taps() {
    uint64_t held = 0;
    for (size_t tap = 0; tap < taps_.size(); tap++) {
      if (tap == 0 || held >= kLoadTiles * chip_.n) groups_.push_back({tap, 0}), held = 0;
      groups_.back().count++;
      held += taps_[tap].channels;
    }
  }

  BufferId load_weights(uint64_t block, size_t group) {
    if (weights_[residue_][block].size() > group) return weights_[residue_][block][group];
    const Tap &first = taps_[groups_[group].first], &last = taps_[groups_[group].first + groups_[group].count - 1];
    const uint64_t rows = last.weight + last.channels - first.weight;
    const BufferId buffer = graph_.add_buffer(command_graph::BufferSpace::kVmem, rows);
    spec::DmaCommand load;
    load.header.opcode = WEFT_OPCODE_COPY;
    load.header.tag = tiles_.program_.tag(fmt::format("{} weights columns {}..", by_.product.name, block * chip_.n));
    load.src_seg = by_.product.weights.segment;
    load.src_off = by_.product.weights.offset_bytes +
                   (block * tiles_.blocks(by_.spread[0] * by_.spread[1] * sum_length_) * chip_.n +
                    residue_ * sum_length_ + first.weight) *
                       chip_.word_bytes;
    load.size0 = static_cast<uint32_t>(rows * chip_.word_bytes);
    tiles_.program_.note_hbm_bytes(load.size0);
    graph_.load(load, buffer);
    weights_[residue_][block].push_back(buffer);
    return buffer;
  }

  void multiply(Span places, uint64_t block, size_t group, BufferId sums) {
    const BufferId weights = load_weights(block, group);
    const Span part = groups_[group];
    for (uint64_t tap = part.first; tap < part.first + part.count; tap++) {
      const Tap& t = taps_[tap];
      spec::MxuCommand c;
      c.header.opcode = WEFT_OPCODE_MATMUL;
      c.header.tag = tiles_.program_.tag(
          fmt::format("{} places {}.. columns {}..", by_.product.name, places.first, block * chip_.n));
      c.x_row_stride = static_cast<uint32_t>(place_rows_ * t.row_words), c.x_tile_stride = 1;
      c.x_addr = static_cast<uint32_t>(t.word + places.first * c.x_row_stride);
      c.w_addr = static_cast<uint32_t>(t.weight - taps_[part.first].weight), c.w_tile_stride = chip_.n;
      c.k = static_cast<uint32_t>(t.channels);
      c.m = static_cast<uint16_t>(places.count);
      c.cols = static_cast<uint16_t>(tiles_.lanes(by_.product.n, block));
      c.seed = tap == 0 ? WEFT_MXU_SEED_ZERO : WEFT_MXU_SEED_KEEP;
      c.dtype = WEFT_MXU_DTYPE_BF16;
      graph_.product(c, t.buffer, weights, sums);
    }
  }

  /// Bias, activation and rounding of those sums of a block that are results.
  void finish(Matrix& y, Span places, uint64_t block, BufferId sums, BufferId bias) {
    const uint16_t tag = tiles_.program_.tag(
        fmt::format("{} epilogue places {}.. columns {}..", by_.product.name, places.first, block * chip_.n));
    grid_.for_each_run(places, y, [&](uint64_t place, uint64_t row, uint64_t chunk, uint64_t count) {
      spec::VpuCommand c;
      c.header.opcode = WEFT_OPCODE_EPILOGUE;
      c.header.tag = tag;
      c.src_space = WEFT_VPU_SPACE_ACC;
      c.src_dtype = WEFT_VPU_DTYPE_F32, c.dst_dtype = static_cast<uint8_t>(by_.product.dtype);
      c.rows = static_cast<uint16_t>(count), c.cols = static_cast<uint16_t>(tiles_.lanes(by_.product.n, block));
      c.a_addr = static_cast<uint32_t>(place - places.first), c.a_stride = 1;
      if (by_.product.bias) c.b_mode = WEFT_VPU_B_MODE_ROW, c.b_addr = static_cast<uint32_t>(2 * block);
      c.activation = static_cast<uint8_t>(by_.product.activation);
      c.d_addr =
          static_cast<uint32_t>((row - y.row_chunks[chunk].first) * y.row_words + block * row_words(by_.product.dtype));
      c.d_stride = static_cast<uint32_t>(by_.spread[1] * y.row_words);
      graph_.vector(c, sums, bias, y.chunks[chunk]);
    });
  }

  TileBuilder& tiles_;
  CommandGraph& graph_;
  const spec::Chip& chip_;
  const Convolution& by_;
  const Windows& w_;
  Windows group_;  ///< of some images
  PlaceGrid grid_;
  uint64_t place_rows_ = 1;  ///< rows from one place to the next
  uint64_t sum_length_ = 0, residue_ = 0;
  std::vector<Tap> taps_;
  std::vector<Span> groups_;
  std::vector<std::vector<std::vector<BufferId>>> weights_;  ///< by residue, column block and group
};

Matrix TileBuilder::convolution(const Convolution& by) { return Convolver(*this, by).run(); }

}  // namespace weft::compiler::tiles
