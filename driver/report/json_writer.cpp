// Commas, indentation, and strings as RFC 8259 wants them.
#include "driver/report/json_writer.hpp"

namespace weft::driver {
namespace {

constexpr size_t kIndent = 2;
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

/// Bytes of the UTF-8 character that `text` begins with; 0: no character. `text` is not empty.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; i++)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xed && byte(1) >= 0xa0, beyond = lead == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : bytes;
}

void append_escaped(std::string& out, char character) {
  constexpr std::string_view kPlain = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt";
  if (const size_t at = kPlain.find(character); at != std::string_view::npos) {
    out += '\\';
    out += kNames[at];
  } else if (static_cast<uint8_t>(character) < 0x20) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out += "\\u00";
    out += kDigits[static_cast<uint8_t>(character) >> 4];
    out += kDigits[static_cast<uint8_t>(character) & 15];
  } else {
    out += character;
  }
}

}  // namespace

void JsonWriter::open(char bracket) {
  begin_value();
  text_ += bracket;
  level_++;
  first_ = true;
}

void JsonWriter::close(char bracket) {
  level_--;
  if (!first_) line();
  text_ += bracket;
  first_ = false;
}

void JsonWriter::key(std::string_view name) {
  begin_value();
  quote(name);
  text_ += ": ";
  has_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  begin_value();
  quote(text);
}

void JsonWriter::plain(std::string_view text) {
  begin_value();
  text_ += text;
}

/// A comma and a line of its own, unless a key stands before it.
void JsonWriter::begin_value() {
  if (has_key_) {
    has_key_ = false;
    return;
  }
  if (level_ == 0) return;
  if (!first_) text_ += ',';
  first_ = false;
  line();
}

void JsonWriter::line() {
  text_ += '\n';
  text_.append(level_ * kIndent, ' ');
}

void JsonWriter::quote(std::string_view text) {
  text_ += '"';
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    if (bytes == 0) {
      text_ += kReplacement;
    } else if (bytes == 1) {
      append_escaped(text_, text.front());
    } else {
      text_ += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  text_ += '"';
}

}  // namespace weft::driver
