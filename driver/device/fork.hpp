// What a fork means to the driver: the child has no device of its parent, and may open its own.
#pragma once
#include <cstdint>

namespace weft::driver {

/// Counts the forks between the process that loaded the driver and this one. An object remembers it when it is made: if
/// it differs later, the object belongs to a parent process, and nothing of it may be touched, not even its locks.
uint32_t fork_generation();

/// Keeps what a child has given back but must not destroy: locks of the parent's threads may be held in it for ever,
/// and the addresses of its mappings may be in use for something else.
void abandon(const void* handle);

}  // namespace weft::driver
