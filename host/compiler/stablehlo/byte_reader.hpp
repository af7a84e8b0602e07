/// Numbers of MLIR bytecode.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::stablehlo {

/// Goes through bytes from front to end, and refuses to go beyond them.
class ByteReader {
 public:
  ByteReader() = default;
  /// `offset`: of the first byte in the file, for what is aligned.
  explicit ByteReader(std::span<const std::byte> bytes, uint64_t offset = 0) : rest_(bytes), offset_(offset) {}

  [[nodiscard]] size_t left() const { return rest_.size(); }
  [[nodiscard]] uint64_t offset() const { return offset_; }

  std::span<const std::byte> take(uint64_t count) {
    if (count > rest_.size()) ir::invalid("bytecode: it ends {} bytes early at byte {}", count - rest_.size(), offset_);
    const auto taken = rest_.first(static_cast<size_t>(count));
    rest_ = rest_.subspan(static_cast<size_t>(count));
    offset_ += count;
    return taken;
  }
  uint8_t byte() { return static_cast<uint8_t>(take(1)[0]); }

  /// The number of trailing zeros of the first byte is the number of bytes that follow it; 8 of them hold 64 bits.
  uint64_t number() {
    const uint8_t first = byte();
    if (first == 0) return little_endian(8);
    int more = 0;
    while ((first >> more & 1) == 0) more++;
    const uint64_t high = little_endian(static_cast<size_t>(more));
    return more == 7 ? high : high << (7 - more) | static_cast<uint64_t>(first >> (more + 1));
  }
  /// Zigzag: the sign is bit 0.
  int64_t signed_number() {
    const uint64_t value = number();
    return static_cast<int64_t>(value >> 1 ^ (0 - (value & 1)));
  }
  /// A number that counts or names things, each of which takes a byte at least in what follows or lies in a table.
  uint32_t index(uint64_t limit, const char* what) {
    const uint64_t value = number();
    if (value >= limit) ir::invalid("bytecode: {} {} of {} at byte {}", what, value, limit, offset_);
    return static_cast<uint32_t>(value);
  }
  uint64_t count(const char* what) {
    const uint64_t value = number();
    if (value > rest_.size()) ir::invalid("bytecode: {} {} in {} bytes at byte {}", value, what, left(), offset_);
    return value;
  }

  struct Section;
  Section section();

 private:
  uint64_t little_endian(size_t bytes) {
    uint64_t value = 0;
    const auto from = take(bytes);
    for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<uint64_t>(from[i]);
    return value;
  }

  std::span<const std::byte> rest_;
  uint64_t offset_ = 0;
};

struct ByteReader::Section {
  uint8_t id = 0;
  ByteReader content;
};

/// A section's bytes; those that align it in the file are passed over.
inline ByteReader::Section ByteReader::section() {
  const uint8_t head = byte();
  const uint64_t length = number();
  if (head & 0x80) {
    const uint64_t alignment = number();
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > 1u << 20)
      ir::invalid("bytecode: a section is aligned to {} bytes", alignment);
    (void)take((alignment - offset_ % alignment) % alignment);
  }
  const uint64_t begin = offset_;
  return {static_cast<uint8_t>(head & 0x7f), ByteReader(take(length), begin)};
}

}  // namespace weft::compiler::stablehlo
