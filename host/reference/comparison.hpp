/// The one place that counts elements of a result which differ from a reference.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "host/compiler/result.hpp"

namespace weft::tools {

/// Compares arrays bit by bit, one after the other. Sizes come first: an array that has not as many elements as its
/// shape says, on either side, is a failure of the comparison and none of its elements counts; so is a comparison of no
/// element at all. One thread.
class Comparison {
 public:
  /// Compares `got` with `expected`, both dense, in elements of `element_bytes`. `what` names the array in messages,
  /// `shape` holds its dimensions.
  void add(std::string_view what, std::span<const uint64_t> shape, std::span<const std::byte> expected,
           std::span<const std::byte> got, size_t element_bytes);

  /// The same for arrays of one type each; both hold the bits of the same elements.
  template <typename Expected, typename Got>
  void add(std::string_view what, std::span<const uint64_t> shape, const std::vector<Expected>& expected,
           const std::vector<Got>& got, size_t element_bytes = sizeof(Expected)) {
    static_assert(std::is_trivially_copyable_v<Expected> && std::is_trivially_copyable_v<Got>);
    add(what, shape, std::as_bytes(std::span(expected)), std::as_bytes(std::span(got)), element_bytes);
  }

  /// Arrays with one dimension: as long as `expected`, which must not be empty.
  template <typename T>
  void add_list(std::string_view what, const std::vector<T>& expected, const std::vector<T>& got) {
    const uint64_t count = expected.size();
    add(what, {&count, 1}, expected, got);
  }

  [[nodiscard]] uint64_t elements() const { return elements_; }      ///< compared
  [[nodiscard]] uint64_t differing() const { return differing_; }    ///< of those
  [[nodiscard]] const std::string& first() const { return first_; }  ///< "y, element [1, 3]"; empty: none differs

  /// OK: elements were compared, every array had its size, and no element differs. GOLDEN_MISMATCH: some differ from
  /// `reference` ("the golden model"). INTERNAL: an array of another size, or nothing was compared.
  [[nodiscard]] Status verdict(std::string_view reference) const;

 private:
  uint64_t elements_ = 0, differing_ = 0;
  std::string first_;
  std::string wrong_size_;  ///< of the first array that has one
};

}  // namespace weft::tools
