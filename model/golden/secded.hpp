/// The SECDED codes of VMEM and ACC, said again: from their columns, not from the rows of rtl/common/secded_pkg.sv.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft::golden {

/// What a decoder makes of a codeword.
enum class SecdedResult : uint8_t { kGood, kCorrected, kPoison };

/// A Hsiao code: the syndrome of data bit i is column i, of odd weight; that of check bit i is 1 << i. Linear, so zero
/// is a codeword, and what a decoder does depends on the bits that were flipped alone.
template <size_t DataBits, size_t CheckBits>
class Secded {
 public:
  struct Decoded {
    uint64_t data;  ///< corrected; as stored if kPoison
    SecdedResult result;
  };

  explicit constexpr Secded(const std::array<uint8_t, DataBits>& columns) : columns_(columns) {}

  [[nodiscard]] constexpr uint8_t encode(uint64_t data) const {
    unsigned check = 0;
    for (; data != 0; data &= data - 1) check ^= columns_[static_cast<size_t>(std::countr_zero(data))];
    return static_cast<uint8_t>(check);
  }
  [[nodiscard]] constexpr Decoded decode(uint64_t data, uint8_t check) const {
    const auto syndrome = static_cast<uint8_t>(encode(data) ^ check);
    if (syndrome == 0) return {data, SecdedResult::kGood};
    if (std::has_single_bit(syndrome)) return {data, SecdedResult::kCorrected};
    for (size_t i = 0; i < DataBits; i++)
      if (columns_[i] == syndrome) return {data ^ uint64_t{1} << i, SecdedResult::kCorrected};
    return {data, SecdedResult::kPoison};
  }

 private:
  std::array<uint8_t, DataBits> columns_;
};

/// A granule of VMEM: all 56 columns of weight 3 in ascending order, then the 8 rotations of 0b00011111.
inline constexpr Secded<64, 8> kSecded64{[] {
  std::array<uint8_t, 64> columns{};
  size_t next = 0;
  for (unsigned c = 0; c < 256; c++)
    if (std::popcount(c) == 3) columns[next++] = static_cast<uint8_t>(c);
  for (unsigned c = 0; c < 256; c++)
    for (int r = 0; r < 8; r++)
      if (std::rotl(uint8_t{0x1f}, r) == c) columns[next++] = static_cast<uint8_t>(c);
  return columns;
}()};

/// An element of ACC: the columns of weight 3 but for three that together balance the rows.
inline constexpr Secded<32, 7> kSecded32{[] {
  std::array<uint8_t, 32> columns{};
  size_t next = 0;
  for (unsigned c = 0; c < 128; c++)
    if (std::popcount(c) == 3 && c != 0b0000111 && c != 0b0011100 && c != 0b1110000)
      columns[next++] = static_cast<uint8_t>(c);
  return columns;
}()};

}  // namespace weft::golden
