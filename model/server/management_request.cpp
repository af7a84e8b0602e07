// Strict: every field is known, of its type, and in range.
#include "model/server/management_request.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weft::server {
namespace {

using Json = nlohmann::json;
using Kind = ManagementRequest::Kind;

/// Nesting beyond it is no request; the parser would recurse.
constexpr int kMaxDepth = 2;

/// An unsigned number up to `limit` in `out`; false and a sentence.
bool take_number(const Json& value, const char* name, uint32_t limit, uint32_t& out, std::string& error) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > limit) {
    error = fmt::format("'{}' is a whole number from 0 to {}", name, limit);
    return false;
  }
  out = value.get<uint32_t>();
  return true;
}

bool take_kind(const Json& value, Kind& kind, std::string& error) {
  const std::string name = value.is_string() ? value.get<std::string>() : std::string();
  if (name == "state") {
    kind = Kind::kState;
  } else if (name == "function") {
    kind = Kind::kFunction;
  } else if (name == "reset") {
    kind = Kind::kReset;
  } else {
    error = "'request' is \"state\", \"function\" or \"reset\"";
    return false;
  }
  return true;
}

bool check_version(const Json& object, std::string& error) {
  const auto version = object.find("weft_management");
  if (version == object.end() || !version->is_number_unsigned() || version->get<uint64_t>() != kManagementVersion) {
    error = fmt::format("this server speaks \"weft_management\": {}", kManagementVersion);
    return false;
  }
  return true;
}

}  // namespace

std::optional<ManagementRequest> parse_management_request(std::string_view line, size_t chips, size_t functions,
                                                          std::string& error) {
  const Json object = Json::parse(
      line.begin(), line.end(), [](int depth, Json::parse_event_t, Json&) { return depth <= kMaxDepth; }, false);
  if (!object.is_object()) {
    error = "a request is one line with a JSON object";
    return std::nullopt;
  }
  if (!check_version(object, error)) return std::nullopt;
  ManagementRequest request;
  const auto kind = object.find("request");
  if (!take_kind(kind != object.end() ? *kind : Json(), request.kind, error)) return std::nullopt;
  bool has_function = false;
  for (const auto& [name, value] : object.items()) {
    if (name == "weft_management" || name == "request") continue;
    if (name == "chip") {
      if (!take_number(value, "chip", static_cast<uint32_t>(chips) - 1, request.chip, error)) return std::nullopt;
    } else if (name == "function" && request.kind != Kind::kState) {
      if (!take_number(value, "function", static_cast<uint32_t>(functions) - 1, request.function, error))
        return std::nullopt;
      has_function = true;
    } else if (name == "entries" && request.kind == Kind::kFunction) {
      if (!take_number(value, "entries", ManagementRequest::kMaxEntries, request.entries, error)) return std::nullopt;
    } else if (name == "force" && request.kind == Kind::kReset && value.is_boolean()) {
      request.force = value.get<bool>();
    } else {
      error = "a field is not one of this request's, or not of its type";
      return std::nullopt;
    }
  }
  if (request.kind != Kind::kState && !has_function) {
    error = "'function' is missing";
    return std::nullopt;
  }
  return request;
}

}  // namespace weft::server
