/// One maker for each preset whose RTL is Verilated; private to model/core. rtl_core_<preset>.cpp holds it.
#pragma once
#include <memory>
#include <string>

#include "model/core/rtl_core.hpp"

namespace weft::core {

/// The error of a preset whose RTL core is not in this build: names those that are, and what to do.
[[nodiscard]] std::string rtl_not_built(const spec::Chip& chip);

using RtlCoreMaker = std::unique_ptr<RtlCore>(const spec::Chip&, MemoryBus&, const CoreOptions&, std::string& error);
RtlCoreMaker make_rtl_core_nano;
RtlCoreMaker make_rtl_core_nano_4mxu;
RtlCoreMaker make_rtl_core_mini;
RtlCoreMaker make_rtl_core_small;
RtlCoreMaker make_rtl_core_v5e_1mxu;
RtlCoreMaker make_rtl_core_v5e;

}  // namespace weft::core
