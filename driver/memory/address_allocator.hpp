// Ranges of an address space: HBM and IOVA. Best fit, coalescing, every piece aligned.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace weft::driver {

/// Hands out ranges of [first, first + bytes). Best fit: the smallest free piece that holds the request, the lowest
/// address among equals. Holds only bookkeeping, never touches the memory. Not thread-safe; all calls are O(log
/// pieces).
class AddressAllocator {
 public:
  static constexpr uint64_t kGranuleBytes = 64;  ///< sizes are rounded up to it

  AddressAllocator(uint64_t first, uint64_t bytes);

  /// Address of `bytes` bytes (rounded up to the granule, 0 counts as 1), a multiple of `alignment` (a power of two of
  /// at least the granule). Nothing if no free piece holds it.
  std::optional<uint64_t> allocate(uint64_t bytes, uint64_t alignment);

  /// Frees what allocate returned. False: no such allocation, nothing changes.
  bool release(uint64_t address);

  uint64_t total_bytes() const { return total_bytes_; }
  uint64_t free_bytes() const { return free_bytes_; }
  /// Largest free piece.
  uint64_t largest_bytes() const { return free_by_size_.empty() ? 0 : free_by_size_.rbegin()->first; }
  size_t allocations() const { return used_.size(); }

 private:
  void insert_free(uint64_t address, uint64_t bytes);
  void erase_free(std::map<uint64_t, uint64_t>::iterator piece);

  uint64_t total_bytes_;
  uint64_t free_bytes_ = 0;
  std::map<uint64_t, uint64_t> free_;                     ///< address -> bytes
  std::set<std::pair<uint64_t, uint64_t>> free_by_size_;  ///< (bytes, address)
  std::map<uint64_t, uint64_t> used_;                     ///< address -> bytes
};

}  // namespace weft::driver
