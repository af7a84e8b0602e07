/// Options that several subcommands share.
#pragma once
#include <cstdint>
#include <string>

#include "host/runtime/session.hpp"

namespace CLI {
class App;
}

namespace weft::tools {

/// Adds --chip, --core, --socket, --wave, --wave-from, --wave-to, --trace, each with its default shown.
void add_target_options(CLI::App& app, runtime::Target& target);

/// INVALID_ARGUMENT if the preset, the core or a combination does not exist; the message lists what does.
[[nodiscard]] Status check_target(const runtime::Target& target);

/// The preset, or an error that lists all of them.
[[nodiscard]] Result<const spec::Chip*> chip_by_name(const std::string& name);

}  // namespace weft::tools
