// Files that weft dump takes: hang reports as JSON, and state pages.
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "host/tools/formats/files.hpp"
#include "host/tools/formats/json_fields.hpp"
#include "host/tools/formats/text_table.hpp"
#include "host/tools/live/dump_view.hpp"
#include "host/tools/live/state_document.hpp"
#include "weft/weft.h"

namespace weft::tools {
namespace {

using Json = nlohmann::json;
using Align = TextTable::Align;

/// Whatever stands there, as one cell: names as they are, objects and lists as JSON.
std::string cell(const Json& value) {
  std::string text =
      value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  return value.is_null() ? "-" : text;
}

std::string field(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) ? cell(object[name]) : "-";
}

const Json& part(const Json& object, const char* name) {
  static const Json nothing;
  return object.is_object() && object.contains(name) ? object[name] : nothing;
}

/// A list of objects as a table of the named fields.
std::string table_of(const char* title, const Json& list, const std::vector<const char*>& names) {
  std::vector<TextTable::Column> columns;
  for (const char* name : names) columns.push_back({name, Align::kLeft});
  TextTable table(std::move(columns));
  for (const Json& object : list.is_array() ? list : Json::array()) {
    std::vector<std::string> cells;
    for (const char* name : names) cells.push_back(field(object, name));
    table.add(std::move(cells));
  }
  return table.rows() == 0 ? std::string() : fmt::format("\n{}\n{}", title, table.text("  "));
}

std::string lines_of(const char* title, const Json& list) {
  std::string out = fmt::format("\n{}\n", title);
  if (!list.is_array() || list.empty()) return out + "  none\n";
  for (const Json& line : list) out += "  " + cell(line) + "\n";
  return out;
}

std::string waits_text(const Json& waits) {
  std::string out = "\nwho waits for whom\n";
  const Json& edges = part(waits, "edges");
  for (const Json& edge : edges.is_array() ? edges : Json::array())
    out += fmt::format("  {} -> {}: {}\n", field(edge, "from"), field(edge, "to"), field(edge, "why"));
  const Json& cycle = part(waits, "cycle");
  if (!cycle.is_array() || cycle.empty()) return out + "  no cycle\n";
  out += "  CYCLE: ";
  for (const Json& node : cycle) out += cell(node) + " -> ";
  return out + cell(cycle.front()) + "\n";
}

std::string report_text(const Json& r) {
  const Json& command = part(r, "command");
  const Json& after = part(part(r, "registers"), "after");
  const Json& state = part(r, "state");
  std::string out = fmt::format("Weft hang report: {}\n", field(r, "code"));
  const auto line = [&out](const char* name, const std::string& text) { out += fmt::format("{:<10}{}\n", name, text); };
  line("why", field(r, "why"));
  line("command",
       fmt::format("{} of queue {}, tag {}", field(command, "id"), field(command, "queue"), field(command, "tag")));
  line("device",
       fmt::format("{} ({}, {} core), state {}, generation {}, cycle {}", field(r, "device"), field(r, "chip"),
                   field(r, "core"), field(after, "device_state"), field(after, "generation"), field(after, "cycle")));
  line("firmware", fmt::format("{}; waypoint {}, heartbeat {}, progress {}", field(part(r, "firmware"), "text"),
                               field(after, "waypoint"), field(after, "heartbeat"), field(after, "progress")));
  line("errors", fmt::format("first {}, {} pending", field(after, "first_error"), field(after, "pending_errors")));
  line("state", field(r, "state_source"));
  line("rerun", field(r, "rerun"));
  out += table_of("queues as the driver sees them", part(r, "driver_queues"),
                  {"id", "state", "entries", "head", "tail", "in_flight"});
  out += table_of("commands in flight", part(r, "outstanding"), {"queue", "opcode", "id", "tag"});
  out += table_of("queues as the firmware sees them", part(state, "queues"),
                  {"id", "state", "waits_for", "entries", "head", "tail", "doorbell", "completion_head",
                   "completion_tail", "fetched", "oldest", "wait"});
  out += table_of("engines", part(state, "engines"),
                  {"name", "active", "lost", "queue", "command", "start_cycle", "progress_cycle", "remaining"});
  out += table_of("queues of the core", part(state, "core_queues"),
                  {"name", "retired", "running", "level", "pushed", "total", "head", "posts"});
  out += waits_text(part(r, "waits"));
  out += lines_of("last log lines", part(r, "log"));
  out += lines_of("last fault records", part(r, "faults"));
  return out;
}

bool has_magic(std::span<const std::byte> bytes) {
  constexpr uint32_t kMagic = WEFT_LIMIT_STATE_MAGIC;
  return bytes.size() >= sizeof kMagic && std::memcmp(bytes.data(), &kMagic, sizeof kMagic) == 0;
}

}  // namespace

Result<std::string> state_document(std::span<const std::byte> page, bool json) {
  const weft_state_format format = json ? WEFT_STATE_FORMAT_JSON : WEFT_STATE_FORMAT_TEXT;
  static const std::byte kNothing{};
  const std::byte* data = page.empty() ? &kNothing : page.data();
  size_t size = 0;
  std::string text;
  for (int pass = 0; pass < 2; pass++) {
    text.resize(size);
    if (const weft_status status = weft_state_decode(data, page.size(), format, text.data(), text.size(), &size);
        status != WEFT_ERROR_OK) {
      weft_error_info info = WEFT_INIT(weft_error_info);
      const bool told = weft_last_error(&info) == WEFT_ERROR_OK;
      return Error{status, told ? info.message : weft_status_name(status)};
    }
  }
  text.resize(std::strlen(text.c_str()));
  return text;
}

Result<std::string> dump_file(const std::string& path, bool json) {
  const auto bytes = read_file(path);
  if (!bytes.ok()) return bytes.error();
  if (has_magic(bytes.value())) {
    auto page = state_document(bytes.value(), json);
    if (page.ok()) return page;
    return Error{page.error().code, fmt::format("{}: {}", path, page.error().message)};
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.value().data()), bytes.value().size());
  const Json document = JsonFields::parse(text);
  if (!document.is_object() || !document.contains("weft_hang_report"))
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{}: neither a hang report (weft-hang-*.json) nor a state page (which begins with WTST){}",
                             path, document.is_discarded() ? "; it is not whole JSON either" : "")};
  if (document["weft_hang_report"] != 1)
    return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{}: a hang report of version {}; this tool reads version 1",
                                                          path, cell(document["weft_hang_report"]))};
  if (!json) return report_text(document);
  return JsonFields::parse<nlohmann::ordered_json>(text).dump(2) + "\n";
}

}  // namespace weft::tools
