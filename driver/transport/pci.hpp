// The PCI side of a function: identity, bus mastering, MSI-X.
#pragma once
#include "driver/transport/transport.hpp"

namespace weft::driver {

/// Checks that it is a Weft device, lets it access memory, enables MSI-X and unmasks its vectors. After open and after
/// reset.
Status prepare_pci(Transport& transport);

}  // namespace weft::driver
