// The .weft executable file: from bytes to a checked description. A pure function; reads nothing but its input.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "driver/program/control_list.hpp"
#include "driver/status.hpp"
#include "weft/spec/chips.hpp"

namespace weft::driver {

struct ExecutableArgument {
  std::string name;
  weft_argument_dtype dtype;
  weft_argument_layout layout;
  weft_argument_direction direction;
  uint32_t rank;
  std::array<uint64_t, 2> shape;
  uint64_t pitch_bytes;
  uint64_t size_bytes;
};

struct ExecutableKernel {
  std::string name;
  std::array<uint32_t, WEFT_CORE_QUEUES> queue_first;
  std::array<uint32_t, WEFT_CORE_QUEUES> queue_count;
  uint32_t vmem_bytes;
  uint64_t scratch_bytes;
  uint64_t cycle_estimate;
  uint64_t macs;
  std::vector<ExecutableArgument> arguments;
  std::optional<ControlList> control;  ///< then its queues have no commands but those of its blocks

  /// Commands of all queues; with a control list, of all blocks.
  uint64_t command_count() const;
};

/// `commands`, `constants` and `control` point into the bytes given to load_executable.
struct Executable {
  std::vector<ExecutableKernel> kernels;
  std::span<const std::byte> commands;
  std::span<const std::byte> constants;
  std::span<const std::byte> control;       ///< the whole section
  uint32_t isa_version = WEFT_ISA_VERSION;  ///< that the device must have
};

/// Checks every length, offset, enumeration, checksum and reserved byte before it is used, for any input.
/// EXECUTABLE_INVALID: "section <name>, offset <n>: <reason>", or the parameters in which its chip differs from `chip`.
Result<Executable> load_executable(std::span<const std::byte> bytes, const spec::Chip& chip);

}  // namespace weft::driver
