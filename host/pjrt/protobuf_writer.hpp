/// Writes messages of the framework's protocol buffers, field by field.
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::pjrt {

/// A number as it stands in a message, or in a packed list.
inline void put(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
inline void put_field(std::string& out, uint64_t number, uint64_t value) {
  put(out, number << 3);
  put(out, value);
}
/// A text, or a message within the message.
inline void put_field(std::string& out, uint64_t number, std::string_view bytes) {
  put(out, number << 3 | 2);
  put(out, bytes.size());
  out += bytes;
}
inline void put_double(std::string& out, uint64_t number, double value) {
  put(out, number << 3 | 1);
  for (uint64_t left = std::bit_cast<uint64_t>(value), byte = 0; byte < 8; byte++, left >>= 8)
    out += static_cast<char>(left);
}

}  // namespace weft::pjrt
