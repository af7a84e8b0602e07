/// The DEBUG section: what the compiler meant by each tag.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace weft::compiler {

/// By turn of a loop: what names of layers stand for in it.
using TurnNames = std::vector<std::map<std::string, std::string>>;

/// Number of tags (u32), then for each: tag u16, length u16, text. Of a loop, then: number of turns (u32), for each the
/// number of names (u32), for each of those: length u16, text, length u16, text.
[[nodiscard]] std::vector<std::byte> write_tags(const std::map<uint16_t, std::string>& tags,
                                                const TurnNames& turns = {});

/// The tags of an executable. Any bytes are safe: what cannot be read is left out.
[[nodiscard]] std::map<uint16_t, std::string> read_tags(std::span<const std::byte> executable);

/// The same of the names. Empty: there is no loop.
[[nodiscard]] TurnNames read_turn_names(std::span<const std::byte> executable);

}  // namespace weft::compiler
