// The RTL core of preset v5e.
#include "Vweft_core_v5e.h"
#include "Vweft_core_v5e___024root.h"
#include "model/core/rtl_presets.hpp"
#include "model/core/verilated_core.hpp"

namespace weft::core {

std::unique_ptr<RtlCore> make_rtl_core_v5e(const spec::Chip& chip, MemoryBus& bus, const CoreOptions& options,
                                           std::string& error) {
  return make_verilated_core<Vweft_core_v5e>(chip, bus, options, error);
}

}  // namespace weft::core
