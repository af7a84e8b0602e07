// Exit codes follow the error's code.
#include "host/tools/commands/failure.hpp"

#include <fmt/format.h>

#include "weft/spec/names.hpp"

namespace weft::tools {

int fail(const Error& error) {
  fmt::print(stderr, "weft: {}\n", error.message);
  const auto* info = spec::find_error(error.code);
  return info ? info->exit_code : 7;
}

}  // namespace weft::tools
