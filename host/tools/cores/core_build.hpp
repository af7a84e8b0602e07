/// Builds the RTL core of a preset as a module that weft-sim loads, by CMake and Verilator.
#pragma once
#include <filesystem>
#include <string>

#include "host/compiler/result.hpp"

namespace weft::tools {

struct CoreBuild {
  std::string chip;
  bool structural = false;
  std::string source;  ///< folder of the sources; empty: share/weft/core of the installation, or the tree of this build
  unsigned jobs = 1;   ///< processes
};

struct BuiltCore {
  std::filesystem::path module;
  bool was_there = false;
  double seconds = 0;
};

/// The module <cores>/<key>/<name>.so (model/loadable/core_module.hpp), built if there is none that weft-sim would load;
/// the log of a build is <name>.log beside it. Blocks; shows its progress on stderr. Errors: UNSUPPORTED, a tool or the
/// sources are missing, the sources are not those of this program, or the build failed; INVALID_ARGUMENT, `source` has no
/// sources, or the folder cannot be used; BUSY, another process builds this module. A module that was there and is
/// refused stays until the new one is whole.
[[nodiscard]] Result<BuiltCore> build_core(const CoreBuild& wanted);

}  // namespace weft::tools
