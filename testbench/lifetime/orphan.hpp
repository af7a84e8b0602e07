/// A device's simulator ends with the process that opened it, also when a forked child of that process lives on.
#pragma once
#include <string>

#include "testbench/lifetime/world.hpp"

namespace weft::lifetime {

/// What the process that is to die does: opens the device, forks, tells the ids of the child and of the simulator on
/// its standard output, and waits to be killed. Its exit code, if it fails.
int be_parent(const std::string& device);

/// Starts such a process, kills it, and looks whether its simulator goes while the child is still there.
void check_orphan(const Options& options, Findings& findings);

}  // namespace weft::lifetime
