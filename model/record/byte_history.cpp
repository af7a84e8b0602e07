// Cursors into the pieces of a page, one a byte.
#include "model/record/byte_history.hpp"

#include <algorithm>

namespace weft::record {

void ByteHistory::add(uint64_t address, std::span<const std::byte> data, size_t record, bool loose) {
  while (!data.empty()) {
    const uint64_t first = address % kPageBytes;
    const size_t bytes = std::min<size_t>(kPageBytes - first, data.size());
    pages_[address / kPageBytes].pieces.push_back(
        {static_cast<uint16_t>(first), static_cast<uint16_t>(bytes), loose, record, data.data()});
    data = data.subspan(bytes);
    address += bytes;
  }
}

ByteHistory::Page* ByteHistory::page_of(uint64_t address) {
  const auto found = pages_.find(address / kPageBytes);
  if (found == pages_.end()) return nullptr;
  Page& page = found->second;
  if (page.next == nullptr) {
    page.next = std::make_unique<std::array<uint32_t, kPageBytes>>();
    page.next->fill(0);
  }
  return &page;
}

ByteHistory::Found ByteHistory::find(Page& page, uint32_t byte, uint64_t bytes, size_t floor) {
  auto& next = *page.next;
  uint64_t most = bytes;
  for (uint32_t i = next[byte]; i < page.pieces.size(); i++) {
    const Piece& piece = page.pieces[i];
    if (piece.record < floor) continue;
    if (piece.first > byte) most = std::min<uint64_t>(most, piece.first - byte);  // its bytes have this access first
    if (byte < piece.first || byte >= piece.first + piece.bytes) continue;
    most = std::min<uint64_t>(most, piece.first + piece.bytes - byte);
    uint32_t run = 1;
    while (run < most && next[byte + run] == next[byte]) run++;
    std::fill_n(next.begin() + byte, run, i + 1);
    return {&piece, piece.data + (byte - piece.first), run};
  }
  return {};
}

ByteHistory::Found ByteHistory::take(uint64_t address, uint64_t bytes) {
  Page* page = page_of(address);
  return page == nullptr ? Found{} : find(*page, address % kPageBytes, bytes, 0);
}

ByteHistory::Found ByteHistory::take_or_last(uint64_t address, uint64_t bytes, size_t floor) {
  Page* page = page_of(address);
  if (page == nullptr) return {};
  const uint32_t byte = address % kPageBytes;
  const Found found = find(*page, byte, bytes, floor);
  if (found.piece != nullptr) return found;
  for (auto piece = page->pieces.rbegin(); piece != page->pieces.rend(); ++piece)
    if (byte >= piece->first && byte < piece->first + piece->bytes)
      return {&*piece, piece->data + (byte - piece->first), 1};
  return {};
}

}  // namespace weft::record
