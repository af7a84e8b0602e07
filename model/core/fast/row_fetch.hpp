/// Where the rows of a channel's GATHER or SCATTER lie: the registers of rtl/dma/dma_rows.sv.
#pragma once
#include <cstdint>
#include <deque>

#include "model/core/fast/ecc.hpp"
#include "model/core/fast/unit.hpp"
#include "model/golden/core_state.hpp"

namespace weft::core::fast {

/// What an index asks for.
struct IndexedRow {
  enum class Kind : uint8_t { kMoved, kSkipped, kRefused };
  Kind kind = Kind::kMoved;
  uint64_t offset = 0;  ///< kMoved: bytes from the table's row 0
  golden::Fault fault;  ///< kRefused: of an index that is no row, or that ECC could not correct
};

/// Reads words of indices from VMEM, makes a row of an index a cycle, and keeps it until front and back have gone on.
class RowFetch {
 public:
  /// Rows that it keeps.
  void set_depth(uint32_t rows) { depth_ = rows; }
  void reset() { *this = RowFetch(depth_); }
  RowFetch() = default;

  /// A command's rows, from the next cycle on; all of the one before have been made.
  void load(const spec::IndexedCommand& command, const spec::Chip& chip);

  /// A word of VMEM is asked for in this cycle.
  [[nodiscard]] bool asks() const { return words_ != 0 && held_ != kHeldWords && !ended_; }
  [[nodiscard]] uint64_t word() const { return word_; }
  /// It is granted: what ECC meets in it is counted.
  void granted(const golden::CoreState& state, const VmemFlips& flips, Counters& counters);

  /// The row that each walk sees in this cycle, nullptr if none is ready.
  [[nodiscard]] const IndexedRow* front() const { return at(front_); }
  [[nodiscard]] const IndexedRow* back() const { return at(0); }
  void take_front() { front_++; }
  void take_back() { back_taken_ = true; }

  /// The end of the cycle. True: something moved.
  bool clock();

 private:
  explicit RowFetch(uint32_t depth) : depth_(depth) {}
  static constexpr uint32_t kHeldWords = 2;
  struct Index {
    int32_t value;
    bool poisoned;
  };
  [[nodiscard]] const IndexedRow* at(size_t place) const { return place < rows_.size() ? &rows_[place] : nullptr; }
  [[nodiscard]] IndexedRow row_of(uint32_t number, const Index& index) const;

  spec::IndexedCommand command_;
  uint32_t depth_ = 0, lanes_ = 1;
  uint64_t word_ = 0;                  // the next one to ask for
  uint32_t words_ = 0, held_ = 0;      // still to be asked for; asked for and not used up
  uint32_t coming_ = 0, there_ = 0;    // words granted in this cycle and the one before; that can be used
  bool granted_ = false;               // in this cycle
  std::deque<Index> indices_;          // of words granted, from the next one on
  uint32_t number_ = 0;                // of the next index in the command
  uint32_t taken_ = 0;                 // places of the ring that are not free
  bool made_ = false, ended_ = false;  // an index was taken in the cycle before; one was refused
  IndexedRow making_;                  // of that index
  std::deque<IndexedRow> rows_;        // the back's row first
  size_t front_ = 0;                   // the front's row among them
  bool back_taken_ = false;            // in this cycle
};

}  // namespace weft::core::fast
