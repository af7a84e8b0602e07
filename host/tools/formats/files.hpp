/// Whole files, read and written so that no partial output is ever left behind.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"

namespace weft::tools {

/// INVALID_ARGUMENT with path and reason if it cannot be read.
[[nodiscard]] Result<std::vector<std::byte>> read_file(const std::string& path);

/// Writes beside `path` and renames: either the whole file is there, or what was there before. /dev/null, a pipe and
/// the like are written as they are. INVALID_ARGUMENT with path and reason.
[[nodiscard]] Status write_file(const std::string& path, const std::vector<std::byte>& data);

/// OK if a file could be written at `path` (its folder exists and is writable, and a file that is there is too): asked
/// before long work begins.
[[nodiscard]] Status check_writable(const std::string& path);

/// The same for a file that another program makes or that is read again: what is there must be a regular file.
[[nodiscard]] Status check_regular(const std::string& path);

/// INVALID_ARGUMENT: two results would be written to one file, or a result to a file that is read. `written`: a
/// result's name and its path.
[[nodiscard]] Status check_apart(const std::map<std::string, std::string>& written,
                                 const std::vector<std::string>& read);

}  // namespace weft::tools
