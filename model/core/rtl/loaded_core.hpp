/// RTL cores that are not in this program, but in modules that `weft build-chip` made.
#pragma once
#include <string>
#include <string_view>

#include "model/core/rtl/rtl_presets.hpp"

namespace weft::core {

/// The maker of the preset's core, from the module <cores>/<key>/<name>.so (model/loadable/core_module.hpp). nullptr: there
/// is no such module, or, with a message in `error`, it is refused before any code of it runs, or cannot be loaded. A
/// module stays loaded. Thread-safe.
[[nodiscard]] RtlCoreMaker* load_core(std::string_view chip, ArrayForm array, std::string& error);

/// Why there is no module: no folder for them, or only modules that were built for other keys; empty: none was built.
[[nodiscard]] std::string why_no_module(std::string_view chip, ArrayForm array);

}  // namespace weft::core
