// Tags to bytes and back.
#include "host/compiler/executable/debug_section.hpp"

#include <cstring>

#include "weft/spec/spec.h"

namespace weft::compiler {
namespace {

/// Reads a T at `offset` and moves it on. False: not enough bytes.
template <typename T>
bool take(std::span<const std::byte> bytes, size_t& offset, T& value) {
  if (bytes.size() < sizeof(T) || offset > bytes.size() - sizeof(T)) return false;
  std::memcpy(&value, &bytes[offset], sizeof(T));
  offset += sizeof(T);
  return true;
}

bool take(std::span<const std::byte> bytes, size_t& offset, std::string& text) {
  uint16_t length = 0;
  if (!take(bytes, offset, length) || length > bytes.size() - offset) return false;
  text.assign(reinterpret_cast<const char*>(bytes.data()) + offset, length);
  offset += length;
  return true;
}

/// Nothing: the executable has none.
std::span<const std::byte> debug_section(std::span<const std::byte> executable) {
  size_t offset = 0;
  weft_executable_header header{};
  if (!take(executable, offset, header)) return {};
  for (uint32_t i = 0; i < header.section_count && i < WEFT_EXECUTABLE_MAX_SECTIONS; i++) {
    weft_section_entry entry{};
    if (!take(executable, offset, entry)) return {};
    if (entry.kind == WEFT_SECTION_KIND_DEBUG && entry.offset <= executable.size() &&
        entry.size_bytes <= executable.size() - entry.offset)
      return executable.subspan(entry.offset, entry.size_bytes);
  }
  return {};
}

/// What can be read of the tags; `offset`: behind it.
std::map<uint16_t, std::string> take_tags(std::span<const std::byte> section, size_t& offset) {
  std::map<uint16_t, std::string> tags;
  uint32_t count = 0;
  uint16_t tag = 0;
  std::string text;
  if (!take(section, offset, count)) return tags;
  while (count-- > 0 && take(section, offset, tag) && take(section, offset, text)) tags[tag] = text;
  return tags;
}

}  // namespace

std::vector<std::byte> write_tags(const std::map<uint16_t, std::string>& tags, const TurnNames& turns) {
  std::vector<std::byte> section;
  const auto append = [&section](const void* data, size_t bytes) {
    const auto* first = static_cast<const std::byte*>(data);
    section.insert(section.end(), first, first + bytes);
  };
  const auto append_count = [&](size_t size) {
    const auto count = static_cast<uint32_t>(size);
    append(&count, sizeof count);
  };
  const auto append_text = [&](const std::string& text) {
    const auto length = static_cast<uint16_t>(text.size());
    append(&length, sizeof length);
    append(text.data(), text.size());
  };
  append_count(tags.size());
  for (const auto& [tag, text] : tags) {
    append(&tag, sizeof tag);
    append_text(text);
  }
  if (turns.empty()) return section;
  append_count(turns.size());
  for (const auto& names : turns) {
    append_count(names.size());
    for (const auto& [first, here] : names) append_text(first), append_text(here);
  }
  return section;
}

std::map<uint16_t, std::string> read_tags(std::span<const std::byte> executable) {
  size_t offset = 0;
  return take_tags(debug_section(executable), offset);
}

TurnNames read_turn_names(std::span<const std::byte> executable) {
  const auto section = debug_section(executable);
  size_t offset = 0;
  (void)take_tags(section, offset);
  TurnNames turns;
  uint32_t turn_count = 0, count = 0;
  if (!take(section, offset, turn_count)) return turns;
  std::string first, here;
  while (turn_count-- > 0 && take(section, offset, count)) {
    auto& names = turns.emplace_back();
    while (count-- > 0 && take(section, offset, first) && take(section, offset, here)) names[first] = here;
  }
  return turns;
}

}  // namespace weft::compiler
