// From a weft_command of the caller to a Command of a queue: every check that can be made before it is submitted.
#pragma once
#include "driver/abi.hpp"

namespace weft::driver::abi {

/// A checked command, the argument list it points to, and what it keeps alive.
struct PreparedCommand {
  Command command;
  std::vector<weft_launch_argument> arguments;  ///< LAUNCH; command.arguments shows them once submitted
  std::vector<std::shared_ptr<const void>> resources;
};

/// INVALID_ARGUMENT (what and why), INVALID_STATE (a program of before a reset), UNSUPPORTED.
Result<PreparedCommand> prepare_command(const weft_queue& queue, const weft_command& command);

}  // namespace weft::driver::abi
