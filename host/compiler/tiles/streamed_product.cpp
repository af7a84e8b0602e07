// Output blocks, rows outermost, in waves of as many as there are MXUs: K group by K group, so that the MXUs run side by
// side on the same rows of x. The first wave is made of MATMULs with loads of their own, of two K tiles and then of half as
// many as came before, so that the first one begins soon.
#include "host/compiler/tiles/streamed_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/round_up.hpp"
#include "host/compiler/tiles/chunk_copies.hpp"

namespace weft::compiler::tiles {
namespace {

using command_graph::BufferId;
using command_graph::BufferSpace;

constexpr uint64_t kMatmulCycles = 512;  // of the first wave
constexpr uint64_t kFirstTiles = 2;      // of the first loads: runs of x are two words then

/// K tiles of a chunk of x or W that are in VMEM.
struct Held {
  BufferId buffer = command_graph::kNoBuffer;
  Span loaded;
};

/// Chunks of an operand in VMEM, the newest of so many.
class HeldChunks {
 public:
  explicit HeldChunks(uint64_t most) : most_(most) {}

  using Key = std::pair<uint64_t, uint64_t>;  // row chunk or column block, and K chunk
  /// The chunk, if it holds the K tiles before `group`; else a new one, in a buffer of so many words.
  Held& acquire(const Key& key, Span group, command_graph::CommandGraph& graph, uint64_t words) {
    if (const auto found = held_.find(key); found != held_.end()) {
      const Span loaded = found->second.loaded;
      if (loaded.first <= group.first && group.first <= loaded.first + loaded.count) return found->second;
      held_.erase(found);
      std::erase(order_, key);
    }
    if (order_.size() == most_) {
      held_.erase(order_.front());
      order_.erase(order_.begin());
    }
    order_.push_back(key);
    return held_[key] = {graph.add_buffer(BufferSpace::kVmem, words), {group.first, 0}};
  }

 private:
  const uint64_t most_;
  std::map<Key, Held> held_;
  std::vector<Key> order_;  ///< the oldest first
};

class ProductStream {
 public:
  ProductStream(command_graph::CommandGraph& graph, ProgramBuilder& program, const DenseStep& step,
                const GemmTiling& plan)
      : graph_(graph),
        program_(program),
        step_(step),
        plan_(plan),
        chip_(graph.chip()),
        x_(plan.x_slots),
        weights_(plan.weight_slots) {}

  void run() {
    if (step_.bias && plan_.bias_resident) bias_ = load_bias(0, plan_.column_blocks);
    const uint64_t blocks = plan_.row_chunks.size() * plan_.column_blocks;
    for (uint64_t first = 0; first < blocks; first += chip_.num_mxu) {
      const uint64_t end = std::min<uint64_t>(first + chip_.num_mxu, blocks);
      std::vector<BufferId> sums;
      for (uint64_t block = first; block < end; block++)
        sums.push_back(graph_.add_buffer(BufferSpace::kAcc, rows_of(block).count));
      for (const Span& group : groups(first == 0))
        for (uint64_t block = first; block < end; block++) multiply(block, group, sums[block - first]);
      for (uint64_t block = first; block < end; block++) finish(block, sums[block - first]);
    }
    if (step_.of_model) program_.note_macs(step_.m * step_.k * step_.n);
  }

 private:
  [[nodiscard]] uint64_t element() const { return step_.dtype == WEFT_MXU_DTYPE_INT8 ? 1 : 2; }
  [[nodiscard]] uint64_t row_of(uint64_t block) const { return block / plan_.column_blocks; }
  [[nodiscard]] uint64_t column_of(uint64_t block) const { return block % plan_.column_blocks; }
  [[nodiscard]] const Span& rows_of(uint64_t block) const { return plan_.row_chunks[row_of(block)]; }
  [[nodiscard]] uint64_t columns(uint64_t column) const {
    return std::min<uint64_t>(chip_.n, step_.n - column * chip_.n);
  }
  [[nodiscard]] const Span& k_chunk_of(Span group) const {
    return plan_.k_chunks[group.first / plan_.k_chunks.front().count];
  }
  uint16_t tag(const char* what, uint64_t row, uint64_t column) {
    return program_.tag(
        fmt::format("{} {} rows {}.. columns {}..", step_.name, what, plan_.row_chunks[row].first, column * chip_.n));
  }

