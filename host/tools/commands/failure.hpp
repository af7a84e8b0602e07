/// How the weft command fails: one message on stderr, and the exit code of spec/errors.toml.
#pragma once
#include "host/compiler/result.hpp"

namespace weft::tools {

/// Exit code of a command that finds the device or the slice bad.
constexpr int kCheckFailed = 4;

/// Prints "weft: <message>" and returns the exit code of the error.
int fail(const Error& error);

}  // namespace weft::tools
