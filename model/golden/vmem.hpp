/// VMEM's bytes, in one of two forms.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/golden/lazy_memory.hpp"

namespace weft::golden {

enum class VmemForm : uint8_t {
  kFlat,    ///< one after the other
  kSparse,  ///< what is zero of rows that are used in part costs no host memory: for slices of many chips
};

/// Zero after construction; costs host memory only where it was touched. One owner, one thread.
///
/// Sparse: of a block of 256 rows of the VPU only the first bytes of each are stored, as many as the longest of them has
/// up to its last one that is not zero. So where tensors fill rows in part, what lies behind them takes no memory, and a
/// row's bytes lie together.
class Vmem {
 public:
  /// `row_bytes`: of a row of 4-byte elements of the VPU.
  Vmem(uint64_t bytes, uint64_t row_bytes, VmemForm form);

  [[nodiscard]] uint64_t size() const { return memory_.bytes().size(); }
  [[nodiscard]] bool flat() const { return blocks_.empty(); }
  /// All of it; flat() only.
  [[nodiscard]] std::span<std::byte> bytes() { return memory_.bytes(); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return memory_.bytes(); }

  /// In either form, of a range that lies inside.
  void read(uint64_t at, std::span<std::byte> out) const;
  void write(uint64_t at, std::span<const std::byte> data);
  /// The bytes in place if it is flat, else their copy in `scratch`; until the next write.
  [[nodiscard]] std::span<const std::byte> view(uint64_t at, uint64_t bytes, std::vector<std::byte>& scratch) const {
    if (flat()) return bytes_at(at, bytes);
    scratch.resize(bytes);
    read(at, scratch);
    return scratch;
  }

 private:
  [[nodiscard]] std::span<const std::byte> bytes_at(uint64_t at, uint64_t bytes) const {
    return memory_.bytes().subspan(at, bytes);
  }
  static constexpr uint64_t kRows = 256;
  struct Block {
    uint32_t width = 0;  // bytes stored of each row, a multiple of 16
    uint32_t rows = 0;   // those from here on are zero, and not touched
  };
  /// A part of a row, or of several whole ones of one block.
  struct Part {
    uint64_t block, row, column, bytes;  // row: of the block
  };
  [[nodiscard]] Part part_at(uint64_t at, uint64_t bytes) const;
  [[nodiscard]] uint64_t row_bytes() const { return uint64_t{1} << row_shift_; }
  /// Where a part lies in memory_.
  [[nodiscard]] uint64_t place(const Part& part) const {
    return (part.block * kRows << row_shift_) + part.row * blocks_[part.block].width + part.column;
  }
  void write_part(const Part& part, const std::byte* data);
  void widen(uint64_t block, uint64_t width);

  LazyMemory memory_;
  unsigned row_shift_;
  std::vector<Block> blocks_;  // sparse
};

}  // namespace weft::golden
