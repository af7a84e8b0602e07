/// Gives the spans of a trace the names that the compiler gave their tags.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "host/compiler/result.hpp"

namespace weft::tools {

/// Rewrites the Chrome trace at `path`: a span whose args hold a tag of the executable takes that tag's text as its
/// name; its opcode moves to args. INVALID_ARGUMENT with the path if the file cannot be read or is no trace; it is then
/// left as it was.
[[nodiscard]] Status name_trace(const std::string& path, std::span<const std::byte> executable);

}  // namespace weft::tools
