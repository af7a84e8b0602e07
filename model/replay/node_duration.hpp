/// What a node that communicates nothing takes.
#pragma once
#include <optional>

#include "base/chakra/trace.hpp"
#include "model/replay/replay.hpp"

namespace weft::replay {

/// Nothing: it would be longer than an hour.
std::optional<Femtoseconds> node_duration(const chakra::Node& node, const ReplayOptions& options);

}  // namespace weft::replay
