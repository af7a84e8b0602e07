/// L2: operators on matrices that stay in VMEM, as commands of L3.
#pragma once
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/compiler/command_graph/command_graph.hpp"
#include "host/compiler/executable/program_builder.hpp"
#include "host/compiler/step.hpp"
#include "host/compiler/tiles/gemm_tiling.hpp"

namespace weft::compiler::tiles {

using command_graph::BufferId;
using command_graph::CommandGraph;

constexpr uint64_t kMostCommands = 100'000;  // of a program whose commands are ordered

/// A matrix in VMEM: row chunks, each a buffer of rows `row_words` apart; a row is blocks of N columns `block_words`
/// apart, of two words each for f32 and i32: beside each other, or all rows of a block behind all rows of the one before. What lies in memory is loaded when an operator reads it first, piece by piece.
struct Matrix {
  uint64_t rows = 0, columns = 0;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_BF16;  ///< bf16, f32 or i32
  uint64_t row_words = 0, block_words = 0;     ///< no block words: all blocks are one, whose columns are equal
  std::vector<Span> row_chunks;
  std::vector<BufferId> chunks;
  std::optional<TensorPlace> source;              ///< in memory
  std::vector<std::vector<uint8_t>> loaded = {};  ///< by chunk and column block, with a source; 1: yes
  uint64_t first_block = 0;                       ///< of a part of a landing, which gather() alone reads
};

/// A part of a matrix that comes from several chips, whose place it has here: columns from block `first_block` on.
struct PartOfLanding {
  Matrix all;
  uint64_t first_block = 0;
};

/// x W + bias + residual, then the activation: f32 sums, rounded to the result's type.
struct Product {
  std::string name;
  uint64_t n = 0;
  TensorPlace weights;              ///< packed tiles
  std::optional<TensorPlace> bias;  ///< a row of f32, padded with zeros to a multiple of N
  weft_vpu_activation activation = WEFT_VPU_ACTIVATION_NONE;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_BF16;  ///< of the result, bf16 or f32; i32 or i8 of int8
  ToBytes bytes = {};                          ///< of a result of i8, two of whose values lie in a column
  std::optional<TensorPlace> scales = {};      ///< of i8, with a bias: a row of f32 in place of one scale
  Matrix* residual = nullptr;                  ///< f32, of the result's shape
  std::optional<TensorPlace> store = {};       ///< where the result goes, block by block
  bool of_model = true;                        ///< false: its MACs are not the model's
  bool again = false;                          ///< other products have these weights: they stay in VMEM
  std::optional<PartOfLanding> into = {};      ///< where the result lies; none: in a matrix of its own
  std::vector<uint64_t> order = {};            ///< of blocks of columns; none: ascending
  uint64_t int8_k = 0;  ///< not 0: x and the weights are int8, summed over so many; x has two of them in a column
};

/// What EPILOGUE has in VMEM for all rows.
struct EpilogueRows {
  BufferId bias = command_graph::kNoBuffer, scales = command_graph::kNoBuffer;
};

/// a op b, as ELEMENTWISE does it in a's type, then cast to the result's.
struct Elementwise {
  std::string name;
  weft_vpu_op op = WEFT_VPU_OP_ADD;
  weft_vpu_b_mode b_mode = WEFT_VPU_B_MODE_TENSOR;
  Matrix* b = nullptr;  ///< tensor: of a's shape; row: of one row
  uint32_t scalar = 0, scalar2 = 0;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_BF16;
  bool uniform = false;  ///< all columns of a row of the result are equal
};

/// Element i of the result, row by row, is element `from[i]` of all sources one behind the other. All are of one type,
/// f32, bf16 or i32.
struct Rearrangement {
  std::string name;
  std::vector<Matrix*> sources;
  const std::vector<uint32_t>& from;
  uint64_t rows = 0, columns = 0;
  uint64_t weights_of = 0;  ///< it lies as as_weights() would make it for so many products; 0: as rows
};

/// Sums of products of what lies under windows, by a Product's weights.
struct Convolution {
  Windows windows;
  bool by_lines = false;                 ///< a row of the source is a line of a channel, else a pixel
  std::vector<Matrix*> sources;          ///< bf16 or f32; of pixels, channels one behind the other
  Product product;                       ///< `store` is not used
  std::array<uint64_t, 2> spread{1, 1};  ///< results of a place, each by weights of its own
  bool int8 = false;   ///< the sources, f32 or i32, become i8, and sums are i32; weights of a tap fill whole words
  int8_t padding = 0;  ///< of i8
  ToBytes bytes = {};  ///< of the sources of int8
};

/// What lies under windows, one operation for each tap in the order of lines and columns; x is f32, a row a pixel.
struct WindowOperation {
  std::string name;
  Windows windows;
  weft_vpu_op op = WEFT_VPU_OP_ADD;
  float padding = 0;
  std::optional<TensorPlace> weights;  ///< a row of f32 for each tap, by which its elements are multiplied
};

/// Rows of a table in memory, in the place's pitch.
struct TableRows {
  std::string name;
  TensorPlace table;
  uint64_t table_rows = 0, columns = 0;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_F32;  ///< f32 or i32
};

/// Appends commands to a graph, in an order in which they can run one by one. One owner; a Matrix belongs to the
/// builder that made it.
class TileBuilder {
 public:
  /// `one_product`: nothing comes before or behind it.
  TileBuilder(CommandGraph& graph, ProgramBuilder& program, bool one_product)
      : graph_(graph), program_(program), chip_(graph.chip()), one_product_(one_product) {}

