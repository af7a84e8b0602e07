// Elements that change their rows or lanes. Rows whose lanes stay where they are are copied. Runs of lanes that move
// together within their row are rotated to their place, a command each. All else goes through TRANSPOSE: once, where
// lanes become rows; twice, where lanes of one row become other lanes of one row, with the lanes put together as rows
// in between. Lanes of columns whose rows lie in several row chunks or sources are put together first. Of rotations and
// transposes the cheapest are taken.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "host/compiler/tiles/chunk_copies.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {

namespace {

/// What a command takes beside its rows, and beside its rows and columns: cycles, with that of fetching it.
constexpr uint64_t kCommandCycles = 8, kTransposeCycles = 12;

/// An element of a source.
struct Place {
  size_t source = 0;
  uint64_t row = 0, column = 0;
  bool operator==(const Place&) const = default;
};

/// Lanes of a result's row that lie `by` lanes further on, around the row's end, in one row of N lanes of a source.
struct Turn {
  Place first;  ///< lane 0 of that row
  uint64_t by = 0, lane = 0, end = 0;
  [[nodiscard]] bool same_rows(const Turn& other) const { return first == other.first && by == other.by; }
};

/// Lanes of a result's row that are consecutive rows of one transposed piece of a source.
struct Run {
  Place first;
  uint64_t lane = 0, count = 1, step = 1;
};

}  // namespace

class Mover {
 public:
  Mover(TileBuilder& tiles, const Rearrangement& by)
      : tiles_(tiles),
        by_(by),
        n_(tiles.chip_.n),
        words_(row_words(by.sources[0]->dtype)),
        tag_(tiles.program_.tag(by.name)) {
    uint64_t elements = 0;
    for (const Matrix* source : by.sources) {
      begins_.push_back(elements);
      first_of_.push_back(static_cast<size_t>(std::ranges::find(by.sources, source) - by.sources.begin()));
      elements += source->rows * source->columns;
    }
  }

  Matrix run() {
    Matrix y = by_.weights_of != 0 ? tiles_.new_weights(by_.rows, by_.columns, by_.weights_of)
                                   : tiles_.new_matrix(by_.rows, by_.columns, by_.sources[0]->dtype);
    for (uint64_t chunk = 0; chunk < y.chunks.size(); chunk++)
      for (uint64_t block = 0; block < tiles_.blocks(y.columns); block++) {
        target_ = {&y, chunk, block, tiles_.lanes(y.columns, block)};
        const Span rows = y.row_chunks[chunk];
        for (uint64_t r = rows.first, end = rows.first + rows.count; r < end;) {
          if (tiles_.graph_.commands().size() > kMostCommands) return y;  // the caller refuses it
          r += move(r, end);
        }
      }
    return y;
  }

 private:
  struct Target {
    Matrix* matrix = nullptr;
    uint64_t chunk = 0, block = 0, lanes = 0;
  };

  /// What lane `lane` of the target's block takes in row r.
  [[nodiscard]] Place at(uint64_t r, uint64_t lane) const {
    const uint64_t element = by_.from[r * by_.columns + target_.block * n_ + lane];
    const auto source = static_cast<size_t>(std::ranges::upper_bound(begins_, element) - begins_.begin()) - 1;
    const uint64_t rest = element - begins_[source], columns = by_.sources[source]->columns;
    return {first_of_[source], rest / columns, rest % columns};
  }
  [[nodiscard]] uint64_t chunk_of(const Place& place) const {
    const auto& chunks = by_.sources[place.source]->row_chunks;
    return static_cast<uint64_t>(std::ranges::upper_bound(chunks, place.row, {}, &Span::first) - chunks.begin()) - 1;
  }
  /// Rows from `place` on, `step` apart, that lie in its chunk.
  [[nodiscard]] uint64_t rows_in_chunk(const Place& place, uint64_t step) const {
    const Span chunk = by_.sources[place.source]->row_chunks[chunk_of(place)];
    return step == 0 ? UINT64_MAX : (chunk.first + chunk.count - 1 - place.row) / step + 1;
  }

