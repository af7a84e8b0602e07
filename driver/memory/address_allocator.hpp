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
/// pieces). Without memory (bad_alloc) allocate() changes nothing; release() needs none.
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
  using FreeMap = std::map<uint64_t, uint64_t>;
  using FreeSet = std::set<std::pair<uint64_t, uint64_t>>;
  /// The two nodes of a free piece, which a range in use keeps for its release.
  struct Nodes {
    FreeMap::node_type by_address;
    FreeSet::node_type by_size;
  };
  struct Used {
    uint64_t bytes;
    Nodes nodes;
  };

  static Nodes make_nodes();
  void insert_free(uint64_t address, uint64_t bytes, Nodes nodes) noexcept;
  Nodes extract_free(FreeMap::iterator piece) noexcept;

  uint64_t total_bytes_;
  uint64_t free_bytes_ = 0;
  FreeMap free_;                   ///< address -> bytes
  FreeSet free_by_size_;           ///< (bytes, address)
  std::map<uint64_t, Used> used_;  ///< by address
};

}  // namespace weft::driver
