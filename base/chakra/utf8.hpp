/// Text of a trace: whether it is UTF-8, as protobuf asks of strings, and how a message shows it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::chakra {

/// No overlong forms, no surrogates, nothing above U+10FFFF (RFC 3629).
constexpr bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<uint8_t>(text[at++]);
    if (first < 0x80) continue;
    if (first < 0xc2 || first > 0xf4) return false;
    const unsigned more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (text.size() - at < more) return false;
    // the second byte's range keeps out overlong forms, surrogates and what is too large
    const uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    const auto second = static_cast<uint8_t>(text[at]);
    if (second < least || second > most) return false;
    for (unsigned i = 1; i < more; i++) {
      const auto next = static_cast<uint8_t>(text[at + i]);
      if (next < 0x80 || next > 0xbf) return false;
    }
    at += more;
  }
  return true;
}

/// One line of at most 80 bytes and whole characters; text is UTF-8.
inline std::string printable(std::string_view text) {
  size_t length = text.size() < 80 ? text.size() : 80;
  while (length < text.size() && (static_cast<uint8_t>(text[length]) & 0xc0) == 0x80) length--;
  std::string shown(text.substr(0, length));
  for (char& c : shown)
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) c = '?';
  return shown;
}

}  // namespace weft::chakra
