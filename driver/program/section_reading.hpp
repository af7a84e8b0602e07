// Fields of an executable's sections, read from bytes that need not be aligned.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>

namespace weft::driver {

/// A T at `offset`; the caller has checked that it lies inside.
template <typename T>
T read_at(std::span<const std::byte> bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename T, size_t Count>
bool all_zero(const T (&values)[Count]) {
  return std::all_of(std::begin(values), std::end(values), [](T v) { return v == 0; });
}

}  // namespace weft::driver
