#include "host/compiler/executable/constant_section.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace weft::compiler {

uint64_t ConstantSection::add(std::span<const std::byte> data) {
  const uint64_t size = (data.size() + 63) / 64 * 64;
  const auto hash = std::hash<std::string_view>()({reinterpret_cast<const char*>(data.data()), data.size()});
  auto& equal = offsets_[{size, hash}];
  for (const uint64_t offset : equal) {
    const std::byte* other = bytes_.data() + offset;
    if (std::equal(data.begin(), data.end(), other) &&
        std::all_of(other + data.size(), other + size, [](std::byte b) { return b == std::byte{0}; }))
      return offset;
  }
  const uint64_t offset = bytes_.size();
  bytes_.insert(bytes_.end(), data.begin(), data.end());
  bytes_.resize(offset + size);
  equal.push_back(offset);
  return offset;
}

}  // namespace weft::compiler