  /// Moves some rows from r on; how many.
  uint64_t move(uint64_t r, uint64_t end) {
    std::vector<Place> row(target_.lanes);
    for (uint64_t lane = 0; lane < row.size(); lane++) row[lane] = at(r, lane);
    const uint64_t across = rows_across(r, end, row);
    // One lane each: lanes of one row become rows at once.
    const bool column = row.size() == 1 && across > 1;
    if (!column)
      if (const uint64_t count = copy_rows(r, end, row); count != 0) return count;
    const auto [along, step] = rows_along(r, end, row);
    const uint64_t some = std::min(along, n_);
    const bool once = across >= some && across != 0;
    const std::vector<Run> runs = once ? std::vector<Run>{} : runs_of(row);
    const Rotation rotation = rotation_of(row);
    // Compared by what a row costs.
    const uint64_t transposed = once ? across : some;
    const uint64_t cost = once ? transpose_cycles(row.size(), across) : twice_cycles(runs, step, some);
    const std::vector<Run> apart = once ? std::vector<Run>{} : rows_apart(row);
    const uint64_t gathered = once ? 0 : columns_apart(r, end, row);
    const uint64_t gather_cost = gather_cycles(apart, gathered);
    const bool rotates = rotate_cycles(rotation, along) * transposed <= cost * along;
    if (gathered != 0 && gather_cost * transposed < cost * gathered &&
        (!rotates || gather_cost * along < rotate_cycles(rotation, along) * gathered)) {
      transpose_gathered(r, gathered, apart);
      return gathered;
    }
    if (rotates) {
      rotate(r, along, step, rotation);
      return along;
    }
    if (once)
      transpose_once(r, across, row);
    else
      transpose_twice(r, some, step, runs);
    return transposed;
  }

  [[nodiscard]] uint64_t groups(uint64_t rows) const {
    return (rows + tiles_.chip_.vpu_sublanes - 1) / tiles_.chip_.vpu_sublanes;
  }
  [[nodiscard]] uint64_t transpose_cycles(uint64_t rows, uint64_t columns) const {
    return groups(rows) + groups(columns) + kTransposeCycles;
  }

  /// How many rows from r on are the first one with their source's rows `step` further each, all lanes alike.
  [[nodiscard]] std::pair<uint64_t, uint64_t> rows_along(uint64_t r, uint64_t end,
                                                         const std::vector<Place>& row) const {
    uint64_t count = 1, step = 1;
    for (; r + count < end; count++) {
      const Place first = at(r + count, 0);
      if (count == 1) {
        if (first.row < row[0].row) break;
        step = first.row - row[0].row;
      }
      bool same = true;
      for (uint64_t lane = 0; lane < row.size() && same; lane++) {
        Place moved = row[lane];
        moved.row += count * step;
        same = at(r + count, lane) == moved && rows_in_chunk(row[lane], step) > count;
      }
      if (!same) break;
    }
    return {count, count == 1 ? 1 : step};
  }

  /// Rows that are lanes 0 .. of a block of their source.
  uint64_t copy_rows(uint64_t r, uint64_t end, const std::vector<Place>& row) {
    if (row[0].column % n_ != 0) return 0;
    for (uint64_t lane = 0; lane < row.size(); lane++)
      if (row[lane] != Place{row[0].source, row[0].row, row[0].column + lane}) return 0;
    uint64_t count = 1, step = 1;
    for (; r + count < end; count++) {
      const Place first = at(r + count, 0);
      if (count == 1 && first.row >= row[0].row) step = first.row - row[0].row;
      bool same = rows_in_chunk(row[0], step) > count;
      for (uint64_t lane = 0; lane < row.size() && same; lane++)
        same = at(r + count, lane) == Place{row[0].source, row[0].row + count * step, row[0].column + lane};
      if (!same) break;
    }
    emit(WEFT_OPCODE_ELEMENTWISE, source_of(row[0], step), count, target_.lanes, target_of(r));
    return count;
  }

  [[nodiscard]] static uint64_t step_across(const std::vector<Place>& row) {
    return row.size() > 1 ? row[1].row - row[0].row : 0;
  }

  /// Rows that are columns of their source, one behind the other.
  [[nodiscard]] uint64_t rows_across(uint64_t r, uint64_t end, const std::vector<Place>& row) const {
    const Place& first = row[0];
    if (row.size() > 1 && row[1].row < first.row) return 0;
    const uint64_t step = step_across(row);
    if (rows_in_chunk(first, step) < row.size()) return 0;
    const uint64_t limit = std::min(end - r, n_ - first.column % n_);
    for (uint64_t count = 0; count < limit; count++)
      for (uint64_t lane = 0; lane < row.size(); lane++)
        if (at(r + count, lane) != Place{first.source, first.row + lane * step, first.column + count}) return count;
    return limit;
  }

