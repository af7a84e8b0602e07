/// A command as a person reads it.
#pragma once
#include <string>

#include "weft/spec/commands.hpp"

namespace weft::core {

/// "MATMUL tag 7, k 256, m 64, ...": the opcode's name, then every field that is not at its default. An unknown opcode
/// as a number.
[[nodiscard]] std::string command_text(const spec::Command& command);

}  // namespace weft::core
