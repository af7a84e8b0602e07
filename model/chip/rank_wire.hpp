/// Values as bytes between processes of one program on machines of one kind.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace weft::chip {

/// Appends.
class WireWriter {
 public:
  explicit WireWriter(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(uint64_t{values.size()});
    put_bytes(std::as_bytes(std::span(values)));
  }

 private:
  void put_bytes(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  std::vector<std::byte>& bytes_;
};

/// Takes what a WireWriter has put, in the same order. The bytes outlive it.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  template <class T>
  [[nodiscard]] T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    take(&value, sizeof value);
    return value;
  }
  template <class T>
  [[nodiscard]] std::vector<T> get_all() {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> values(get<uint64_t>());
    if (!values.empty()) take(values.data(), values.size() * sizeof(T));
    return values;
  }

 private:
  void take(void* to, size_t count) {
    std::memcpy(to, bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
  }
  std::span<const std::byte> bytes_;
};

}  // namespace weft::chip
