// Rows to one value each: REDUCE of each block of columns, then the blocks as the same tree of neighbours. The largest
// and the smallest are the same in any order: of the blocks first, lane by lane, then of the lanes.
#include <fmt/format.h>

#include "host/compiler/tiles/chunk_copies.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint64_t kWords = 2;       // of a row of f32 or i32
constexpr uint64_t kManyBlocks = 4;  // of columns, that rows of sublanes fold faster than pair by pair
constexpr uint64_t kApartBanks = 6;  // in which neighbours of a tree begin, so that both are read at once

/// The operation of two values that a reduction is made of.
weft_vpu_op operation_of(weft_vpu_op op) {
  return op == WEFT_VPU_OP_SUM ? WEFT_VPU_OP_ADD : op == WEFT_VPU_OP_RMAX ? WEFT_VPU_OP_MAX : WEFT_VPU_OP_MIN;
}

/// Rows of one block of columns.
struct Part {
  BufferId buffer = command_graph::kNoBuffer;
  uint64_t word = 0, stride = kWords;
};

/// The reduction of one row chunk.
class Reduction {
 public:
  Reduction(CommandGraph& graph, weft_vpu_op op, weft_vpu_dtype dtype, uint64_t rows, uint16_t tag)
      : graph_(graph), op_(op), dtype_(dtype), rows_(rows), tag_(tag) {
    const uint64_t banks = graph.chip().vmem_banks, words = rows * kWords, sublanes = graph.chip().vpu_sublanes;
    const uint64_t apart = sublanes > 1 ? sublanes * kWords : kApartBanks;
    part_words_ = words + (apart % banks + banks - words % banks) % banks;
  }

  /// Room for so many parts side by side.
  void make_room(uint64_t parts) { room_ = graph_.add_buffer(command_graph::BufferSpace::kVmem, parts * part_words_); }
  Part next() { return {room_, part_words_ * taken_++}; }

  void reduce(const Part& a, uint64_t lanes, const Part& d) const {
    graph_.vector(command(WEFT_OPCODE_REDUCE, op_, lanes, a, d), a.buffer, command_graph::kNoBuffer, d.buffer);
  }
  /// Of parts `apart` words from each other, lane by lane, in one command.
  Part fold(const Part& first, uint64_t apart, uint64_t count, uint64_t lanes) {
    const Part folded = next();
    auto c = command(WEFT_OPCODE_REDUCE, op_, lanes, first, folded);
    c.axis = WEFT_VPU_AXIS_ROWS;
    c.window = static_cast<uint16_t>(count), c.b_stride = static_cast<uint32_t>(apart);
    graph_.vector(c, first.buffer, command_graph::kNoBuffer, folded.buffer);
    return folded;
  }
  /// Neighbour by neighbour until one is left, which is written to `last` if that is given.
  Part combine(std::vector<Part> parts, uint64_t lanes, const Part* last) {
    while (parts.size() > 1) {
      std::vector<Part> pairs;
      for (size_t i = 0; i + 1 < parts.size(); i += 2) {
        pairs.push_back(parts.size() == 2 && last != nullptr ? *last : next());
        auto c = command(WEFT_OPCODE_ELEMENTWISE, operation_of(op_), lanes, parts[i], pairs.back());
        c.b_mode = WEFT_VPU_B_MODE_TENSOR;
        c.b_addr = static_cast<uint32_t>(parts[i + 1].word), c.b_stride = static_cast<uint32_t>(parts[i + 1].stride);
        graph_.vector(c, parts[i].buffer, parts[i + 1].buffer, pairs.back().buffer);
      }
      if (parts.size() % 2 == 1) pairs.push_back(parts.back());
      parts = std::move(pairs);
    }
    return parts[0];
  }
  /// From lane 0 to all lanes: as a row of values, which is read once for each lane.
  void spread(const Part& values, const Part& to) const {
    const uint64_t n = graph_.chip().n;
    for (uint64_t first = 0; first < rows_; first += n) {
      const uint64_t count = std::min<uint64_t>(n, rows_ - first);
      const Part row{graph_.add_buffer(command_graph::BufferSpace::kVmem, kWords)};
      auto c = command(WEFT_OPCODE_TRANSPOSE, WEFT_VPU_OP_NONE, 1, {values.buffer, values.word + first * kWords}, row);
      c.rows = static_cast<uint16_t>(count);
      graph_.vector(c, values.buffer, command_graph::kNoBuffer, row.buffer);
      auto back = command(WEFT_OPCODE_TRANSPOSE, WEFT_VPU_OP_NONE, count, row, {to.buffer, to.word + first * kWords});
      back.rows = static_cast<uint16_t>(n);
      back.a_stride = 0;
      graph_.vector(back, row.buffer, command_graph::kNoBuffer, to.buffer);
    }
  }

