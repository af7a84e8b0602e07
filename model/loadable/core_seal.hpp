/// The seal of a module: its last kSealBytes bytes, one line of text, written once the module is whole. It tells which core the
/// module holds, for which key, and the size and CRC-32 of what precedes the seal; the dynamic linker does not read it. So a
/// file is judged before any code of it runs.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace weft::loadable {

inline constexpr size_t kSealBytes = 128;

/// Copies `module` to `out` with a seal, by way of `out`.new: `out` is a whole module or what it was. Mode 0644. Returns
/// an error message; empty: done.
[[nodiscard]] std::string write_sealed(const std::filesystem::path& module, const std::filesystem::path& out,
                                       std::string_view name, std::string_view key);

/// Why the open file must not be loaded as core `name` of `key`; empty: it may. It may if it is a regular file of this
/// user or of root that nobody else can write, and its seal agrees. Reads the whole file.
[[nodiscard]] std::string why_refused(int file, std::string_view name, std::string_view key);

}  // namespace weft::loadable
