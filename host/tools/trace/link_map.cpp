// Spans on the tracks of links that leave a chip (model/ici/link_trace.cpp names them) into shares of steps.
#include "host/tools/trace/link_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/tools/formats/files.hpp"

namespace weft::tools {
namespace {

using Json = nlohmann::json;
using Track = std::pair<uint64_t, uint64_t>;  // process and thread

struct Span {
  double from, to;  // us
};
struct TracedLink {
  std::string port;
  std::vector<Span> spans;
};
struct Traced {
  std::map<uint64_t, std::array<uint32_t, 3>> places;  // of chips, by process
  std::map<Track, TracedLink> links;
};

Error wrong(const std::string& path, const std::string& why) {
  return {WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{}: {}", path, why)};
}

uint64_t number(const Json& event, const char* key) { return event.value(key, uint64_t{0}); }

/// Names of chips and of links that leave one.
void take_name(const Json& event, Traced& traced) {
  const std::string what = event.value("name", ""), name = event.value("/args/name"_json_pointer, "");
  std::array<uint32_t, 3> at{};
  char port[3]{};
  int used = 0;
  const auto whole = [&] { return used != 0 && static_cast<size_t>(used) == name.size(); };
  if (what == "process_name") {
    if (std::sscanf(name.c_str(), "chip %*u (%u,%u,%u)%n", at.data(), &at[1], &at[2], &used) == 3 && whole())
      traced.places[number(event, "pid")] = at;
  } else if (what == "thread_name") {
    if (std::sscanf(name.c_str(), "link %2[-+xyz] out%n", port, &used) == 1 && whole())
      traced.links[{number(event, "pid"), number(event, "tid")}].port = port;
  }
}

Result<Traced> take_events(const std::string& path, const Json& events) {
  const auto fits = [](const Json& event) { return event.is_object(); };
  if (!events.is_array() || !std::ranges::all_of(events, fits)) return wrong(path, "not a Chrome trace in array form");
  Traced traced;
  for (const Json& event : events)
    if (event.value("ph", "") == "M") take_name(event, traced);
  for (const Json& event : events) {
    if (event.value("ph", "") != "X") continue;
    const auto link = traced.links.find({number(event, "pid"), number(event, "tid")});
    if (link == traced.links.end()) continue;
    const double from = event.at("ts").get<double>(), length = event.at("dur").get<double>();
    if (!(length >= 0)) return wrong(path, fmt::format("a span of {} us", length));
    link->second.spans.push_back({from, from + length});
  }
  return traced;
}

/// Share of each step in which a link was busy: its spans do not overlap.
std::vector<double> shares(const std::vector<Span>& spans, const LinkMap& map) {
  std::vector<double> busy(map.total.size());
  const auto step_of = [&](double us) {
    return std::min(busy.size() - 1, static_cast<size_t>(std::max(0.0, (us - map.begin_us) / map.step_us)));
  };
  for (const Span& span : spans)
    for (size_t step = step_of(span.from); step <= step_of(span.to); step++) {
      const double low = map.begin_us + static_cast<double>(step) * map.step_us;
      busy[step] += std::max(0.0, std::min(span.to, low + map.step_us) - std::max(span.from, low));
    }
  for (double& share : busy) share = std::min(1.0, share / map.step_us);
  return busy;
}

}  // namespace

Result<LinkMap> read_link_map(const std::string& trace_path, uint32_t steps) {
  const auto file = read_file(trace_path);
  if (!file.ok()) return file.error();
  const auto* text = reinterpret_cast<const char*>(file.value().data());
  Result<Traced> read = Traced{};
  try {  // events without what theirs have
    read = take_events(trace_path, Json::parse(text, text + file.value().size()));
  } catch (const Json::exception& error) {
    return wrong(trace_path, fmt::format("not a Chrome trace: {}", error.what()));
  }
  if (!read.ok()) return read.error();
  const Traced& traced = read.value();

  LinkMap map;
  map.begin_us = INFINITY;
  map.end_us = -INFINITY;
  for (const auto& [track, link] : traced.links)
    for (const Span& span : link.spans) {
      map.begin_us = std::min(map.begin_us, span.from);
      map.end_us = std::max(map.end_us, span.to);
    }
  if (!(map.begin_us <= map.end_us))
    return wrong(trace_path, "the trace has no packets on links: it is not of a slice, or nothing was sent");
  constexpr double kShortest = 1e-6;  // us
  map.step_us = std::max(map.end_us - map.begin_us, kShortest) / steps;
  map.total.resize(steps);
  for (const auto& [track, link] : traced.links) {
    const auto place = traced.places.find(track.first);
    if (place == traced.places.end())
      return wrong(trace_path, fmt::format("process {} has links and no name such as chip 5 (1,1,0)", track.first));
    MappedLink mapped{place->second, link.port, shares(link.spans, map), 0, link.spans.size()};
    for (uint32_t step = 0; step < steps; step++) {
      mapped.mean += mapped.use[step] / steps;
      map.total[step] += mapped.use[step] / static_cast<double>(traced.links.size());
    }
    for (size_t axis = 0; axis < 3; axis++) map.size[axis] = std::max(map.size[axis], mapped.at[axis] + 1);
    map.links.push_back(std::move(mapped));
  }
  return map;
}

}  // namespace weft::tools