  [[nodiscard]] const spec::Chip& chip() const { return chip_; }

  /// How blocks of columns lie; behind each other only f32 and i32 do, and only where the vector unit takes rows in
  /// groups.
  enum class Blocks : uint8_t { kBeside, kBehind };

  /// A matrix that lies in memory, rows in the place's pitch.
  [[nodiscard]] Matrix from_memory(uint64_t rows, uint64_t columns, weft_vpu_dtype dtype, const TensorPlace& place,
                                   Blocks lie = Blocks::kBeside);
  /// w of a pair_product() that lies in memory, f32 or bf16: what one product reads comes with one load.
  [[nodiscard]] Matrix weights_from_memory(uint64_t rows, uint64_t columns, uint64_t batch, weft_vpu_dtype dtype,
                                           const TensorPlace& place);
  /// x is bf16. `last`: nothing follows that could hide this product's end.
  [[nodiscard]] Matrix product(Matrix& x, const Product& by, bool last);
  [[nodiscard]] Matrix elementwise(Matrix& a, const Elementwise& by);
  /// Row by row where rows stay together, else through transposes of up to N rows.
  [[nodiscard]] Matrix rearrange(const Rearrangement& by);
  /// Another type than i8: as CAST does it.
  [[nodiscard]] Matrix cast(Matrix& a, weft_vpu_dtype dtype, const std::string& name);
  /// i8 of f32 or i32: two values make one column of a matrix of bf16.
  [[nodiscard]] Matrix cast_to_i8(Matrix& a, const ToBytes& by, const std::string& name);
  /// f32 of such a matrix of `columns` values in a row.
  [[nodiscard]] Matrix cast_from_i8(Matrix& a, uint64_t columns, const std::string& name);
  /// The same words as another type of as many: no command.
  [[nodiscard]] Matrix bits_as(Matrix& a, weft_vpu_dtype dtype);
  /// Sum, largest or smallest of each row, in all columns.
  [[nodiscard]] Matrix reduce(Matrix& a, weft_vpu_op op, const std::string& name);
  /// The rows of w (f32 or bf16) as weights of bf16: a chunk for each of the batch, in it the column blocks one behind the
  /// other.
  [[nodiscard]] Matrix as_weights(Matrix& w, uint64_t batch, const std::string& name);
  /// Products of rows of x (bf16) by as_weights(), as many as these are for.
  [[nodiscard]] Matrix pair_product(Matrix& x, const Matrix& weights, weft_vpu_dtype dtype, const std::string& name);
  /// One MATMUL for each tap, on rows that lie as far apart as the tap says.
  [[nodiscard]] Matrix convolution(const Convolution& by);
  [[nodiscard]] Matrix fold_windows(Matrix& x, const WindowOperation& by);
  /// The rows that the indices name, one row of i32, by GATHER.
  [[nodiscard]] Matrix rows_by(Matrix& indices, const TableRows& by);
  void store(const Matrix& from, const TensorPlace& to, const std::string& name);
  /// Its rows are cut as those of a product's result are, and each lies by itself.
  [[nodiscard]] bool lies_as_result(const Matrix& matrix) const {
    return matrix.block_words != 0 && matrix.row_chunks == chunks_of(matrix.rows);
  }
  /// All of it that has not been loaded.
  void load_all(Matrix& matrix);
  /// Before the first command, of a program that chips run together: everything that is sent comes behind it.
  void enter_slice(const spec::BarrierCommand& barrier, bool lands_in_memory);
  [[nodiscard]] bool lands_in_vmem() const { return !lands_in_memory_; }
  /// The place of what `ranks` chips put together side by side, each `columns`.
  [[nodiscard]] PartOfLanding part_of_landing(uint64_t rows, uint64_t columns, weft_vpu_dtype dtype, size_t ranks,
                                              unsigned rank);
  /// Blocks of columns that chips of the group share, in the order in which they are sent, and this chip's behind them.
  [[nodiscard]] std::vector<uint64_t> order_of_sends(uint64_t rows, uint64_t columns, weft_vpu_dtype dtype,
                                                     const ChipGroup& group) const;
  /// The x of all chips side by side, row chunk by row chunk. x may be a part of its landing. `place`: of the result,
  /// where it lands in memory.
  [[nodiscard]] Matrix gather(Matrix& x, const ChipGroup& group, const TensorPlace& place, const std::string& name);
  /// The sum of all chips' x in the order of ranks, f32: own columns of it, or all. `place`: of what comes from the others.
  [[nodiscard]] Matrix sums(Matrix& x, const ChipGroup& group, Exchange what, const TensorPlace& place,
                            const std::string& name);
  /// Matrices of so many rows are cut into chunks of at most `most`.
  void limit_chunks(uint64_t rows, uint64_t most) {
    const auto limit = most_rows_.try_emplace(rows, most).first;
    limit->second = std::min(limit->second, most);
  }
  /// A product was before the first one, whose work hides what that one loads.
  void begin_behind_product() { begun_ = true; }

