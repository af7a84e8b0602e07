// Convolutions without copies of what lies under the windows. The sources are rounded once into images in which the
// rows under a tap at all places lie equally far apart, so each tap is one MATMUL, all into one block of sums. Between
// the places of two lines lies padding: its sums are computed and not used.
//
// Of few channels, rows of the source are lines, and what lies under a window is put together, so that few K tiles have
// all of it. Where channels fill half of a word at most and the vector unit is fast enough, several taps of a line
// share one.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "host/compiler/command_graph/unit_times.hpp"
#include "host/compiler/tiles/chunk_copies.hpp"
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
    tiles_.program_.note_macs(w_.results() * residues * sum_length_ * (by_.int8 ? 2 : 1) * product.n);
    return y;
  }

 private:
  /// A term of the sum: `channels` columns of the rows that begin at `word` with place 0.
  struct Tap {
    BufferId buffer = kNoBuffer;
    uint64_t word = 0, row_words = 0, channels = 0;
    uint64_t weight = 0;       ///< its first row of the weights
    uint64_t weight_rows = 0;  ///< two channels to a row of i8
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
    const auto byte = static_cast<uint8_t>(by_.padding);
    WindowImages images(tiles_, group_, by_.product.name, by_.int8 ? WEFT_VPU_DTYPE_I8 : WEFT_VPU_DTYPE_BF16,
                        by_.int8 ? 0x01010101u * byte : 0, by_.bytes);
    for (const auto& tap : images.copy(by_.sources, first_image)) {
      const uint64_t channels = by_.sources[tap.source]->columns;
      const uint64_t rows = by_.int8 ? (channels + 1) / 2 : channels;
      taps_.push_back({tap.buffer, tap.word, tap.row_words, channels, sum_length_, rows});
      sum_length_ += rows;
    }
    grid_ = images.grid();
    if (const uint64_t taps = taps_of_a_word(); taps > 1 && worth_a_word(taps)) put_beside(taps);
  }

  void from_lines(uint64_t first_image) {
    WindowImages images(tiles_, group_, by_.product.name, WEFT_VPU_DTYPE_BF16, 0);
    Matrix& source = *by_.sources[0];
    const uint64_t channels = source.rows / (w_.images * w_.size[0]);
    const auto low_y = static_cast<uint64_t>(w_.low[0]);
    // Lines of an image, padding among them; of each all channels, one behind the other.
    const uint64_t lines = std::max(w_.size[0] + low_y, (w_.places[0] - 1) * w_.stride[0] + w_.taps[0]);
    const auto wide = images.padding(group_.images * lines * channels, w_.size[1]);
    for (uint64_t i = 0; i < group_.images; i++)
      for (uint64_t c = 0; c < channels; c++)
        images.copy_rows(source, ((first_image + i) * channels + c) * w_.size[0], 1, w_.size[0], wide,
                         (i * lines + low_y) * channels + c, channels);
    grid_.windows = &group_, grid_.first_image = first_image;
    grid_.image_lines = w_.places[0], grid_.line_places = w_.places[1];
    sum_length_ = w_.taps[0] * channels * w_.taps[1];
    const WindowImages::Image under{
        graph_.add_buffer(command_graph::BufferSpace::kVmem, group_.results() * tiles_.blocks(sum_length_)),
        tiles_.blocks(sum_length_)};
    for (uint64_t i = 0; i < group_.images; i++)
      under_windows(images, {wide.buffer, wide.row_words}, i * lines * channels, lines * channels, channels, under, i);
    taps_.push_back({under.buffer, 0, under.row_words, sum_length_, 0, sum_length_});
  }

  /// What lies under the windows of image `i`, whose `count` lines of all channels begin at row `first` of `wide`:
  /// three times transposed. Pixels become rows; those under a tap column become lines again, and lie beside those of
  /// the other tap columns; what a line of places sees is then a block of consecutive rows, which become columns.
  void under_windows(WindowImages& images, const WindowImages::Image& wide, uint64_t first, uint64_t count,
                     uint64_t channels, const WindowImages::Image& under, uint64_t i) {
    const uint64_t n = chip_.n, columns = w_.taps[1], places = w_.places[1], low = static_cast<uint64_t>(w_.low[1]);
    const uint64_t reach = (places - 1) * w_.stride[1] + (columns - 1) * w_.dilation[1] + 1;
    const auto pixels = images.padding(std::max(w_.size[1] + low, reach), count);
    const uint64_t place_words = tiles_.blocks(places);
    const WindowImages::Image taps{graph_.add_buffer(command_graph::BufferSpace::kVmem, count * columns * place_words),
                                   place_words};
    for (uint64_t line = 0; line < count; line += n) {
      const uint64_t some = std::min(n, count - line);
      for (uint64_t x = 0; x < w_.size[1]; x += n)
        transpose(wide, first + line, x / n, 1, some, std::min(n, w_.size[1] - x), pixels, low + x, line / n, 1);
      for (uint64_t kx = 0; kx < columns; kx++)
        for (uint64_t x = 0; x < places; x += n)
          transpose(pixels, x * w_.stride[1] + kx * w_.dilation[1], line / n, w_.stride[1], std::min(n, places - x),
                    some, taps, line * columns + kx, x / n, columns);
    }
    for (uint64_t oy = 0; oy < w_.places[0]; oy++)
      for (uint64_t k = 0; k < sum_length_; k += n)
        for (uint64_t x = 0; x < places; x += n)
          transpose(taps, oy * w_.stride[0] * channels * columns + k, x / n, 1, std::min(n, sum_length_ - k),
                    std::min(n, places - x), under, (i * w_.places[0] + oy) * places + x, k / n, 1);
  }

  /// `rows` rows of `from`, `step` apart, from `row` on, and `columns` of their lanes from word `word` on, become
  /// columns in word `to_word` of rows of `to` from `to_row` on, `to_step` apart.
  void transpose(const WindowImages::Image& from, uint64_t row, uint64_t word, uint64_t step, uint64_t rows,
                 uint64_t columns, const WindowImages::Image& to, uint64_t to_row, uint64_t to_word, uint64_t to_step) {
    spec::VpuCommand c;
    c.header.opcode = WEFT_OPCODE_TRANSPOSE;
    c.header.tag = tiles_.program_.tag(fmt::format("{} pixels", by_.product.name));
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_BF16;
    c.rows = static_cast<uint16_t>(rows), c.cols = static_cast<uint16_t>(columns);
    c.a_addr = static_cast<uint32_t>(row * from.row_words + word);
    c.a_stride = static_cast<uint32_t>(step * from.row_words);
    c.d_addr = static_cast<uint32_t>(to_row * to.row_words + to_word);
    c.d_stride = static_cast<uint32_t>(to_step * to.row_words);
    graph_.vector(c, from.buffer, kNoBuffer, to.buffer);
  }

  /// Taps beside each other in a line whose channels together have room in a word.
  [[nodiscard]] uint64_t taps_of_a_word() const {
    const uint64_t channels = by_.sources[0]->columns;
    return by_.sources.size() == 1 && !by_.int8 ? std::clamp<uint64_t>(chip_.n / channels, 1, w_.taps[1]) : 1;
  }

  /// Whether a word for several taps saves the MXUs more than it costs the vector unit, which has about four operations
  /// on each row beside: of N places, cycles of the unit that takes longer.
  [[nodiscard]] bool worth_a_word(uint64_t taps) const {
    const auto groups = [&](uint64_t rows) { return (rows + chip_.vpu_sublanes - 1) / chip_.vpu_sublanes; };
    const uint64_t n = chip_.n, channels = by_.sources[0]->columns, latency = command_graph::kVpuLatencyCycles;
    const uint64_t words = w_.taps[0] * ((w_.taps[1] + taps - 1) / taps), copies = w_.stride[0];
    const uint64_t blocks = tiles_.blocks(by_.product.n) * by_.spread[0] * by_.spread[1];
    const auto mxu = [&](uint64_t tiles) { return tiles * n * blocks / chip_.num_mxu; };
    const uint64_t vpu = 4 * (groups(n) + latency), turns = taps * (groups(n) + groups(channels) + latency) +
                                                            groups(taps * channels) + groups(n) + latency;
    return std::max(mxu(words), vpu + copies * turns) < std::max(mxu(w_.tap_count()), vpu);
  }

  /// Taps of a line, several to a word: `taps` of them lie beside each other in its lanes. Rows of the image become
  /// columns, those of the next tap below them, and all together rows again.
  void put_beside(uint64_t taps) {
    struct Packed {
      WindowImages::Image image;
      uint64_t first;  ///< row of the first tap's image that its row 0 begins with
    };
    /// Buffers of the taps, and how many rows each lies behind the first one.
    using Key = std::vector<std::pair<BufferId, int64_t>>;
    std::map<Key, std::pair<uint64_t, uint64_t>> rows;  ///< first and last row of the first tap that is used
    std::vector<std::pair<Key, Span>> words;            ///< in the order of the sum
    const auto row_of = [](const Tap& t) { return static_cast<int64_t>(t.word / t.row_words); };
    for (size_t line = 0; line < taps_.size(); line += w_.taps[1])
      for (uint64_t first = 0; first < w_.taps[1]; first += taps) {
        const Span part{line + first, std::min(taps, w_.taps[1] - first)};
        Key key;
        for (size_t tap = part.first; tap < part.first + part.count; tap++)
          key.emplace_back(taps_[tap].buffer, row_of(taps_[tap]) - row_of(taps_[part.first]));
        const auto row = static_cast<uint64_t>(row_of(taps_[part.first]));
        const auto [found, fresh] = rows.try_emplace(key, row, row);
        found->second = {std::min(found->second.first, row), std::max(found->second.second, row)};
        words.emplace_back(std::move(key), part);
      }
    std::map<Key, Packed> packed;
    std::vector<Tap> beside;
    for (const auto& [key, part] : words) {
      Tap tap = taps_[part.first];
      if (part.count > 1) {
        const auto [first, last] = rows.at(key);
        if (!packed.contains(key)) packed[key] = {pack(key, first, last - first + grid_.count()), first};
        const Packed& p = packed.at(key);
        const uint64_t row = static_cast<uint64_t>(row_of(tap)) - p.first;
        tap.buffer = p.image.buffer, tap.row_words = p.image.row_words, tap.word = row * tap.row_words;
        tap.channels *= part.count, tap.weight_rows *= part.count;
      }
      beside.push_back(tap);
    }
    taps_ = std::move(beside);
  }

  [[nodiscard]] WindowImages::Image pack(const std::vector<std::pair<BufferId, int64_t>>& taps, uint64_t first,
                                         uint64_t rows) {
    const uint64_t channels = by_.sources[0]->columns, n = chip_.n;
    const WindowImages::Image to{graph_.add_buffer(command_graph::BufferSpace::kVmem, rows), 1};
    for (uint64_t row = 0; row < rows; row += n) {
      const uint64_t count = std::min(n, rows - row);
      const WindowImages::Image columns{graph_.add_buffer(command_graph::BufferSpace::kVmem, taps.size() * channels),
                                        1};
      for (size_t tap = 0; tap < taps.size(); tap++) {
        const auto [buffer, behind] = taps[tap];
        transpose({buffer, 1}, static_cast<uint64_t>(static_cast<int64_t>(first + row) + behind), 0, 1, count, channels,
                  columns, tap * channels, 0, 1);
      }
      transpose(columns, 0, 0, 1, taps.size() * channels, count, to, row, 0, 1);
    }
    return to;
  }

  /// Taps whose weights are loaded together.
  void group_taps() {
    uint64_t held = 0;
    for (size_t tap = 0; tap < taps_.size(); tap++) {
      if (tap == 0 || held >= kLoadTiles * chip_.n) groups_.push_back({tap, 0}), held = 0;
      groups_.back().count++;
      held += taps_[tap].weight_rows;
    }
  }

  BufferId load_weights(uint64_t block, size_t group) {
    if (weights_[residue_][block].size() > group) return weights_[residue_][block][group];
    const Tap &first = taps_[groups_[group].first], &last = taps_[groups_[group].first + groups_[group].count - 1];
    const uint64_t rows = last.weight + last.weight_rows - first.weight;
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
      c.x_row_stride = static_cast<uint32_t>(t.row_words), c.x_tile_stride = 1;
      c.x_addr = static_cast<uint32_t>(t.word + places.first * c.x_row_stride);
      c.w_addr = static_cast<uint32_t>(t.weight - taps_[part.first].weight), c.w_tile_stride = chip_.n;
      c.k = static_cast<uint32_t>(t.channels);
      c.m = static_cast<uint16_t>(places.count);
      c.cols = static_cast<uint16_t>(tiles_.lanes(by_.product.n, block));
      c.seed = tap == 0 ? WEFT_MXU_SEED_ZERO : WEFT_MXU_SEED_KEEP;
      c.dtype = by_.int8 ? WEFT_MXU_DTYPE_INT8 : WEFT_MXU_DTYPE_BF16;
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
      c.src_dtype = by_.int8 ? WEFT_VPU_DTYPE_I32 : WEFT_VPU_DTYPE_F32;
      c.dst_dtype = static_cast<uint8_t>(by_.product.dtype);
      c.rows = static_cast<uint16_t>(count), c.cols = static_cast<uint16_t>(tiles_.lanes(by_.product.n, block));
      c.a_addr = static_cast<uint32_t>(place - places.first), c.a_stride = 1;
      tiles_.add_operands(c, by_.product, block);
      const uint64_t in_chunk = row - y.row_chunks[chunk].first;
      c.d_addr = static_cast<uint32_t>(in_chunk * y.row_words + block * y.block_words);
      c.d_stride = static_cast<uint32_t>(by_.spread[1] * y.row_words);
      Matrix* const residual = by_.product.residual;
      if (residual == nullptr) return graph_.vector(c, sums, bias, y.chunks[chunk]);
      tiles_.need(*residual, chunk, {0, tiles_.blocks(by_.product.n)});
      c.b_addr = static_cast<uint32_t>(in_chunk * residual->row_words + block * residual->block_words);
      c.b_stride *= static_cast<uint32_t>(by_.spread[1]);
      graph_.vector(c, sums, residual->chunks[chunk], y.chunks[chunk], bias);
    });
  }

  TileBuilder& tiles_;
  CommandGraph& graph_;
  const spec::Chip& chip_;
  const Convolution& by_;
  const Windows& w_;
  Windows group_;  ///< of some images
  PlaceGrid grid_;
  uint64_t sum_length_ = 0, residue_ = 0;
  std::vector<Tap> taps_;
  std::vector<Span> groups_;
  std::vector<std::vector<std::vector<BufferId>>> weights_;  ///< by residue, column block and group
};

Matrix TileBuilder::convolution(const Convolution& by) { return Convolver(*this, by).run(); }

}  // namespace weft::compiler::tiles
