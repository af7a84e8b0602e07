/// A state page as the driver prints it.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "host/compiler/result.hpp"

namespace weft::tools {

/// Text or JSON of the bytes of a state page (weft_state_decode). INVALID_ARGUMENT: "state page, byte <n>: <reason>".
[[nodiscard]] Result<std::string> state_document(std::span<const std::byte> page, bool json);

}  // namespace weft::tools