  void transpose_once(uint64_t r, uint64_t count, const std::vector<Place>& row) {
    const uint64_t step = step_across(row), skipped = row[0].column % n_;
    Place begin = row[0];
    begin.column -= skipped;
    if (skipped == 0) return emit(WEFT_OPCODE_TRANSPOSE, source_of(begin, step), target_.lanes, count, target_of(r));
    // The columns before the first one come with it.
    auto& [buffer, columns] = wide_[{begin.source, begin.row, begin.column, step, target_.lanes}];
    const uint64_t wanted = std::min(n_, by_.sources[begin.source]->columns - begin.column);
    if (columns == 0) {
      buffer = tiles_.graph_.add_buffer(command_graph::BufferSpace::kVmem, wanted * words_);
      columns = wanted;
      emit(WEFT_OPCODE_TRANSPOSE, source_of(begin, step), target_.lanes, columns, {buffer, 0, words_});
    }
    emit(WEFT_OPCODE_ELEMENTWISE, {buffer, skipped * words_, words_}, count, target_.lanes, target_of(r));
  }

  /// A column of each of several rows, in several row chunks or sources, or not equally far apart: the rows that can be
  /// copied together, of which the column is the same.
  [[nodiscard]] std::vector<Run> rows_apart(const std::vector<Place>& row) const {
    std::vector<Run> runs;
    for (uint64_t lane = 0; lane < row.size(); lane++) {
      if (!runs.empty() && follows(runs.back(), row[lane]))
        runs.back().count++;
      else
        runs.push_back({row[lane], lane, 1, 1});
    }
    return runs;
  }
  /// The run with one more row; the second one sets the step.
  [[nodiscard]] bool follows(Run& run, const Place& place) const {
    if (place.source != run.first.source || place.column != run.first.column || place.row < run.first.row) return false;
    const uint64_t step = run.count == 1 ? place.row - run.first.row : run.step;
    if (place.row != run.first.row + run.count * step || rows_in_chunk(run.first, step) <= run.count) return false;
    run.step = step;
    return true;
  }
  /// How many rows from r on are the columns behind the first one's, in one block of each source.
  [[nodiscard]] uint64_t columns_apart(uint64_t r, uint64_t end, const std::vector<Place>& row) const {
    uint64_t limit = end - r;
    for (const Place& place : row) limit = std::min(limit, n_ - place.column % n_);
    for (uint64_t count = 1; count < limit; count++)
      for (uint64_t lane = 0; lane < row.size(); lane++)
        if (at(r + count, lane) != Place{row[lane].source, row[lane].row, row[lane].column + count}) return count;
    return limit;
  }
  [[nodiscard]] uint64_t gather_cycles(const std::vector<Run>& apart, uint64_t count) const {
    uint64_t cycles = transpose_cycles(target_.lanes, count) + groups(count) + kCommandCycles;
    for (const Run& run : apart) cycles += groups(run.count) + kCommandCycles;
    return cycles;
  }

  /// Rows of a block put together, and transposed. The columns before the first one come with it where all runs have as
  /// many, else each run is rotated to the first lane.
  void transpose_gathered(uint64_t r, uint64_t count, const std::vector<Run>& apart) {
    const bool alike = std::ranges::all_of(
        apart, [&](const Run& run) { return (run.first.column - apart[0].first.column) % n_ == 0; });
    const uint64_t skipped = alike ? apart[0].first.column % n_ : 0, columns = skipped + count;
    const BufferId together = tiles_.graph_.add_buffer(command_graph::BufferSpace::kVmem, target_.lanes * words_);
    for (const Run& run : apart) {
      Place begin = run.first;
      const uint64_t before = begin.column % n_;
      begin.column -= before;
      const Rows a = source_of(begin, run.step), d{together, run.lane * words_, words_};
      auto c = command(WEFT_OPCODE_ELEMENTWISE, a, run.count, columns, d);
      if (before != skipped) {
        c.op = WEFT_VPU_OP_ROTATE;
        c.scalar = static_cast<uint32_t>(before), c.scalar2 = static_cast<uint32_t>(columns << 16);
      }
      tiles_.graph_.vector(c, a.buffer, command_graph::kNoBuffer, d.buffer);
    }
    if (skipped == 0) return emit(WEFT_OPCODE_TRANSPOSE, {together, 0, words_}, target_.lanes, count, target_of(r));
    const BufferId turned = tiles_.graph_.add_buffer(command_graph::BufferSpace::kVmem, columns * words_);
    emit(WEFT_OPCODE_TRANSPOSE, {together, 0, words_}, target_.lanes, columns, {turned, 0, words_});
    emit(WEFT_OPCODE_ELEMENTWISE, {turned, skipped * words_, words_}, count, target_.lanes, target_of(r));
  }

