// A hash table of pages.
#include "model/record/page_store.hpp"

#include <bit>
#include <cstring>

namespace weft::record {
namespace {

uint64_t hash_of(std::span<const std::byte> page) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t hash = 0;
  for (size_t i = 0; i < page.size(); i += sizeof hash) {
    uint64_t word = 0;
    std::memcpy(&word, &page[i], sizeof word);
    hash = std::rotl((hash ^ word) * kOdd, 29);
  }
  return hash;
}

}  // namespace

PageStore::Found PageStore::number_of(std::span<const std::byte> page) {
  const uint64_t hash = hash_of(page);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto found = first; found != last; ++found)
    if (std::memcmp(pages_[found->second].data(), page.data(), kPageBytes) == 0) return {found->second, false};
  if (pages_.size() == most_) return {kNone, false};
  const auto number = static_cast<uint32_t>(pages_.size());
  std::memcpy(pages_.emplace_back().data(), page.data(), kPageBytes);
  by_hash_.emplace(hash, number);
  return {number, true};
}

}  // namespace weft::record
