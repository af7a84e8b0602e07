/// Random numbers, and the values around the boundaries where hardware goes wrong.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>

#include "weft/spec/names.hpp"

namespace weft::random {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  [[nodiscard]] uint64_t bits() { return random_(); }
  /// 0 to limit - 1.
  [[nodiscard]] uint64_t below(uint64_t limit) { return random_() % limit; }
  /// first to last.
  [[nodiscard]] uint64_t between(uint64_t first, uint64_t last) { return first + below(last - first + 1); }
  /// True once in `n`.
  [[nodiscard]] bool once_in(uint64_t n) { return below(n) == 0; }
  template <class T>
  [[nodiscard]] T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  /// A size from 1 to max: mostly 1, one off a multiple of n, or max; else anything.
  [[nodiscard]] uint64_t size(uint64_t n, uint64_t max) {
    const uint64_t value =
        one_of<uint64_t>({1, 2, n - 1, n, n + 1, 2 * n - 1, 2 * n, 2 * n + 1, max, between(1, max), between(1, max)});
    return std::clamp<uint64_t>(value, 1, max);
  }
  /// A value of an enumeration of the specification.
  [[nodiscard]] uint8_t enum_value(std::string_view name) {
    const auto values = spec::enum_values(name);
    return static_cast<uint8_t>(values[below(values.size())].value);
  }

 private:
  std::mt19937_64 random_;
};

/// Half of all programs fetch their commands: those whose data_seed has this bit.
[[nodiscard]] constexpr bool prefetch_drawn(uint64_t data_seed) { return (data_seed >> 40 & 1) != 0; }

}  // namespace weft::random
