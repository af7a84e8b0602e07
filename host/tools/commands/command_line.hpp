/// The weft command without its main().
#pragma once
#include <string>
#include <vector>

namespace weft::tools {

/// Runs the subcommand that `words` (without the program's name) begin with. The exit code of the program; what is
/// wrong stands on stderr.
[[nodiscard]] int run_command_line(std::vector<std::string> words);

}  // namespace weft::tools
