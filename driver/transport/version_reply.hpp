// What a vfio-user server says of itself in its VERSION reply.
#pragma once
#include <cstdint>
#include <string_view>

#include "driver/status.hpp"

namespace weft::driver {

/// How many descriptors the server takes in a message; at least 1. `json` is the text behind the version numbers,
/// without its 0; empty: the protocol's default, one descriptor. UNSUPPORTED: it takes none, or names no number;
/// DEVICE_LOST: the text is no JSON object. Of anything that was sent only a short piece or its type is repeated in a
/// message, however large or deep it is. No tree of values is made, whose destructor would need memory. Throws
/// std::bad_alloc; any thread.
Result<uint64_t> descriptors_of_version_reply(std::string_view json);

}  // namespace weft::driver
