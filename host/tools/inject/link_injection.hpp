/// Faults of links for a standing slice that others use: armed from beside, by the management socket.
#pragma once
#include <cstdint>

#include "host/runtime/fault_schedule.hpp"
#include "host/tools/live/management_client.hpp"

namespace weft::tools {

/// Arms all of a schedule on one chip. INVALID_ARGUMENT: a fault that is not of links (the message names it; nothing
/// was armed), or what the chip refuses. Errors of ManagementClient::ask.
[[nodiscard]] Status arm_link_faults(ManagementClient& client, uint32_t chip, const runtime::FaultSchedule& schedule);

}  // namespace weft::tools
