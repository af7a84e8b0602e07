/// What the management socket tells of a slice's links, and the faults that it takes for them.
#pragma once
#include <string>

#include "model/chip/simulation.hpp"
#include "model/server/management_request.hpp"

namespace weft::server {

/// Shape of the slice, and of every chip and port: neighbour, state, counters. UNSUPPORTED: the chip stands alone.
std::string links_reply(chip::Simulation& simulation);

/// Arms a fault of the links of a chip that is simulated here, counted from the first one, as if its first function's host had. INVALID_ARGUMENT: refused by the chip.
std::string inject_reply(chip::Simulation& simulation, const ManagementRequest& request);

/// A spare takes the place of a cube of the slice, whatever befell it: its chips' links come up, its functions are reset,
/// their coordinates stay. INVALID_ARGUMENT: the slice has no such cube, or is not made of cubes.
std::string replace_reply(chip::Simulation& simulation, const ManagementRequest& request);

}  // namespace weft::server
