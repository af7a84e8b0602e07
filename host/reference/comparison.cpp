// Sizes first, then bits.
#include "host/reference/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

namespace weft::tools {
namespace {

/// Coordinates of element `at` of a dense array.
std::vector<uint64_t> coordinates(std::span<const uint64_t> shape, uint64_t at) {
  std::vector<uint64_t> out(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    out[axis] = at % shape[axis];
    at /= shape[axis];
  }
  return out;
}

}  // namespace

void Comparison::add(std::string_view what, std::span<const uint64_t> shape, std::span<const std::byte> expected,
                     std::span<const std::byte> got, size_t element_bytes) {
  uint64_t count = 1;
  for (const uint64_t d : shape) count *= d;
  if (count == 0 || expected.size() != count * element_bytes || got.size() != count * element_bytes) {
    if (wrong_size_.empty())
      wrong_size_ = fmt::format("{}: shape [{}] has {} elements of {} bytes, the reference {} bytes, the result {}",
                                what, fmt::join(shape, ", "), count, element_bytes, expected.size(), got.size());
    return;
  }
  elements_ += count;
  if (std::memcmp(expected.data(), got.data(), expected.size()) == 0) return;
  for (uint64_t i = 0; i < count; i++) {
    if (std::memcmp(&expected[i * element_bytes], &got[i * element_bytes], element_bytes) == 0) continue;
    if (differing_++ == 0) first_ = fmt::format("{}, element [{}]", what, fmt::join(coordinates(shape, i), ", "));
  }
}

Status Comparison::verdict(std::string_view reference) const {
  if (!wrong_size_.empty())
    return Error{WEFT_ERROR_INTERNAL, fmt::format("the result cannot be compared with {}: {}", reference, wrong_size_)};
  if (elements_ == 0) return Error{WEFT_ERROR_INTERNAL, fmt::format("nothing was compared with {}", reference)};
  if (differing_ != 0)
    return Error{WEFT_ERROR_GOLDEN_MISMATCH, fmt::format("{} of {} elements differ from {}, first at {}", differing_,
                                                         elements_, reference, first_)};
  return Ok{};
}

}  // namespace weft::tools
