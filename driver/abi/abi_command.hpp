// From a weft_command of the caller to a Command of a queue: every check that can be made before it is submitted.
#pragma once
#include "driver/abi/abi.hpp"

namespace weft::driver::abi {

using DeviceHandle = std::shared_ptr<Device>;

/// A checked command, the argument list it points to, and what it keeps alive.
struct PreparedCommand {
  Command command;
  std::vector<weft_launch_argument> arguments;  ///< LAUNCH; command.arguments shows them once submitted
  std::vector<std::shared_ptr<const void>> resources;
  std::shared_ptr<const Timeline> wait;    ///< that it waits for, null: none
  std::shared_ptr<const Timeline> signal;  ///< that it raises, null: none
};

/// INVALID_ARGUMENT (what and why), INVALID_STATE (a program of before a reset), UNSUPPORTED.
Result<PreparedCommand> prepare_command(const DeviceHandle& device, const weft_command& command);

/// The commands of an array as this version knows them: the caller's own, or copies in `own` if theirs have another size.
/// INVALID_ARGUMENT: a wrong size, or not one for all; UNSUPPORTED: a field that this version does not know is set.
Result<const weft_command*> taken_commands(const weft_command* commands, uint32_t count,
                                           std::vector<weft_command>& own);

/// The event of a prepared command, which keeps `resources` alive.
std::shared_ptr<Event> make_event(const Queue& queue, const PreparedCommand& prepared,
                                  std::vector<std::shared_ptr<const void>> resources);

/// Where the place of a command in its batch matters to the reader of the message.
Status in_batch(Status status, uint32_t index, uint32_t count);

}  // namespace weft::driver::abi
