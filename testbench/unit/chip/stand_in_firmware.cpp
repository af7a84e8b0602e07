// main_loop() of the tests.
#include "testbench/unit/chip/stand_in_firmware.hpp"

namespace weft::fw {

void main_loop() { test::firmware(); }

}  // namespace weft::fw
