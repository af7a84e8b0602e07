// The control list of a kernel (docs/executable.md): from bytes of section CONTROL to a checked description.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "driver/status.hpp"
#include "weft/spec/spec.h"

namespace weft::driver {

struct ExecutableKernel;

struct ControlList {
  uint64_t offset = 0;  ///< in the section
  uint64_t bytes = 0;   ///< from there on, padding included
  std::vector<weft_control_block> blocks;
  std::vector<weft_control_binding> bindings;
  std::vector<weft_control_entry> entries;
};

/// What of a program bounds a list.
struct ControlLimits {
  uint64_t commands = 0;         ///< of the section COMMANDS
  uint64_t constants_bytes = 0;  ///< of the section CONSTANTS
};

/// The headers of the section, one after the other, by the kernel that each names. Nothing behind them is looked at.
/// EXECUTABLE_INVALID: a header that does not fit, a version, kernels not in ascending order or beyond `kernels`.
Result<std::vector<std::pair<uint32_t, ControlList>>> find_control_lists(std::span<const std::byte> section,
                                                                         uint64_t kernels);

/// Reads and checks the tables of `list`, which is `kernel`'s: every field, that openers and ENDs match, and that each
/// window keeps within its argument in every turn. EXECUTABLE_INVALID: "section control, offset <n>: <reason>".
Status read_control_list(std::span<const std::byte> section, const ExecutableKernel& kernel,
                         const ControlLimits& limits, ControlList& list);

/// "entry 3, block 1, turn 2.0" of a fault record or a state page. `entry` counts from 1.
std::string control_place_text(uint32_t entry, uint32_t block, std::span<const uint32_t> turns);

}  // namespace weft::driver
