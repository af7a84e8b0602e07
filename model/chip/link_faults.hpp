/// Injected faults of the links of a chip.
#pragma once
#include <memory>
#include <span>

#include "model/chip/function.hpp"
#include "model/chip/time_base.hpp"
#include "model/ici/network.hpp"

namespace weft::chip {

/// A packet leaves the chip by `port`: what the armed faults of its functions do at this occasion. They act whichever
/// function armed them; one a kind.
ici::LinkTrouble link_trouble(std::span<const std::unique_ptr<Function>> functions, unsigned port,
                              const TimeBase& time);

}  // namespace weft::chip
