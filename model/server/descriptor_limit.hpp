/// How many files a simulator may have open.
#pragma once

namespace weft::server {

/// Raises the process's own limit of open files to the one that the system sets it (RLIMIT_NOFILE, soft to hard): each
/// chip of a slice takes six, and 1024 is what a shell gives. Call before the first is opened. Never fails: where less
/// is allowed, opening one too many is what fails.
void raise_descriptor_limit();

}  // namespace weft::server
