// The RTL core of preset v5e-1mxu.
#include "Vweft_core_v5e_1mxu.h"
#include "Vweft_core_v5e_1mxu___024root.h"
#include "model/core/rtl_presets.hpp"
#include "model/core/verilated_core.hpp"

namespace weft::core {

std::unique_ptr<RtlCore> make_rtl_core_v5e_1mxu(const spec::Chip& chip, MemoryBus& bus, const CoreOptions& options,
                                                std::string& error) {
  return make_verilated_core<Vweft_core_v5e_1mxu>(chip, bus, options, error);
}

}  // namespace weft::core
