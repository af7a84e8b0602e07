#pragma once

#include <variant>

#include "model/ici/slice.hpp"

namespace weft::ici::test {

/// The topology of a slice by its name, e.g. "v5e-4x4". Throws std::bad_variant_access, which fails the test, if no slice has that name.
inline Topology topology_of(const char* slice) { return std::get<Slice>(parse_slice(slice)).topology(); }

}  // namespace weft::ici::test
