// Tags to bytes and back.
#include "host/compiler/debug_section.hpp"

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

}  // namespace

std::vector<std::byte> write_tags(const std::map<uint16_t, std::string>& tags) {
  std::vector<std::byte> section;
  const auto append = [&section](const void* data, size_t bytes) {
    const auto* first = static_cast<const std::byte*>(data);
    section.insert(section.end(), first, first + bytes);
  };
  const auto count = static_cast<uint32_t>(tags.size());
  append(&count, sizeof count);
  for (const auto& [tag, text] : tags) {
    const auto length = static_cast<uint16_t>(text.size());
    append(&tag, sizeof tag);
    append(&length, sizeof length);
    append(text.data(), text.size());
  }
  return section;
}

std::map<uint16_t, std::string> read_tags(std::span<const std::byte> executable) {
  std::map<uint16_t, std::string> tags;
  size_t offset = 0;
  weft_executable_header header{};
  if (!take(executable, offset, header)) return tags;
  for (uint32_t i = 0; i < header.section_count && i < WEFT_EXECUTABLE_MAX_SECTIONS; i++) {
    weft_section_entry entry{};
    if (!take(executable, offset, entry)) return tags;
    if (entry.kind != WEFT_SECTION_KIND_DEBUG || entry.offset > executable.size() ||
        entry.size_bytes > executable.size() - entry.offset)
      continue;
    const auto section = executable.subspan(entry.offset, entry.size_bytes);
    size_t at = 0;
    uint32_t count = 0;
    uint16_t tag = 0, length = 0;
    if (!take(section, at, count)) return tags;
    while (count-- > 0 && take(section, at, tag) && take(section, at, length) && length <= section.size() - at) {
      tags[tag] = std::string(reinterpret_cast<const char*>(section.data()) + at, length);
      at += length;
    }
  }
  return tags;
}

}  // namespace weft::compiler