  [[nodiscard]] std::vector<Turn> turns_of(const std::vector<Place>& row) const {
    std::vector<Turn> turns;
    for (uint64_t lane = 0; lane < row.size(); lane++) {
      Turn turn{row[lane], (row[lane].column % n_ + n_ - lane) % n_, lane, lane + 1};
      turn.first.column -= row[lane].column % n_;
      if (!turns.empty() && turns.back().same_rows(turn))
        turns.back().end++;
      else
        turns.push_back(turn);
    }
    return turns;
  }

  /// The rotations of a result's row. Lanes that are at their place in one row of a source lie under the others.
  struct Rotation {
    std::optional<Place> under;
    std::vector<Turn> turns;
  };
  [[nodiscard]] Rotation rotation_of(const std::vector<Place>& row) const {
    Rotation rotation{std::nullopt, turns_of(row)};
    const auto base = std::ranges::find(rotation.turns, 0U, &Turn::by);
    if (base == rotation.turns.end()) return rotation;
    const Turn at_place = *base;
    rotation.under = at_place.first;
    std::erase_if(rotation.turns, [&](const Turn& turn) { return turn.same_rows(at_place); });
    return rotation;
  }
  [[nodiscard]] uint64_t rotate_cycles(const Rotation& rotation, uint64_t count) const {
    return std::max<uint64_t>(rotation.turns.size(), 1) * (groups(count) + kCommandCycles);
  }

  void rotate(uint64_t r, uint64_t count, uint64_t step, const Rotation& rotation) {
    const Rows d = target_of(r);
    std::optional<Rows> under;
    if (rotation.under) under = source_of(*rotation.under, step);
    if (rotation.turns.empty()) return emit(WEFT_OPCODE_ELEMENTWISE, *under, count, target_.lanes, d);
    for (const Turn& turn : rotation.turns) {
      const Rows a = source_of(turn.first, step);
      auto c = command(WEFT_OPCODE_ELEMENTWISE, a, count, target_.lanes, d);
      c.op = WEFT_VPU_OP_ROTATE;
      c.scalar = static_cast<uint32_t>(turn.by);
      c.scalar2 = static_cast<uint32_t>(turn.lane | turn.end << 16);
      if (under) {
        c.b_mode = WEFT_VPU_B_MODE_TENSOR;
        c.b_addr = static_cast<uint32_t>(under->word), c.b_stride = static_cast<uint32_t>(under->stride);
      }
      tiles_.graph_.vector(c, a.buffer, under ? under->buffer : command_graph::kNoBuffer, d.buffer);
      under = d;
    }
  }

  [[nodiscard]] std::vector<Run> runs_of(const std::vector<Place>& row) const {
    std::vector<Run> runs;
    for (uint64_t lane = 0; lane < row.size(); lane++) {
      if (!runs.empty() && continues(runs.back(), row[lane]))
        runs.back().count++;
      else
        runs.push_back({row[lane], lane, 1, 1});
    }
    return runs;
  }

  [[nodiscard]] uint64_t twice_cycles(const std::vector<Run>& runs, uint64_t step, uint64_t count) const {
    uint64_t cycles = transpose_cycles(target_.lanes, count);
    std::vector<Key> fresh;
    for (const Run& run : runs) {
      if (runs.size() != 1) cycles += groups(run.count) + kCommandCycles;
      const Key key = piece_key(run, step, count);
      if (pieces_.contains(key) || std::ranges::find(fresh, key) != fresh.end()) continue;
      fresh.push_back(key);
      cycles += transpose_cycles(count, piece_columns(run));
    }
    return cycles;
  }