 private:
  [[nodiscard]] std::vector<Span> chunks_of(uint64_t rows) const;
  [[nodiscard]] Matrix new_matrix(uint64_t rows, uint64_t columns, weft_vpu_dtype dtype);
  [[nodiscard]] Matrix new_matrix(uint64_t columns, weft_vpu_dtype dtype, std::vector<Span> chunks,
                                  Blocks lie = Blocks::kBehind);
  [[nodiscard]] Matrix lying_at(Matrix matrix, const TensorPlace& place) const;
  [[nodiscard]] uint64_t blocks(uint64_t columns) const { return (columns + chip_.n - 1) / chip_.n; }
  /// Lanes of block `block` that count.
  [[nodiscard]] uint64_t lanes(uint64_t columns, uint64_t block) const {
    return std::min<uint64_t>(chip_.n, columns - block * chip_.n);
  }
  void need(Matrix& matrix, uint64_t chunk, Span column_blocks);
  [[nodiscard]] Matrix new_weights(uint64_t rows, uint64_t columns, uint64_t batch);
  [[nodiscard]] Matrix new_uniform(uint64_t rows, uint64_t columns, weft_vpu_dtype dtype);
  friend class Mover;
  friend class Convolver;
  friend class WindowFold;
  friend class WindowImages;
  void gather(Matrix& y, uint64_t chunk, const Matrix& indices, uint64_t column, const TableRows& by);
  BufferId load_row(const TensorPlace& from, uint64_t bytes, const std::string& name);
  /// Blocks of a row chunk to where the first of them lies.
  [[nodiscard]] std::vector<spec::DmaCommand> stores_of(const Matrix& from, uint64_t chunk, const TensorPlace& to,
                                                        Span column_blocks, uint16_t tag) const;
  void store_blocks(const Matrix& from, uint64_t chunk, const TensorPlace& to, Span column_blocks, uint16_t tag);
  template <typename F>
  void for_each_run(const Matrix& matrix, uint64_t from, uint64_t end, F run) const;
  /// Of each row the value in lane 0, N of them to a row.
  [[nodiscard]] BufferId column_of(const Matrix& uniform, uint64_t chunk, uint16_t tag);
  [[nodiscard]] spec::VpuCommand i8_cast(const Matrix& a, uint64_t row, uint64_t rows, uint64_t word, const ToBytes& by,
                                         uint16_t tag) const;
  void cast_block(const Matrix& a, uint64_t chunk, uint64_t block, const Matrix& d, uint16_t tag, uint64_t joined = 1);
  [[nodiscard]] uint64_t joined_blocks(const Matrix& matrix, uint64_t chunk) const;
  /// K tiles of a column block that lie one behind the other, the first of which have been loaded.
  struct WeightTiles {
    Span tiles;
    uint64_t loaded = 0;
    BufferId buffer = command_graph::kNoBuffer;
    uint64_t word = 0;
  };
  using Weights = std::vector<std::vector<WeightTiles>>;  ///< by column block
  /// Of weights that several products have: their place, and their tiles by K and columns.
  std::map<std::array<uint64_t, 4>, Weights> kept_;
  WeightTiles& need_weights(const Matrix& x, const Product& by, uint64_t block, Span group, Weights& weights);
  void load_weights(const Product& by, uint64_t block, uint64_t first_tile, uint64_t words, uint64_t tiles,
                    const WeightTiles& to);
  [[nodiscard]] Matrix landing(uint64_t columns, weft_vpu_dtype dtype, const std::vector<Span>& chunks);
  struct ColumnBlocks {
    const Matrix* matrix;
    uint64_t first;
  };
  /// To a chip, which finds the semaphore posted when all is there.
  struct Receiver {
    uint16_t chip;
    uint8_t semaphore;
    const ChipGroup* group;  ///< all of which send each other as much
  };
  uint64_t send(const ColumnBlocks& from, const ColumnBlocks& to, uint64_t chunk, uint64_t count,
                const Receiver& receiver);
  uint64_t send(const ColumnBlocks& from, const TensorPlace& to, uint64_t chunk, uint64_t count,
                const Receiver& receiver);
  void address(spec::DmaCommand& command, const Receiver& receiver);
  void note_send(const spec::DmaCommand& command, BufferId a, const Receiver& receiver);
  void arrive(const ChipGroup& group, uint64_t posts, std::vector<command_graph::Landing> landings, uint16_t tag);
  [[nodiscard]] command_graph::Landing landing_of(const ColumnBlocks& at, uint64_t chunk, uint64_t block) const;
  [[nodiscard]] command_graph::Landing landing_of(const TensorPlace& at, const Span& rows, uint64_t bytes) const;
  [[nodiscard]] std::vector<Span> pieces_of(const std::vector<Span>& chunks, uint64_t count, weft_vpu_dtype dtype,
                                            const ChipGroup& group) const;
  [[nodiscard]] std::vector<unsigned> receivers_of(const ChipGroup& group) const;
  [[nodiscard]] unsigned hops(uint16_t from, uint16_t to) const;
  [[nodiscard]] double link_share(const ChipGroup& group) const;
  /// Of the busiest link, where each chip of the group sends so many bytes to each other one. 0: it is not known.
  [[nodiscard]] uint64_t link_cycles(uint64_t bytes, const ChipGroup& group) const;
  void vector_block(weft_vpu_op op, const ColumnBlocks& a, const ColumnBlocks* b, const ColumnBlocks& d, uint64_t chunk,
                    uint64_t block, uint16_t tag);
  void multiply(Matrix& x, uint64_t chunk, const Product& by, uint64_t block, Span group, Weights& weights,
                BufferId sums);
  void add_operands(spec::VpuCommand& c, const Product& by, uint64_t block) const;
  [[nodiscard]] EpilogueRows epilogue_rows(const Product& by);
  void finish(Matrix& y, uint64_t chunk, const Product& by, uint64_t block, BufferId sums, const EpilogueRows& rows);
  void store_columns(const Matrix& y, uint64_t chunk, const Product& by, Span column_blocks);
  [[nodiscard]] std::vector<Span> tile_groups(uint64_t tiles, uint64_t rows, bool fine, bool first = false) const;
  [[nodiscard]] uint64_t chunks_ahead(const Matrix& x) const;
  [[nodiscard]] uint64_t tiles_in(uint64_t cycles) const;
  [[nodiscard]] uint64_t tiles_of_load(uint64_t rows) const;

  CommandGraph& graph_;
  ProgramBuilder& program_;
  const spec::Chip& chip_;
  const bool one_product_;
  bool begun_ = false;                     ///< a product has been lowered
  std::map<BufferId, uint64_t> landings_;  ///< buffers that other chips write, and the words where they begin
  uint64_t landing_words_ = 0;
  bool lands_in_memory_ = false;
  spec::BarrierCommand box_;                          ///< of the chips that run the program together
  std::optional<uint32_t> barrier_, sent_, arrived_;  ///< commands, the last of their kind
  std::map<uint64_t, uint64_t> most_rows_;            ///< of a chunk, by the rows of a matrix
};

/// Row chunks of a matrix: the array is fed without a gap (N rows at least where there are so many), and there are as
/// many as that allows, so that the next operator begins before this one has ended.
[[nodiscard]] std::vector<Span> row_chunks(const spec::Chip& chip, uint64_t rows);

}  // namespace weft::compiler::tiles
