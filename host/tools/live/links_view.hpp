/// What weft links prints: two moments, the later one as it stands, and what the links did between them.
#pragma once
#include <optional>
#include <string>

#include "host/tools/live/links_snapshot.hpp"

namespace weft::tools {

/// Shares of device cycles in which a direction had frames on the wire, 0 to 1.
struct LinkUse {
  double ever = 0;            ///< since the simulator began
  std::optional<double> now;  ///< between the moments; nothing: no cycle has passed, or they are of two simulators
};
[[nodiscard]] LinkUse link_use(const LinksSnapshot& before, const LinksSnapshot& after, size_t link);

/// The slice, a table with a line per chip and port that has a neighbour, and the links that are not up.
[[nodiscard]] std::string links_text(const LinksSnapshot& before, const LinksSnapshot& after);

/// The same and ports without a neighbour, for programs. `indent`: spaces a level; -1: one line.
[[nodiscard]] std::string links_json(const LinksSnapshot& before, const LinksSnapshot& after, int indent);

}  // namespace weft::tools
