/// JSON as the tools print it.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace weft::tools {

/// The document, `indent` blanks a level (-1: one line). Bytes that are no UTF-8 become U+FFFD: a name in a file may
/// hold anything.
template <typename Json>
[[nodiscard]] std::string json_text(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft::tools
