/// NumPy .npy files, versions 1 to 3, of numbers and bool.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"

namespace weft::tools {

enum class NpyType : uint8_t { kF32, kI8, kI32, kF16, kF64, kI16, kI64, kU8, kU16, kU32, kU64, kBool };

/// A dense array in C order.
struct NpyArray {
  NpyType type = NpyType::kF32;
  std::vector<uint64_t> shape;
  std::vector<std::byte> data;

  [[nodiscard]] uint64_t count() const {
    uint64_t n = 1;
    for (const uint64_t d : shape) n *= d;
    return n;
  }
  template <typename T>
  [[nodiscard]] const T* as() const {
    return reinterpret_cast<const T*>(data.data());
  }
};

/// Bytes of an element; its name in NumPy ("float32", ...).
[[nodiscard]] size_t element_bytes(NpyType type);
[[nodiscard]] const char* type_name(NpyType type);

/// Parses the bytes of a file. INVALID_ARGUMENT with what is wrong: not .npy, big-endian, Fortran order, a type that is
/// not among these, a length that does not fit the shape.
[[nodiscard]] Result<NpyArray> parse_npy(const std::vector<std::byte>& file);

/// Reads and parses; the message begins with the path.
[[nodiscard]] Result<NpyArray> read_npy(const std::string& path);

/// The bytes of a version 1 file.
[[nodiscard]] std::vector<std::byte> format_npy(const NpyArray& array);

}  // namespace weft::tools
