// The simulator knows tags by number only; their text is in the executable.
#include "host/tools/trace/trace_names.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "host/tools/formats/files.hpp"
#include "host/tools/formats/json_text.hpp"

namespace weft::tools {

Status name_trace(const std::string& path, std::span<const TagNames> chips) {
  const auto file = read_file(path);
  if (!file.ok()) return file.error();
  const auto* text = reinterpret_cast<const char*>(file.value().data());
  auto events = nlohmann::ordered_json::parse(text, text + file.value().size(), nullptr, /*allow_exceptions=*/false);
  if (!events.is_array()) return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{}: not a Chrome trace", path)};
  std::string out = "[\n";
  for (auto& event : events) {
    const auto args = event.find("args");
    const auto chip = event.value("pid", size_t{0});
    if (args != event.end() && args->contains("tag") && chip < chips.size()) {
      const auto tag = chips[chip].find((*args)["tag"].get<uint16_t>());
      if (tag != chips[chip].end()) {
        (*args)["opcode"] = event["name"];
        event["name"] = tag->second;
      }
    }
    out += json_text(event, -1) + (&event == &events.back() ? "\n" : ",\n");
  }
  out += "]\n";
  const auto* first = reinterpret_cast<const std::byte*>(out.data());
  return write_file(path, {first, first + out.size()});
}

}  // namespace weft::tools
