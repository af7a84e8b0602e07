/// The vector instructions that this build uses, and whether this machine has them.
#pragma once
#include <string>

namespace weft::server {

/// Empty if the machine can run this build; else one line that names what it lacks. Uses no instruction beyond the base
/// ISA.
[[nodiscard]] std::string missing_instructions();

}  // namespace weft::server
