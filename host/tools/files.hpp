/// Whole files, read and written so that no partial output is ever left behind.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"

namespace weft::tools {

/// INVALID_ARGUMENT with path and reason if it cannot be read.
[[nodiscard]] Result<std::vector<std::byte>> read_file(const std::string& path);

/// Writes beside `path` and renames: either the whole file is there, or what was there before. INVALID_ARGUMENT with
/// path and reason.
[[nodiscard]] Status write_file(const std::string& path, const std::vector<std::byte>& data);

/// True if a file could be written at `path` (its folder exists and is writable): asked before long work begins.
[[nodiscard]] Status check_writable(const std::string& path);

}  // namespace weft::tools
