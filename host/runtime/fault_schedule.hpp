/// Schedules of injected faults, read from and written as TOML.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/compiler/result.hpp"
#include "weft/weft.h"

namespace weft::runtime {

/// Faults that are armed together, in this order; at most 16.
using FaultSchedule = std::vector<weft_fault_injection>;

/// Reads
///
///     [[fault]]
///     kind = "completion_flip"   # docs/reference/host_interface.md, injected_fault
///     queue = 2                  # or vector, or stage, or port ("+x" to "-z"), as the kind says
///     nth = 3                    # occasion, default 1
///     count = 1                  # occasions in a row, or "for ever"
///     value = 17                 # where the kind takes one
///
///     [[fault]]
///     kind = "core_raise"
///     launch = 1                 # occasion, default 1
///     queue = "mxu"              # queue of the core
///     command = 3                # n-th command of that queue, from 1; flips: n-th write, 0: at once
///     beat = 1                   # core_bus_error: n-th beat
///     code = "ALIGNMENT"         # core_raise: fault
///     address = 0x40             # core_raise, flips; ACC: row in 15:0, column in 31:16
///     data = 1                   # flips: data bits; all 64 of them as "0x8000000000000000"
///     check = 0                  # flips: check bits
///
/// INVALID_ARGUMENT with the line for text that is no TOML, an unknown key, kind or name, a value outside of its range,
/// and for more than 16 faults. `name` stands in the messages.
[[nodiscard]] Result<FaultSchedule> read_fault_schedule(std::string_view text, std::string_view name);

/// A fault of a chip's links: only a chip of a slice takes it.
[[nodiscard]] constexpr bool is_link_fault(uint32_t kind) {
  return kind >= WEFT_INJECTED_FAULT_LINK_DOWN && kind <= WEFT_INJECTED_FAULT_CHIP_CUT;
}

/// Ports of a chip, as people write them; by number.
inline constexpr std::array<std::string_view, 6> kPortNames{"+x", "-x", "+y", "-y", "+z", "-z"};

/// What read_fault_schedule() reads back.
[[nodiscard]] std::string write_fault_schedule(const FaultSchedule& schedule);

/// The fault as one line: "completion_flip of queue 2, occasion 3, value 0x11".
[[nodiscard]] std::string describe_fault(const weft_fault_injection& fault);

}  // namespace weft::runtime
