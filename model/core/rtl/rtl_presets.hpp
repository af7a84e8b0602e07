/// The presets whose RTL is Verilated in this build; private to model/core. CMakeLists.txt makes a maker for each from
/// rtl_core_preset.cpp.in, and their table from rtl_presets.cpp.in.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "model/core/rtl/rtl_core.hpp"

namespace weft::core {

using RtlCoreMaker = std::unique_ptr<RtlCore>(const spec::Chip&, MemoryBus&, const CoreOptions&, std::string& error);

struct RtlPreset {
  std::string_view chip;  ///< name of the preset
  ArrayForm array;
  RtlCoreMaker* make;
};

[[nodiscard]] std::span<const RtlPreset> rtl_presets();

}  // namespace weft::core
