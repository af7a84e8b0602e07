/// Boot: numbered stages from BOOT_CONTROL to READY.
#pragma once
#include <stdint.h>

namespace weft::fw {

struct State;

/// Waits for the host's parameter page, checks it, answers, opens the admin queue. True: READY. False: the boot failed
/// (DEVICE_STATE failed, BOOT_STAGE the last stage reached, BOOT_ERROR why, all sticky until reset), or the device
/// stops.
bool boot(State& state);

}  // namespace weft::fw
