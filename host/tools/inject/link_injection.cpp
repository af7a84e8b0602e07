// A request a fault.
#include "host/tools/inject/link_injection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/tools/live/chip_snapshot.hpp"
#include "weft/spec/names.hpp"

namespace weft::tools {

Status arm_link_faults(ManagementClient& client, uint32_t chip, const runtime::FaultSchedule& schedule) {
  for (const auto& fault : schedule)
    if (!runtime::is_link_fault(fault.kind))
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   fmt::format("{}: only faults of links are armed from beside a chip's owner (link_*, chip_cut); the "
                               "owner's program arms others with weft_fault_inject",
                               spec::injected_fault_name(fault.kind))};
  for (const auto& fault : schedule) {
    const auto reply = client.ask(management_request(
        "inject", chip,
        fmt::format(R"(,"kind":"{}","port":{},"nth":{},"count":{},"value":{})", spec::injected_fault_name(fault.kind),
                    fault.target, std::max(fault.nth, 1u), std::max(fault.count, 1u), fault.value[0])));
    if (!reply.ok()) return reply.error();
  }
  return Ok{};
}

}  // namespace weft::tools
