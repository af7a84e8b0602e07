// VMEM row by row, or the same bytes of many rows side by side.
#include "model/golden/vmem.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace weft::golden {
namespace {

constexpr uint64_t kPiece = 64, kRows = 64, kPage = kPiece * kRows;

bool is_zero(const std::byte* data, size_t bytes) {
  if (bytes == kPiece) {
    std::array<uint64_t, kPiece / sizeof(uint64_t)> words;
    std::memcpy(words.data(), data, bytes);
    uint64_t any = 0;
    for (const uint64_t word : words) any |= word;
    return any == 0;
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

/// Blocks of 64 rows keep their place; in a block, bytes 64 i to 64 i + 63 of all rows are page i.
uint64_t Vmem::place(uint64_t at) const {
  const uint64_t block = at / (kRows << row_shift_) * (kRows << row_shift_);
  const uint64_t row = at >> row_shift_ & (kRows - 1), piece = (at & ((uint64_t{1} << row_shift_) - 1)) / kPiece;
  return block + piece * kPage + row * kPiece + at % kPiece;
}

void Vmem::read(uint64_t at, std::span<std::byte> out) const {
  const std::byte* from = memory_.bytes().data();
  if (flat()) {
    std::memcpy(out.data(), from + at, out.size());
    return;
  }
  for (size_t done = 0; done < out.size();) {
    const size_t bytes = std::min<size_t>(kPiece - (at + done) % kPiece, out.size() - done);
    const uint64_t there = place(at + done);
    if (!pages_[there / kPage]) {
      std::memset(out.data() + done, 0, bytes);
    } else if (bytes == kPiece) {
      std::memcpy(out.data() + done, from + there, kPiece);
    } else {
      std::memcpy(out.data() + done, from + there, bytes);
    }
    done += bytes;
  }
}

void Vmem::write(uint64_t at, std::span<const std::byte> data) {
  std::byte* to = memory_.bytes().data();
  if (flat()) {
    std::memcpy(to + at, data.data(), data.size());
    return;
  }
  for (size_t done = 0; done < data.size();) {
    const size_t bytes = std::min<size_t>(kPiece - (at + done) % kPiece, data.size() - done);
    const uint64_t there = place(at + done);
    const std::byte* from = data.data() + done;
    done += bytes;
    if (!pages_[there / kPage]) {
      if (is_zero(from, bytes)) continue;
      pages_[there / kPage] = true;
    }
    if (bytes == kPiece)
      std::memcpy(to + there, from, kPiece);
    else
      std::memcpy(to + there, from, bytes);
  }
}

}  // namespace weft::golden
