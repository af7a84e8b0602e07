/// Takes back what a function holds, when its host resets it or is gone: queues, programs, its launch, its copy, its
/// data in HBM and in the core. The other functions go on meanwhile.
#pragma once
#include <stdint.h>

#include "firmware/admin/function.hpp"

namespace weft::fw {

struct State;

/// After the start of the firmware: functions whose host went before it began. Their shares of HBM are cleared before
/// they can be booted.
void take_departed_functions(State& state);

/// Takes the requests that the hosts have made since the last call: ends what the function has on the core and on the
/// copy engine, and forgets its rings and programs. Afterwards nothing accesses its host. After a reset the function
/// waits for a parameter page at once; if its host has gone, once its HBM is clear.
void take_release_requests(State& state);

/// Goes on with the clearing of HBM. A function that is clear waits for a parameter page (DEVICE_STATE present).
void release_service(State& state);

/// release_service() has something to do now.
bool release_wants_pass(const State& state);

}  // namespace weft::fw
