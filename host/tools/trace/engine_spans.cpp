// Tracks are known by their names (model/chip/trace.cpp): mxu, mxu1 and so on, vpu, dma0 and so on.
#include "host/tools/trace/engine_spans.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "host/tools/formats/files.hpp"

namespace weft::tools {
namespace {

using Json = nlohmann::json;
using Track = std::pair<uint64_t, uint64_t>;  // process and thread

std::optional<Engine> engine_of(const std::string& track) {
  const auto is = [&](const std::string& name) {
    return track.starts_with(name) && track.find_first_not_of("0123456789", name.size()) == std::string::npos;
  };
  if (is("mxu")) return Engine::kMxu;
  if (is("vpu")) return Engine::kVpu;
  if (is("dma")) return Engine::kDma;
  return std::nullopt;
}

std::optional<uint64_t> whole(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<uint64_t>();
}

std::string word(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const Json& args_of(const Json& event) {
  static const Json kNone = Json::object();
  const auto found = event.find("args");
  return found != event.end() && found->is_object() ? *found : kNone;
}

Track track_of(const Json& event) { return {whole(event, "pid").value_or(0), whole(event, "tid").value_or(0)}; }

}  // namespace

Result<std::vector<EngineSpan>> read_engine_spans(const std::string& trace_path) {
  const auto file = read_file(trace_path);
  if (!file.ok()) return file.error();
  const auto wrong = [&](const std::string& why) {
    return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{}: {}", trace_path, why)};
  };
  const auto* text = reinterpret_cast<const char*>(file.value().data());
  const auto events = Json::parse(text, text + file.value().size(), nullptr, /*allow_exceptions=*/false);
  if (!events.is_array()) return wrong("not a Chrome trace in array form");
  std::map<Track, Engine> engines;
  for (const Json& event : events) {
    if (!event.is_object()) return wrong("not a Chrome trace in array form");
    if (word(event, "ph") != "M" || word(event, "name") != "thread_name") continue;
    if (const auto engine = engine_of(word(args_of(event), "name"))) engines[track_of(event)] = *engine;
  }
  std::vector<EngineSpan> spans;
  for (const Json& event : events) {
    if (word(event, "ph") != "X") continue;
    const auto engine = engines.find(track_of(event));
    if (engine == engines.end()) continue;
    const Json& args = args_of(event);
    const auto tag = whole(args, "tag"), begin = whole(args, "cycle_start"), end = whole(args, "cycle_end");
    if (!tag || *tag > UINT16_MAX || !begin || !end || *end < *begin)
      return wrong(fmt::format("span '{}' of an engine has no tag or no cycles", word(event, "name")));
    spans.push_back({engine->second, static_cast<uint16_t>(*tag), *begin, *end});
  }
  return spans;
}

}  // namespace weft::tools
