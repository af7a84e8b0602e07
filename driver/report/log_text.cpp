// The texts of spec/host_interface.toml, with their arguments filled in.
#include "driver/report/log_text.hpp"

#include <fmt/format.h>

#include <array>

#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

constexpr std::array<std::string_view, 4> kLevels{"error", "warning", "info", "debug"};

void replace(std::string& text, std::string_view place, uint64_t value) {
  if (const size_t at = text.find(place); at != std::string::npos)
    text.replace(at, place.size(), std::to_string(value));
}

}  // namespace

std::string log_event_text(const weft_log_record& record) {
  for (const auto& row : spec::kLogEventNames) {
    if (row.value != record.event || row.doc.empty()) continue;
    std::string text(row.doc);
    replace(text, "{0}", record.arg0);
    replace(text, "{1}", record.arg1);
    return text;
  }
  return fmt::format("event {} ({:#x}, {:#x})", record.event, record.arg0, record.arg1);
}

std::string log_text(const weft_log_record& record) {
  return fmt::format("cycle {} {}: {}", record.cycle, record.level < kLevels.size() ? kLevels[record.level] : "?",
                     log_event_text(record));
}

}  // namespace weft::driver
