// What a vfio-user server says of itself in its VERSION reply.
#pragma once
#include <string_view>

#include "driver/status.hpp"

namespace weft::driver {

/// OK if the server takes as many descriptors a message as the driver sends: one an MSI-X vector. `json` is the text
/// behind the version numbers, without its 0; empty: the protocol's defaults, one descriptor. UNSUPPORTED names what is
/// too few or of a wrong type, DEVICE_LOST what is no JSON object. Of anything that was sent only a short piece or its
/// type is repeated in a message, however large or deep it is. No tree of values is made, whose destructor would need
/// memory. Throws std::bad_alloc; any thread.
Status check_version_capabilities(std::string_view json);

}  // namespace weft::driver
