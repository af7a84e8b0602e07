// VMEM row by row, or the first bytes of the rows of a block one behind the other.
#include "model/golden/vmem.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::golden {
namespace {

constexpr uint64_t kPiece = 16;  // a block of 256 rows of so many bytes is a page of the host

bool is_zero(const std::byte* data, uint64_t bytes) {
  return bytes == 0 || (data[0] == std::byte{0} && std::memcmp(data, data + 1, bytes - 1) == 0);
}

/// Up to the last byte that is not zero.
uint64_t used_bytes(const std::byte* data, uint64_t bytes) {
  uint64_t word = 0;
  for (; bytes >= sizeof word; bytes -= sizeof word) {
    std::memcpy(&word, data + bytes - sizeof word, sizeof word);
    if (word != 0) break;
  }
  while (bytes > 0 && data[bytes - 1] == std::byte{0}) bytes--;
  return bytes;
}

/// Pages of zeros that nothing has touched stay so.
void clear(std::byte* data, uint64_t bytes) {
  if (!is_zero(data, bytes)) std::memset(data, 0, bytes);
}

}  // namespace

Vmem::Vmem(uint64_t bytes, uint64_t row_bytes, VmemForm form)
    : memory_(bytes), row_shift_(static_cast<unsigned>(std::bit_width(row_bytes) - 1)) {
  const bool whole = std::has_single_bit(row_bytes) && row_bytes > kPiece && bytes % (kRows * row_bytes) == 0;
  if (form == VmemForm::kFlat || !whole) return;
  blocks_.resize(bytes / (kRows * row_bytes));
  ::madvise(memory_.bytes().data(), bytes, MADV_NOHUGEPAGE);  // a refusal costs memory only
}

/// As much as can be moved at once of `bytes` from `at` on.
Vmem::Part Vmem::part_at(uint64_t at, uint64_t bytes) const {
  const uint64_t row = at >> row_shift_, column = at & (row_bytes() - 1), block = row / kRows;
  const bool whole = blocks_[block].width == row_bytes();
  const uint64_t end = whole ? (block + 1) * kRows : row + 1;
  return {block, row % kRows, column, std::min(bytes, (end << row_shift_) - at)};
}

void Vmem::read(uint64_t at, std::span<std::byte> out) const {
  const std::byte* from = memory_.bytes().data();
  if (flat()) {
    std::memcpy(out.data(), from + at, out.size());
    return;
  }
  for (uint64_t done = 0; done < out.size();) {
    const Part part = part_at(at + done, out.size() - done);
    const Block& block = blocks_[part.block];
    uint64_t stored = 0;
    if (block.width == row_bytes())
      stored = part.bytes;
    else if (part.row < block.rows && part.column < block.width)
      stored = std::min(part.bytes, block.width - part.column);
    if (stored != 0) std::memcpy(out.data() + done, from + place(part), stored);
    if (stored != part.bytes) std::memset(out.data() + done + stored, 0, part.bytes - stored);
    done += part.bytes;
  }
}

void Vmem::write(uint64_t at, std::span<const std::byte> data) {
  if (flat()) {
    std::memcpy(memory_.bytes().data() + at, data.data(), data.size());
    return;
  }
  for (uint64_t done = 0; done < data.size();) {
    const Part part = part_at(at + done, data.size() - done);
    write_part(part, data.data() + done);
    done += part.bytes;
  }
}

void Vmem::write_part(const Part& part, const std::byte* data) {
  Block& block = blocks_[part.block];
  uint64_t bytes = part.bytes;
  if (block.width != row_bytes() && part.column + bytes > block.width) {
    const uint64_t room = block.width - std::min<uint64_t>(part.column, block.width);
    bytes = std::max(room, used_bytes(data, bytes));
    if (bytes > room) widen(part.block, (part.column + bytes + kPiece - 1) / kPiece * kPiece);
  }
  const uint64_t end_row = part.row + ((part.column + part.bytes - 1) >> row_shift_) + 1;
  if (end_row > block.rows) {
    if (is_zero(data, bytes)) {
      if (part.row >= block.rows) return;
    } else {
      block.rows = static_cast<uint32_t>(end_row);
    }
  }
  if (bytes != 0) std::memcpy(memory_.bytes().data() + place(part), data, bytes);
}

/// The last row first, which has the furthest to go.
void Vmem::widen(uint64_t number, uint64_t width) {
  Block& block = blocks_[number];
  std::byte* const first = memory_.bytes().data() + (number * kRows << row_shift_);
  const uint64_t before = block.width;
  for (uint64_t row = before == 0 ? 0 : block.rows; row-- > 0;) {
    const std::byte* from = first + row * before;
    std::byte* to = first + row * width;
    if (is_zero(from, before))
      clear(to, before);
    else
      std::memmove(to, from, before);
    clear(to + before, width - before);
  }
  block.width = static_cast<uint32_t>(width);
}

}  // namespace weft::golden