 private:
  [[nodiscard]] spec::VpuCommand command(weft_opcode opcode, weft_vpu_op what, uint64_t lanes, const Part& a,
                                         const Part& d) const {
    spec::VpuCommand c;
    c.header.opcode = static_cast<uint8_t>(opcode);
    c.header.tag = tag_;
    c.op = static_cast<uint8_t>(what);
    c.src_dtype = c.dst_dtype = static_cast<uint8_t>(dtype_);
    c.rows = static_cast<uint16_t>(rows_), c.cols = static_cast<uint16_t>(lanes);
    c.a_addr = static_cast<uint32_t>(a.word), c.a_stride = static_cast<uint32_t>(a.stride);
    c.d_addr = static_cast<uint32_t>(d.word), c.d_stride = static_cast<uint32_t>(d.stride);
    return c;
  }

  CommandGraph& graph_;
  const weft_vpu_op op_;
  const weft_vpu_dtype dtype_;
  const uint64_t rows_;
  const uint16_t tag_;
  uint64_t part_words_ = 0, taken_ = 0;
  BufferId room_ = command_graph::kNoBuffer;
};

}  // namespace

Matrix TileBuilder::reduce(Matrix& a, weft_vpu_op op, const std::string& name) {
  Matrix y = new_uniform(a.rows, a.columns, a.dtype);
  const uint64_t count = a.block_words == 0 ? 1 : blocks(a.columns);
  // Lanes of the last block are all that each block's value is there for.
  const bool whole = count == 1 || a.columns % chip_.n == 0;
  for (uint64_t chunk = 0; chunk < a.chunks.size(); chunk++) {
    need(a, chunk, {0, blocks(a.columns)});
    const uint16_t tag = program_.tag(fmt::format("{} rows {}..", name, a.row_chunks[chunk].first));
    Reduction reduction(graph_, op, a.dtype, a.row_chunks[chunk].count, tag);
    if (count > 1) reduction.make_room(2 * count);
    std::vector<Part> parts;
    for (uint64_t block = 0; block < count; block++)
      parts.push_back({a.chunks[chunk], block * a.block_words, a.row_words});
    const Part result{y.chunks[chunk]};
    if (whole && op != WEFT_VPU_OP_SUM) {
      const uint64_t all = lanes(a.columns, 0);
      const bool folds = chip_.vpu_sublanes > 1 && count >= kManyBlocks;
      reduction.reduce(
          folds ? reduction.fold(parts[0], a.block_words, count, all) : reduction.combine(parts, all, nullptr), all,
          result);
      continue;
    }
    for (uint64_t block = 0; block < count; block++) {
      const Part values = count == 1 ? result : reduction.next();
      reduction.reduce(parts[block], lanes(a.columns, block), values);
      parts[block] = values;
    }
    const Part values = reduction.combine(parts, whole ? lanes(a.columns, 0) : 1, whole ? &result : nullptr);
    if (!whole) reduction.spread(values, result);
  }
  return y;
}

}  // namespace weft::compiler::tiles
