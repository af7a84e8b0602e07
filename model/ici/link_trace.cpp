#include "model/ici/link_trace.hpp"

#include <fmt/format.h>

namespace weft::ici {
namespace {

constexpr uint32_t kOutTrack = 100, kInTrack = 200;  // and the port; engines come before

}  // namespace

LinkTrace::LinkTrace(std::shared_ptr<TraceFile> file, const Topology& topology)
    : file_(std::move(file)), topology_(topology) {
  for (uint32_t chip = 0; chip < topology.chips(); chip++) {
    const auto at = topology.coordinates(chip);
    file_->name_process(chip, fmt::format("chip {} ({},{},{})", chip, at[0], at[1], at[2]));
    for (unsigned port = 0; port < kPorts; port++) {
      if (topology.neighbor(chip, port) == kNoChip) continue;
      file_->name_track(chip, kOutTrack + port, fmt::format("link {} out", port_name(port)));
      file_->name_track(chip, kInTrack + port, fmt::format("link {} in", port_name(port)));
    }
  }
}

void LinkTrace::hop(const Hop& hop) {
  constexpr auto* kSpan =
      R"({{"ph":"X","pid":{},"tid":{},"name":"{}","ts":{:.6f},"dur":{:.6f},"args":{{"packet":{},"payload_bytes":{}}}}})";
  constexpr auto* kArrow = R"({{"ph":"{}","pid":{},"tid":{},"id":{},"name":"packet","cat":"packet","ts":{:.6f}{}}})";
  const char* name = hop.traffic_class == 0 ? "data" : "control";
  const auto span = [&](uint32_t chip, uint32_t track, Femtoseconds from, Femtoseconds to) {
    const auto at = microseconds(from), length = microseconds(to - from);
    file_->event({at, length, chip, track},
                 fmt::format(kSpan, chip, track, name, at, length, hop.packet, hop.payload_bytes));
  };
  const auto arrow = [&](const char* phase, uint32_t chip, uint32_t track, Femtoseconds time, const char* more) {
    const auto at = microseconds(time);
    file_->event({at, TracePlace::kMark, chip, track, TracePlace::step_of(*phase)},
                 fmt::format(kArrow, phase, chip, track, hop.packet, at, more));
  };
  const uint32_t out = kOutTrack + hop.port;
  span(hop.chip, out, hop.from, hop.to);
  arrow(hop.first ? "s" : "t", hop.chip, out, hop.from, "");
  if (!hop.last) return;
  const uint32_t to = topology_.neighbor(hop.chip, hop.port), in = kInTrack + opposite(hop.port);
  span(to, in, hop.first_byte, hop.last_byte);
  arrow("f", to, in, hop.first_byte, R"(,"bp":"e")");
}

}  // namespace weft::ici
