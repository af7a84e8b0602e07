// The RTL core of preset nano-4mxu.
#include "Vweft_core_nano_4mxu.h"
#include "Vweft_core_nano_4mxu___024root.h"
#include "model/core/rtl_presets.hpp"
#include "model/core/verilated_core.hpp"

namespace weft::core {

std::unique_ptr<RtlCore> make_rtl_core_nano_4mxu(const spec::Chip& chip, MemoryBus& bus, const CoreOptions& options,
                                                 std::string& error) {
  return make_verilated_core<Vweft_core_nano_4mxu>(chip, bus, options, error);
}

}  // namespace weft::core
