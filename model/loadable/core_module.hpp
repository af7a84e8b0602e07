/// Modules with an RTL core that `weft build-chip` builds and weft-sim loads: their names and their folder.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft::loadable {

/// What a module and the program that loads it must have in common (RTL, specification, headers, Verilator), as 16 hex
/// digits: cmake/core_key.py.
[[nodiscard]] std::string_view core_key();

/// weft_core_<preset>[_structural], with underscores for hyphens: the module's Verilated class and, with .so, its file.
[[nodiscard]] std::string module_name(std::string_view chip, bool structural);

/// The folder that holds a folder per key: WEFT_CORES, else weft/cores in XDG_CACHE_HOME, else ~/.cache/weft/cores.
/// A relative path in XDG_CACHE_HOME counts as unset. Empty, with a message in `error`: no folder is named, or
/// WEFT_CORES is relative.
[[nodiscard]] std::filesystem::path cores_folder(std::string& error);

/// Keys other than core_key() whose folders in `cores` hold the module.
[[nodiscard]] std::vector<std::string> other_keys(const std::filesystem::path& cores, const std::string& name);

}  // namespace weft::loadable
