/// Gives the spans of a trace the names that the compiler gave their tags.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "host/compiler/result.hpp"

namespace weft::tools {

using TagNames = std::map<uint16_t, std::string>;

/// Rewrites the Chrome trace at `path`: an engine's span whose args hold a tag in chips[process] takes that tag's text
/// as its name; its opcode moves to args. INVALID_ARGUMENT with the path if the file cannot be read or is no trace; it
/// is then left as it was.
[[nodiscard]] Status name_trace(const std::string& path, std::span<const TagNames> chips);

}  // namespace weft::tools
