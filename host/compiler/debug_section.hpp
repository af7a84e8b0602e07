/// The DEBUG section: what the compiler meant by each tag.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace weft::compiler {

/// Number of tags (u32), then for each: tag u16, length u16, text.
[[nodiscard]] std::vector<std::byte> write_tags(const std::map<uint16_t, std::string>& tags);

/// The tags of an executable. Any bytes are safe: what cannot be read is left out.
[[nodiscard]] std::map<uint16_t, std::string> read_tags(std::span<const std::byte> executable);

}  // namespace weft::compiler
