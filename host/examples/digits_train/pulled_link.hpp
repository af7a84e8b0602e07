/// A link that is pulled in the middle of a run: the run goes on around it.
#pragma once
#include <cstdint>
#include <string>

#include "host/runtime/chip_set.hpp"

namespace weft::examples {

struct PulledLink {
  uint32_t chip = 0, port = 0;
  uint32_t packet = 1;  ///< that leaves by the port from now on, at which the link is pulled
};

/// From "0:+x". INVALID_ARGUMENT: no such text, chip or link; the message says which.
[[nodiscard]] Result<PulledLink> find_link(const runtime::ChipSet& chips, const std::string& name, uint32_t packet);

/// Arms it on the simulator of the slice. Any error of the driver.
[[nodiscard]] Status pull(const runtime::ChipSet& chips, const PulledLink& link);

/// What became of it: "0 +x to 1 with packet 400: down; 3 links are up". INVALID_ARGUMENT: it has not carried so many
/// packets, so nothing was pulled.
[[nodiscard]] Result<std::string> pulled_text(const runtime::ChipSet& chips, const PulledLink& link);

}  // namespace weft::examples
