// The admin command that fails a semaphore.
#include "driver/queue/owed_signals.hpp"

#include "driver/queue/queue.hpp"

namespace weft::driver {

Command fail_command(const OwedSignal& signal) {
  Command command;
  command.opcode = WEFT_ADMIN_OPCODE_SIGNAL_TIMELINE;
  command.arg0 = signal.value;
  command.arg1 = uint64_t{signal.command_id} | uint64_t{signal.queue} << 16 | uint64_t{signal.tag} << 32;
  command.size = uint64_t{signal.timeline->id()} | static_cast<uint64_t>(signal.error) << 32;
  return command;
}

}  // namespace weft::driver
