// The RTL core of preset mini.
#include "Vweft_core_mini.h"
#include "Vweft_core_mini___024root.h"
#include "model/core/rtl_presets.hpp"
#include "model/core/verilated_core.hpp"

namespace weft::core {

std::unique_ptr<RtlCore> make_rtl_core_mini(const spec::Chip& chip, MemoryBus& bus, const CoreOptions& options,
                                            std::string& error) {
  return make_verilated_core<Vweft_core_mini>(chip, bus, options, error);
}

}  // namespace weft::core
