// The entry point of the tests' firmware.
#include "testbench/unit/chip/stand_in_firmware.hpp"

#include "firmware/admin/state_dump.hpp"
#include "firmware/main_loop.hpp"
#include "firmware/state.hpp"

namespace weft::fw {

void run(State&) { test::firmware(); }

Status dump_state(State&, const Function&, const weft_submission_entry&) {
  return Status{WEFT_ERROR_UNSUPPORTED, 0, 0};
}

}  // namespace weft::fw
