// Strict: every field is known, of its type, and in range.
#include "model/server/management_request.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "model/chip/chip_options.hpp"
#include "weft/spec/names.hpp"
#include "weft/spec/spec.h"

namespace weft::server {
namespace {

using Json = nlohmann::json;
using Kind = ManagementRequest::Kind;

/// Nesting beyond it is no request; the parser would recurse.
constexpr int kMaxDepth = 2;

constexpr std::pair<std::string_view, Kind> kKinds[] = {{"state", Kind::kState},   {"function", Kind::kFunction},
                                                        {"reset", Kind::kReset},   {"links", Kind::kLinks},
                                                        {"inject", Kind::kInject}, {"replace", Kind::kReplace}};

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
  for (const auto& [known, its_kind] : kKinds) {
    if (name != known) continue;
    kind = its_kind;
    return true;
  }
  error = R"('request' is "state", "function", "reset", "links", "inject" or "replace")";
  return false;
}

/// A kind of fault that links can have, by its name.
bool take_fault(const Json& value, uint32_t& kind, std::string& error) {
  const std::string name = value.is_string() ? value.get<std::string>() : std::string();
  std::string known;
  for (const auto& fault : spec::kInjectedFaultNames) {
    if (fault.value < WEFT_INJECTED_FAULT_LINK_DOWN || fault.value > WEFT_INJECTED_FAULT_CHIP_CUT) continue;
    if (name == fault.name) {
      kind = static_cast<uint32_t>(fault.value);
      return true;
    }
    known += (known.empty() ? "" : ", ") + std::string(fault.name);
  }
  error = fmt::format("'kind' is one of links: {}", known);
  return false;
}

/// A field of an inject request; nothing: it has none of this name.
std::optional<bool> take_inject(std::string_view name, const Json& value, ManagementRequest& request,
                                std::string& error) {
  if (name == "kind") return take_fault(value, request.kind_of_fault, error);
  if (name == "port") return take_number(value, "port", chip::kLinkPorts - 1, request.port, error);
  if (name == "nth") return take_number(value, "nth", UINT32_MAX, request.nth, error);
  if (name == "count") return take_number(value, "count", UINT32_MAX, request.count, error);
  if (name == "value") return take_number(value, "value", UINT32_MAX, request.value, error);
  return std::nullopt;
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
  const bool of_function = request.kind == Kind::kFunction || request.kind == Kind::kReset;
  bool has_function = false;
  for (const auto& [name, value] : object.items()) {
    if (name == "weft_management" || name == "request") continue;
    if (request.kind == Kind::kInject) {
      const auto taken = take_inject(name, value, request, error);
      if (taken && !*taken) return std::nullopt;
      if (taken) continue;
    }
    if (name == "cube" && request.kind == Kind::kReplace) {
      if (!take_number(value, "cube", UINT32_MAX, request.cube, error)) return std::nullopt;
    } else if (name == "chip" && request.kind != Kind::kLinks && request.kind != Kind::kReplace) {
      if (!take_number(value, "chip", static_cast<uint32_t>(chips) - 1, request.chip, error)) return std::nullopt;
    } else if (name == "function" && of_function) {
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
  if (of_function && !has_function) {
    error = "'function' is missing";
    return std::nullopt;
  }
  if (request.kind == Kind::kReplace && !object.contains("cube")) {
    error = "'cube' is missing";
    return std::nullopt;
  }
  if (request.kind == Kind::kInject && (request.kind_of_fault == 0 || !object.contains("port"))) {
    error = "'kind' or 'port' is missing";
    return std::nullopt;
  }
  return request;
}

}  // namespace weft::server