  [[nodiscard]] std::vector<Span> groups(bool first_wave) const {
    if (!first_wave) return plan_.k_chunks;
    const uint64_t rows = std::max<uint64_t>(plan_.row_chunks.front().count, uint64_t{chip_.pe_latency} * chip_.n);
    const uint64_t most = std::max(kFirstTiles, kMatmulCycles / rows);
    std::vector<Span> result;
    for (const Span& chunk : plan_.k_chunks)
      for (uint64_t t = 0, count = 0; t < chunk.count; t += count) {
        count = std::min(std::clamp((chunk.first + t) / 2, kFirstTiles, most), chunk.count - t);
        result.push_back({chunk.first + t, count});
      }
    return result;
  }

  void load(spec::DmaCommand command, uint16_t tag, BufferId to) {
    command.header.opcode = WEFT_OPCODE_COPY;
    command.header.tag = tag;
    program_.note_hbm_bytes(uint64_t{command.size0} * command.size1);
    graph_.load(command, to);
  }

  BufferId need_weights(uint64_t block, Span group) {
    const uint64_t column = column_of(block);
    const Span& chunk = k_chunk_of(group);
    Held& held = weights_.acquire({column, chunk.first}, group, graph_, chunk.count * chip_.n);
    const uint64_t end = group.first + group.count, from = held.loaded.first + held.loaded.count;
    if (from < end) {
      spec::DmaCommand c;
      c.src_seg = step_.weights.segment;
      c.src_off = step_.weights.offset_bytes + (column * plan_.tiles + from) * chip_.n * chip_.word_bytes;
      c.dst_off = (from - chunk.first) * chip_.n * chip_.word_bytes;
      c.size0 = static_cast<uint32_t>((end - from) * chip_.n * chip_.word_bytes);
      load(c, tag("weights", row_of(block), column), held.buffer);
      held.loaded.count = end - held.loaded.first;
    }
    return held.buffer;
  }

  BufferId need_x(uint64_t block, Span group) {
    const uint64_t row = row_of(block);
    const Span &chunk = k_chunk_of(group), &rows = rows_of(block);
    Held& held = x_.acquire({row, chunk.first}, group, graph_, rows.count * plan_.x_row_stride);
    const uint64_t end = group.first + group.count, from = held.loaded.first + held.loaded.count;
    if (from < end) {
      const uint64_t first_k = from * plan_.tile_k;
      const uint64_t count_k = std::min(end * plan_.tile_k, step_.k) - first_k;
      spec::DmaCommand c;
      c.src_seg = step_.x.segment;
      c.src_off = step_.x.offset_bytes + rows.first * step_.x.pitch_bytes + first_k * element();
      c.dst_off = (from - chunk.first) * chip_.word_bytes;
      c.size0 = static_cast<uint32_t>(round_up(count_k * element(), 16));
      c.size1 = static_cast<uint16_t>(rows.count);
      c.src_stride1 = static_cast<int32_t>(step_.x.pitch_bytes);
      c.dst_stride1 = static_cast<int32_t>(plan_.x_row_stride * chip_.word_bytes);
      load(c, tag("x", row, 0), held.buffer);
      held.loaded.count = end - held.loaded.first;
    }
    return held.buffer;
  }

  BufferId load_bias(uint64_t column, uint64_t count) {
    const uint64_t bytes = 4ull * chip_.n;
    const BufferId buffer = graph_.add_buffer(BufferSpace::kVmem, 2 * count);
    spec::DmaCommand c;
    c.src_seg = step_.bias->segment;
    c.src_off = step_.bias->offset_bytes + column * bytes;
    c.size0 = static_cast<uint32_t>(count * bytes);
    load(c, tag("bias", 0, column), buffer);
    return buffer;
  }

