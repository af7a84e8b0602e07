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
/// Sparse: a page of the host holds the same 16 bytes of 256 rows of the VPU. Where tensors fill rows in part, the pages
/// of what lies behind them are never written with anything but zeros, and so are not touched.
class Vmem {
 public:
  /// `row_bytes`: of a row of 4-byte elements of the VPU.
  Vmem(uint64_t bytes, uint64_t row_bytes, VmemForm form);

  [[nodiscard]] uint64_t size() const { return memory_.bytes().size(); }
  [[nodiscard]] bool flat() const { return pages_.empty(); }
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
  template <typename Visit>
  void each_column(uint64_t at, uint64_t bytes, Visit visit) const;
  /// Where a byte lies in memory_.
  [[nodiscard]] uint64_t place(uint64_t at) const;

  LazyMemory memory_;
  unsigned row_shift_;
  std::vector<bool> pages_;  // sparse: touched
};

}  // namespace weft::golden
