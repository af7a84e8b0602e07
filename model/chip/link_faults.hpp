/// Injected faults of the links of a chip.
#pragma once
#include <memory>
#include <span>

#include "model/chip/function.hpp"
#include "model/chip/time_base.hpp"
#include "model/ici/network.hpp"

namespace weft::chip {

/// A packet leaves the chip by `port`: adds to `trouble` what the armed faults of one function do at this occasion.
void add_link_trouble(FaultInjector& faults, unsigned port, const TimeBase& time, ici::LinkTrouble& trouble);

/// The same of all functions of the chip. Faults act whichever function armed them; one a kind.
ici::LinkTrouble link_trouble(std::span<const std::unique_ptr<Function>> functions, unsigned port,
                              const TimeBase& time);

}  // namespace weft::chip
