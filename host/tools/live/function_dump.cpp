// Hexadecimal records of the reply, sorted as they were written.
#include "host/tools/live/function_dump.hpp"

#include <algorithm>
#include <cstring>

#include "host/tools/formats/json_fields.hpp"

namespace weft::tools {
namespace {

using Json = nlohmann::json;

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// A record; nothing for null. Another size or other text: `error`.
template <typename Record>
std::optional<Record> read_record(const Json& value, const char* what, std::string& error) {
  if (value.is_null()) return std::nullopt;
  const auto bytes = value.is_string() ? parse_hex(value.get_ref<const std::string&>()) : std::nullopt;
  if (!bytes || bytes->size() != sizeof(Record)) {
    error = fmt::format("a record of '{}' is not {} bytes in hexadecimal", what, sizeof(Record));
    return std::nullopt;
  }
  Record record;
  std::memcpy(&record, bytes->data(), sizeof record);
  return record;
}

template <typename Record>
std::vector<std::optional<Record>> read_records(const Json& object, const char* name, std::string& error) {
  std::vector<std::optional<Record>> records;
  const auto list = object.find(name);
  if (list == object.end() || !list->is_array()) {
    error = fmt::format("'{}' is no list", name);
    return records;
  }
  for (const Json& value : *list) {
    records.push_back(read_record<Record>(value, name, error));
    if (!error.empty()) return records;
  }
  return records;
}

/// Those that were written, in the order of `number`.
template <typename Record, typename Number>
std::vector<Record> in_order(const std::vector<std::optional<Record>>& records, Number Record::*number) {
  std::vector<Record> out;
  for (const auto& record : records) {
    if (record && (*record).*number != 0) out.push_back(*record);
  }
  std::ranges::stable_sort(out, {}, number);
  return out;
}

RingDump read_ring(const Json& ring, std::string& error) {
  RingDump out;
  const JsonFields fields(ring, "rings[].", error);
  fields.get("id", out.id);
  const auto side = [&](const char* name, uint32_t& first, auto& entries) {
    const auto found = ring.find(name);
    if (!error.empty()) return;
    if (found == ring.end() || !found->is_object()) {
      error = fmt::format("'rings[].{}' is no object", name);
      return;
    }
    JsonFields(*found, fmt::format("rings[].{}.", name), error).get("first", first);
    if (error.empty())
      entries =
          read_records<typename std::decay_t<decltype(entries)>::value_type::value_type>(*found, "entries", error);
  };
  side("submissions", out.first_submission, out.submissions);
  side("completions", out.first_completion, out.completions);
  return out;
}

}  // namespace

std::optional<std::vector<std::byte>> parse_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(high << 4 | low));
  }
  return bytes;
}

Result<FunctionDump> parse_function_dump(std::string_view reply) {
  const auto document = parse_management_reply(reply);
  if (!document.ok()) return document.error();
  const Json& object = document.value();
  std::string error;
  const JsonFields fields(object, "", error);
  FunctionDump dump;
  fields.get("cycle", dump.cycle);
  if (const auto chip = fields.object("chip")) {
    chip->get("preset", dump.preset);
    chip->get("core", dump.core);
    chip->get("number", dump.chip);
    chip->get("chips", dump.chips);
  }
  if (const auto function = fields.object("function")) dump.function = read_function(*function);
  dump.processor = read_processor(fields);
  std::string page;
  fields.get("state_page", page);
  const auto page_bytes = parse_hex(page);
  if (error.empty() && !page_bytes) error = "'state_page' is not hexadecimal";
  if (error.empty()) dump.state_page = *page_bytes;
  if (error.empty())
    dump.log = in_order(read_records<weft_log_record>(object, "log", error), &weft_log_record::sequence);
  if (error.empty())
    dump.faults = in_order(read_records<weft_fault_record>(object, "faults", error), &weft_fault_record::record_number);
  fields.array("rings", [](const JsonFields&) {});  // a list of objects, or told
  for (const Json& ring : error.empty() ? object["rings"] : Json::array()) dump.rings.push_back(read_ring(ring, error));
  for (RingDump& ring : dump.rings)
    for (const QueueSnapshot& queue : dump.function.queues)
      if (queue.id == ring.id) ring.entries = queue.entries;
  if (!error.empty()) return wrong_management_reply(error);
  return dump;
}

}  // namespace weft::tools
