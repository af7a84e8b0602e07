// Best fit over two orders of the free pieces: by address (to coalesce) and by size (to find).
#include "driver/memory/address_allocator.hpp"

#include <algorithm>

#include "base/round_up.hpp"

namespace weft::driver {

AddressAllocator::AddressAllocator(uint64_t first, uint64_t bytes) {
  const uint64_t begin = round_up(first, kGranuleBytes);
  const uint64_t end = (first + bytes) & ~(kGranuleBytes - 1);
  total_bytes_ = end > begin ? end - begin : 0;
  if (total_bytes_ != 0) insert_free(begin, total_bytes_, make_nodes());
}

/// Nodes come out of containers only.
AddressAllocator::Nodes AddressAllocator::make_nodes() {
  FreeMap by_address{{0, 0}};
  FreeSet by_size{{0, 0}};
  return {by_address.extract(by_address.begin()), by_size.extract(by_size.begin())};
}

void AddressAllocator::insert_free(uint64_t address, uint64_t bytes, Nodes nodes) noexcept {
  nodes.by_address.key() = address;
  nodes.by_address.mapped() = bytes;
  nodes.by_size.value() = {bytes, address};
  free_.insert(std::move(nodes.by_address));
  free_by_size_.insert(std::move(nodes.by_size));
  free_bytes_ += bytes;
}

AddressAllocator::Nodes AddressAllocator::extract_free(FreeMap::iterator piece) noexcept {
  free_bytes_ -= piece->second;
  FreeSet::node_type by_size = free_by_size_.extract({piece->second, piece->first});
  return {free_.extract(piece), std::move(by_size)};
}

std::optional<uint64_t> AddressAllocator::allocate(uint64_t bytes, uint64_t alignment) {
  if (bytes > total_bytes_) return std::nullopt;  // also keeps the rounding below from overflowing
  bytes = round_up(std::max<uint64_t>(bytes, 1), kGranuleBytes);
  alignment = std::max(alignment, kGranuleBytes);
  for (auto candidate = free_by_size_.lower_bound({bytes, 0}); candidate != free_by_size_.end(); ++candidate) {
    const auto [piece_bytes, piece] = *candidate;
    const uint64_t address = round_up(piece, alignment);
    const uint64_t before = address - piece;
    if (before > piece_bytes || piece_bytes - before < bytes) continue;
    const uint64_t after = piece_bytes - before - bytes;
    Nodes before_nodes = before != 0 ? make_nodes() : Nodes{};
    Nodes after_nodes = after != 0 ? make_nodes() : Nodes{};
    const auto used = used_.try_emplace(address, Used{bytes, {}}).first;  // the last that may fail
    used->second.nodes = extract_free(free_.find(piece));
    if (before != 0) insert_free(piece, before, std::move(before_nodes));
    if (after != 0) insert_free(address + bytes, after, std::move(after_nodes));
    return address;
  }
  return std::nullopt;
}

bool AddressAllocator::release(uint64_t address) {
  const auto used = used_.find(address);
  if (used == used_.end()) return false;
  uint64_t begin = address;
  uint64_t end = address + used->second.bytes;
  Nodes nodes = std::move(used->second.nodes);
  used_.erase(used);
  auto next = free_.lower_bound(begin);
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == begin) {
      begin = previous->first;
      extract_free(previous);
    }
  }
  next = free_.lower_bound(end);
  if (next != free_.end() && next->first == end) {
    end = next->first + next->second;
    extract_free(next);
  }
  insert_free(begin, end - begin, std::move(nodes));
  return true;
}

}  // namespace weft::driver