  /// Sums of a block += K tiles `group`.
  void multiply(uint64_t block, Span group, BufferId sums) {
    const uint64_t first = group.first - k_chunk_of(group).first;
    const BufferId weights = need_weights(block, group), x = need_x(block, group);
    spec::MxuCommand c;
    c.header.opcode = WEFT_OPCODE_MATMUL;
    c.header.tag = tag("matmul", row_of(block), column_of(block));
    c.x_addr = static_cast<uint32_t>(first);
    c.x_row_stride = static_cast<uint32_t>(plan_.x_row_stride), c.x_tile_stride = 1;
    c.w_addr = static_cast<uint32_t>(first * chip_.n), c.w_tile_stride = chip_.n;
    c.k = static_cast<uint32_t>(std::min(group.count * plan_.tile_k, step_.k - group.first * plan_.tile_k));
    c.m = static_cast<uint16_t>(rows_of(block).count);
    c.cols = static_cast<uint16_t>(columns(column_of(block)));
    c.seed = group.first == 0 ? WEFT_MXU_SEED_ZERO : WEFT_MXU_SEED_KEEP;
    c.dtype = static_cast<uint8_t>(step_.dtype);
    graph_.product(c, x, weights, sums);
  }

  /// Bias, activation and rounding of a block's sums; column blocks that are stored together lie side by side.
  void finish(uint64_t block, BufferId sums) {
    const uint64_t row = row_of(block), column = column_of(block), first = column - column % plan_.store_blocks;
    const uint64_t words = plan_.output_row_words, stride = plan_.store_blocks * words;
    if (column == first) output_ = graph_.add_buffer(BufferSpace::kVmem, rows_of(block).count * stride);
    const BufferId bias = !step_.bias ? command_graph::kNoBuffer : plan_.bias_resident ? bias_ : load_bias(column, 1);
    spec::VpuCommand c;
    c.header.opcode = WEFT_OPCODE_EPILOGUE;
    c.header.tag = tag("epilogue", row, column);
    c.src_space = WEFT_VPU_SPACE_ACC;
    c.src_dtype = step_.dtype == WEFT_MXU_DTYPE_INT8 ? WEFT_VPU_DTYPE_I32 : WEFT_VPU_DTYPE_F32;
    c.dst_dtype = static_cast<uint8_t>(step_.y_dtype);
    c.rows = static_cast<uint16_t>(rows_of(block).count), c.cols = static_cast<uint16_t>(columns(column));
    c.a_stride = 1;
    c.d_addr = static_cast<uint32_t>((column - first) * words), c.d_stride = static_cast<uint32_t>(stride);
    if (step_.bias) c.b_mode = WEFT_VPU_B_MODE_ROW;
    if (step_.bias && plan_.bias_resident) c.b_addr = static_cast<uint32_t>(2 * column);
    c.activation = static_cast<uint8_t>(step_.activation);
    graph_.vector(c, sums, bias, output_);
    if (column + 1 == plan_.column_blocks || column + 1 == first + plan_.store_blocks)
      store(row, first, column, stride);
  }

  void store(uint64_t row, uint64_t first, uint64_t last, uint64_t stride) {
    const uint64_t bytes = vpu_element_bytes(step_.y_dtype);
    TensorPlace to = step_.y;
    to.offset_bytes += first * chip_.n * bytes;
    const Span& rows = plan_.row_chunks[row];
    const auto c = chunk_store(chip_, tag("store", row, first), to, rows.first, rows.count,
                               ((last - first) * chip_.n + columns(last)) * bytes, 0, stride);
    program_.note_hbm_bytes(uint64_t{c.size0} * c.size1);
    graph_.store(c, output_);
  }

  command_graph::CommandGraph& graph_;
  ProgramBuilder& program_;
  const DenseStep& step_;
  const GemmTiling& plan_;
  const spec::Chip& chip_;
  HeldChunks x_, weights_;
  BufferId bias_ = command_graph::kNoBuffer, output_ = command_graph::kNoBuffer;
};

}  // namespace

void stream_product(command_graph::CommandGraph& graph, ProgramBuilder& program, const DenseStep& step,
                    const GemmTiling& plan) {
  ProductStream(graph, program, step, plan).run();
}

double streamed_commands(const GemmTiling& plan) {
  const auto blocks = static_cast<double>(plan.row_chunks.size() * plan.column_blocks);
  const auto chunks = static_cast<double>(plan.k_chunks.size());
  const double loads = plan.weights_resident ? 0 : plan.k_chunks.size() > 2 ? 2 * chunks : chunks;
  return blocks * (chunks + loads + 1 + 1.0 / static_cast<double>(plan.store_blocks));
}

}  // namespace weft::compiler::tiles
