/// Numbers and bytes of records, in and out.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::record {

/// Appends to a vector of bytes that it owns.
class Encoder {
 public:
  void byte(uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<uint8_t>(value | 0x80));
    byte(static_cast<uint8_t>(value));
  }
  void data(std::span<const std::byte> data) { bytes_.insert(bytes_.end(), data.begin(), data.end()); }

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::vector<std::byte> bytes_;
};

/// Walks over bytes that it does not own and does not trust: what would lie beyond the end is 0 or empty, and ok() is
/// false from then on.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint8_t byte() {
    if (at_ >= bytes_.size()) return fail();
    return std::to_integer<uint8_t>(bytes_[at_++]);
  }
  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t part = byte();
      value |= uint64_t{part & 0x7fu} << shift;
      if ((part & 0x80) == 0) return value;
    }
    return fail();  // more than ten bytes
  }
  std::span<const std::byte> data(uint64_t bytes) {
    if (bytes > bytes_.size() - at_) {
      fail();
      return {};
    }
    const auto found = bytes_.subspan(at_, bytes);
    at_ += bytes;
    return found;
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] size_t position() const { return at_; }

 private:
  uint8_t fail() {
    ok_ = false;
    at_ = bytes_.size();
    return 0;
  }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace weft::record