  void transpose_twice(uint64_t r, uint64_t count, uint64_t step, const std::vector<Run>& runs) {
    if (runs.size() == 1) {
      const auto piece = piece_of(runs[0], step, count);
      return emit(WEFT_OPCODE_TRANSPOSE, piece, target_.lanes, count, target_of(r));
    }
    const BufferId together = tiles_.graph_.add_buffer(command_graph::BufferSpace::kVmem, target_.lanes * words_);
    for (const Run& run : runs)
      emit(WEFT_OPCODE_ELEMENTWISE, piece_of(run, step, count), run.count, count,
           {together, run.lane * words_, words_});
    emit(WEFT_OPCODE_TRANSPOSE, {together, 0, words_}, target_.lanes, count, target_of(r));
  }
  /// The run with one more lane, of the same row and block; the second one sets the step.
  [[nodiscard]] bool continues(Run& run, const Place& place) const {
    if (place.source != run.first.source || place.row != run.first.row || place.column < run.first.column ||
        place.column / n_ != run.first.column / n_)
      return false;
    if (run.count == 1) run.step = place.column - run.first.column;
    return place.column == run.first.column + run.count * run.step;
  }

  /// Words of a buffer from which rows are read, or to which they are written.
  struct Rows {
    BufferId buffer;
    uint64_t word, stride;
  };

  /// Source, first row, first column, step and number of rows.
  using Key = std::tuple<size_t, uint64_t, uint64_t, uint64_t, uint64_t>;

  [[nodiscard]] Key piece_key(const Run& run, uint64_t step, uint64_t count) const {
    return {run.first.source, run.first.row, run.first.column - run.first.column % n_, step, count};
  }
  [[nodiscard]] uint64_t piece_columns(const Run& run) const {
    return std::min(n_, by_.sources[run.first.source]->columns - (run.first.column - run.first.column % n_));
  }

  /// Columns of a block of `count` rows of a source as rows.
  Rows piece_of(const Run& run, uint64_t step, uint64_t count) {
    const auto [found, fresh] = pieces_.try_emplace(piece_key(run, step, count));
    if (fresh) {
      Place begin = run.first;
      begin.column -= begin.column % n_;
      const uint64_t columns = piece_columns(run);
      found->second = tiles_.graph_.add_buffer(command_graph::BufferSpace::kVmem, columns * words_);
      emit(WEFT_OPCODE_TRANSPOSE, source_of(begin, step), count, columns, {found->second, 0, words_});
    }
    return {found->second, run.first.column % n_ * words_, run.step * words_};
  }

  Rows source_of(const Place& place, uint64_t step) {
    Matrix& source = *by_.sources[place.source];
    const uint64_t chunk = chunk_of(place), block = place.column / n_;
    tiles_.need(source, chunk, {0, tiles_.blocks(source.columns)});
    return {source.chunks[chunk],
            (place.row - source.row_chunks[chunk].first) * source.row_words + block * source.block_words,
            step * source.row_words};
  }
  [[nodiscard]] Rows target_of(uint64_t r) const {
    const Matrix& y = *target_.matrix;
    return {y.chunks[target_.chunk],
            (r - y.row_chunks[target_.chunk].first) * y.row_words + target_.block * y.block_words, y.row_words};
  }

  /// ELEMENTWISE without operation, or TRANSPOSE, of rows x lanes.
  void emit(weft_opcode opcode, const Rows& a, uint64_t rows, uint64_t lanes, const Rows& d) {
    tiles_.graph_.vector(command(opcode, a, rows, lanes, d), a.buffer, command_graph::kNoBuffer, d.buffer);
  }
  [[nodiscard]] spec::VpuCommand command(weft_opcode opcode, const Rows& a, uint64_t rows, uint64_t lanes,
                                         const Rows& d) const {
    spec::VpuCommand c;
    c.header.opcode = static_cast<uint8_t>(opcode);
    c.header.tag = tag_;
    c.src_dtype = c.dst_dtype = static_cast<uint8_t>(by_.sources[0]->dtype);
    c.rows = static_cast<uint16_t>(rows), c.cols = static_cast<uint16_t>(lanes);
    c.a_addr = static_cast<uint32_t>(a.word), c.a_stride = static_cast<uint32_t>(a.stride);
    c.d_addr = static_cast<uint32_t>(d.word), c.d_stride = static_cast<uint32_t>(d.stride);
    return c;
  }

  TileBuilder& tiles_;
  const Rearrangement& by_;
  const uint64_t n_, words_;  ///< words of a row of one block
  const uint16_t tag_;
  std::vector<uint64_t> begins_;  ///< of the sources' elements
  std::vector<size_t> first_of_;  ///< the first source that is the same matrix
  Target target_;
  std::map<Key, BufferId> pieces_;
  std::map<Key, std::pair<BufferId, uint64_t>> wide_;  ///< with their columns
};

Matrix TileBuilder::rearrange(const Rearrangement& by) { return Mover(*this, by).run(); }

}  // namespace weft::compiler::tiles
