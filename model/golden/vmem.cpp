// VMEM row by row, or the same bytes of many rows side by side.
#include "model/golden/vmem.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace weft::golden {
namespace {

constexpr uint64_t kPiece = 16, kRows = 256, kPage = kPiece * kRows;
constexpr uint64_t kRowsAtOnce = 32;  // a page's pieces of so many follow each other: their bytes stay in a cache

bool is_zero(const std::byte* data, uint64_t bytes) {
  if (bytes == kPiece) {
    std::array<uint64_t, kPiece / sizeof(uint64_t)> words;
    std::memcpy(words.data(), data, kPiece);
    return (words[0] | words[1]) == 0;
  }
  return std::all_of(data, data + bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Vmem::Vmem(uint64_t bytes, uint64_t row_bytes, VmemForm form)
    : memory_(bytes), row_shift_(static_cast<unsigned>(std::bit_width(row_bytes) - 1)) {
  const bool whole = std::has_single_bit(row_bytes) && row_bytes > kPiece && bytes % (kRows * row_bytes) == 0;
  if (form == VmemForm::kFlat || !whole) return;
  pages_.resize(bytes / kPage);
  ::madvise(memory_.bytes().data(), bytes, MADV_NOHUGEPAGE);  // a refusal costs memory only
}

/// Blocks of 256 rows keep their place; in a block, bytes 16 i to 16 i + 15 of all rows are page i.
uint64_t Vmem::place(uint64_t at) const {
  const uint64_t block = at / (kRows << row_shift_) * (kRows << row_shift_);
  const uint64_t row = at >> row_shift_ & (kRows - 1), piece = (at & ((uint64_t{1} << row_shift_) - 1)) / kPiece;
  return block + piece * kPage + row * kPiece + at % kPiece;
}

/// Calls `visit` with the bytes before some pieces, the place of the first one in memory_, how many rows they are of,
/// and the bytes of each: a constant where it is whole. Of rows that are whole it is a page's pieces after another's: a
/// row's own are a page apart, and all fall into one set of a cache.
template <typename Visit>
void Vmem::each_column(uint64_t at, uint64_t bytes, Visit visit) const {
  constexpr std::integral_constant<uint64_t, kPiece> kWhole;
  const uint64_t row = uint64_t{1} << row_shift_;
  for (uint64_t done = 0; done < bytes;) {
    uint64_t there = place(at + done);
    const uint64_t part = std::min(kPiece - (at + done) % kPiece, bytes - done);
    if (part != kPiece) {
      visit(done, there, 1, part);
      done += part;
      continue;
    }
    const uint64_t in_row = (at + done) & (row - 1), first = (at + done) >> row_shift_ & (kRows - 1);
    const uint64_t rows = std::min({(bytes - done) >> row_shift_, kRowsAtOnce, kRows - first});
    if (in_row == 0 && rows > 1) {
      for (uint64_t piece = 0; piece < row; piece += kPiece, there += kPage) visit(done + piece, there, rows, kWhole);
      done += rows * row;
      continue;
    }
    const uint64_t end = std::min(done + (row - in_row), bytes);
    for (; done + kPiece <= end; done += kPiece, there += kPage) visit(done, there, 1, kWhole);
  }
}

void Vmem::read(uint64_t at, std::span<std::byte> out) const {
  const std::byte* from = memory_.bytes().data();
  if (flat()) {
    std::memcpy(out.data(), from + at, out.size());
    return;
  }
  each_column(at, out.size(), [&](uint64_t done, uint64_t there, uint64_t rows, auto bytes) {
    std::byte* to = out.data() + done;
    if (pages_[there / kPage])
      for (uint64_t row = 0; row < rows; row++)
        std::memcpy(to + (row << row_shift_), from + there + row * kPiece, bytes);
    else
      for (uint64_t row = 0; row < rows; row++) std::memset(to + (row << row_shift_), 0, bytes);
  });
}

void Vmem::write(uint64_t at, std::span<const std::byte> data) {
  std::byte* to = memory_.bytes().data();
  if (flat()) {
    std::memcpy(to + at, data.data(), data.size());
    return;
  }
  each_column(at, data.size(), [&](uint64_t done, uint64_t there, uint64_t rows, auto bytes) {
    const std::byte* from = data.data() + done;
    if (!pages_[there / kPage]) {
      bool zero = true;
      for (uint64_t row = 0; row < rows && zero; row++) zero = is_zero(from + (row << row_shift_), bytes);
      if (zero) return;
      pages_[there / kPage] = true;
    }
    for (uint64_t row = 0; row < rows; row++) std::memcpy(to + there + row * kPiece, from + (row << row_shift_), bytes);
  });
}

}  // namespace weft::golden
