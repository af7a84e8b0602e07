/// Boot of a function: numbered stages from BOOT_CONTROL to READY.
#pragma once
#include <stdint.h>

#include "firmware/admin/function.hpp"

namespace weft::fw {

struct State;

/// After the start of the firmware: gives every function its share of HBM and its first boot stage.
void prepare_functions(State& state);

/// Puts the function back to where it waits for a parameter page; all that it held has ended before.
void prepare_function(Function& function);

/// Takes the function's parameter page if its host has written BOOT_CONTROL: checks it, answers, opens the admin queue.
/// Ready afterwards, or failed (DEVICE_STATE failed, BOOT_STAGE the last stage reached, BOOT_ERROR why, all sticky
/// until reset). The first boot of all resets the core and probes HBM. False: no request.
bool serve_boot(State& state, Function& function);

}  // namespace weft::fw
