#include "model/ici/link_trace.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "model/ici/slice.hpp"

using namespace weft::ici;
using weft::TraceFile;

namespace {

/// The trace of messages that are all sent at 0.
nlohmann::json trace_of(const Topology& slice, const std::vector<Message>& messages) {
  const std::string path = "link_trace_test_" + std::to_string(::getpid()) + ".json";
  std::string error;
  auto file = TraceFile::open(path, error);
  REQUIRE(file != nullptr);
  {
    Network network(slice, {});
    LinkTrace trace(file, slice);
    network.on_hop([&](const Hop& hop) { trace.hop(hop); });
    for (const auto& message : messages) network.send(message, 0);
    REQUIRE(network.run_until(kNever));
  }
  file.reset();
  std::ifstream stream(path);
  auto json = nlohmann::json::parse(stream, nullptr, false);
  ::unlink(path.c_str());
  REQUIRE(json.is_array());
  return json;
}

}  // namespace

TEST_CASE("every packet has a span on each link that it takes and one where it ends, and arrows that join them") {
  const auto slice = std::get<Slice>(parse_slice("v5e-4x4")).topology();
  const auto json = trace_of(slice, {{0, 15, 20'000}, {5, 5, 100}, {3, 0, 5'000}, {12, 14, 1}});
  std::map<int, std::vector<nlohmann::json>> arrows;                            // of each packet
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> spans;  // of each track
  std::map<std::pair<int, int>, std::string> tracks;
  std::map<int, std::string> processes;
  for (const auto& event : json) {
    const std::string kind = event["ph"];
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name") tracks[{event["pid"], event["tid"]}] = event["args"]["name"];
    if (kind == "X") spans[{event["pid"], event["tid"]}].emplace_back(event["ts"], event["dur"]);
    if (kind == "s" || kind == "t" || kind == "f") arrows[event["id"]].push_back(event);
  }
  CHECK(processes.size() == 16);
  CHECK(processes[5] == "chip 5 (1,1,0)");
  CHECK(tracks.size() == 2 * slice.links());
  for (const auto& [track, list] : spans) {
    CHECK(tracks.count(track) == 1);
    double end = 0;
    for (const auto& [from, length] : list) {  // packets of a link one after the other, in the order of the file
      CHECK(from + 1e-5 >= end);
      CHECK(length > 0);
      end = from + length;
    }
  }
  CHECK(arrows.size() == 5 + 2 + 1);  // packets; what a chip sends to itself takes no link
  for (const auto& [packet, way] : arrows) {
    REQUIRE(way.size() >= 2);
    CHECK(way.front()["ph"] == "s");
    CHECK(way.back()["ph"] == "f");
    for (size_t i = 1; i < way.size(); i++) {
      CHECK(way[i]["ts"].get<double>() + 1e-5 >= way[i - 1]["ts"].get<double>() + 1);  // a hop's latency
      if (i + 1 < way.size()) CHECK(way[i]["ph"] == "t");
    }
    for (const auto& arrow : way) {  // at the beginning of a span, which it is bound to
      const auto& list = spans[{arrow["pid"], arrow["tid"]}];
      CHECK(std::any_of(list.begin(), list.end(), [&](const auto& span) { return span.first == arrow["ts"]; }));
    }
  }
}

TEST_CASE("a trace file that does not open is an error with its name") {
  std::string error;
  CHECK(TraceFile::open("/nowhere/trace.json", error) == nullptr);
  CHECK(error.find("/nowhere/trace.json") != std::string::npos);
}
