/// Puts a compiled kernel into the bytes of a .weft executable (spec/executable.toml).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/compiler/executable/control_list.hpp"
#include "host/compiler/result.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft::compiler {

/// One argument of a kernel; argument i is segment 3 + i, or with a control list what its bindings make of it.
struct Argument {
  std::string name;
  weft_argument_dtype dtype = WEFT_ARGUMENT_DTYPE_F32;
  weft_argument_layout layout = WEFT_ARGUMENT_LAYOUT_ROWS;
  weft_argument_direction direction = WEFT_ARGUMENT_DIRECTION_INPUT;
  uint64_t rows = 0, columns = 0;
  uint64_t pitch_bytes = 0;  ///< layout rows
  uint64_t size_bytes = 0;
};

/// A kernel ready to be written.
struct Kernel {
  std::string name;
  std::vector<Argument> arguments;
  std::array<std::vector<spec::Command>, 5> queues;
  std::map<uint16_t, std::string> tags;
  std::vector<std::byte> constants;
  uint64_t vmem_bytes = 0, scratch_bytes = 0, semaphores = 0, cycle_estimate = 0, macs = 0;
  /// Of a loop, by turn: names that texts of tags begin with, and those that they stand for in the turn. The first turn has
  /// its own.
  std::vector<std::map<std::string, std::string>> turn_names = {};
  Control control = {};  ///< with entries: the kernel's commands are those of its blocks, and `queues` are empty
};

/// The bytes of the file. INVALID_ARGUMENT if a name is too long or there are too many arguments.
[[nodiscard]] Result<std::vector<std::byte>> write_executable(const spec::Chip& chip, const Kernel& kernel);

}  // namespace weft::compiler
