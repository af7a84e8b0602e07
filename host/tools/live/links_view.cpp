// Use, the table, JSON.
#include "host/tools/live/links_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/runtime/fault_schedule.hpp"
#include "host/tools/formats/text_table.hpp"
#include "host/tools/live/smi_view.hpp"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}
std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string shape_text(const LinksSnapshot& links) {
  std::string shape, rings;
  for (size_t axis = 0; axis < 3; axis++) {
    shape += fmt::format("{}{}", axis == 0 ? "" : "x", links.size[axis]);
    if (links.wraps[axis]) rings += fmt::format("{}{}", rings.empty() ? ", rings along " : " ", "xyz"[axis]);
  }
  return shape + rings + (links.twisted ? ", twisted" : "");
}

/// "1 down: 0 +x to 1 (and back)"; each link once.
std::string trouble_text(const LinksSnapshot& links) {
  std::string out;
  for (const LinkSnapshot& link : links.links)
    if (link.neighbor && link.state != "up" && (link.chip < *link.neighbor || link.port % 2 == 0))
      out += fmt::format("{}{} to {} is {}", out.empty() ? "" : "; ", link_name(link.chip, link.port), *link.neighbor,
                         link.state);
  return out.empty() ? "all links are up" : out;
}

}  // namespace

LinkUse link_use(const LinksSnapshot& before, const LinksSnapshot& after, size_t link) {
  const LinkSnapshot& now = after.links[link];
  LinkUse use{share(now.busy_cycles, after.cycle), std::nullopt};
  if (before.pid != after.pid || before.links.size() != after.links.size() || before.cycle >= after.cycle) return use;
  const LinkSnapshot& then = before.links[link];
  use.now = share(now.busy_cycles - std::min(now.busy_cycles, then.busy_cycles), after.cycle - before.cycle);
  return use;
}

std::string links_text(const LinksSnapshot& before, const LinksSnapshot& after) {
  using Align = TextTable::Align;
  std::string out =
      fmt::format("{}: {} {}, {} chips, {} a link and way{}, device cycle {}\n", after.place, after.preset,
                  shape_text(after), after.chips, rate_text(static_cast<double>(after.link_bytes_per_second)),
                  after.pid == 0 ? "" : fmt::format(", weft-sim {}", after.pid), after.cycle);
  TextTable table({{"chip", Align::kRight},
                   {"port", Align::kLeft},
                   {"to", Align::kRight},
                   {"state", Align::kLeft},
                   {"downs", Align::kRight},
                   {"packets", Align::kRight},
                   {"on the wire", Align::kRight},
                   {"in use", Align::kRight},
                   {"now", Align::kRight},
                   {"frame errors", Align::kRight},
                   {"lost to replays", Align::kRight}});
  for (size_t i = 0; i < after.links.size(); i++) {
    const LinkSnapshot& link = after.links[i];
    if (!link.neighbor) continue;
    const LinkUse use = link_use(before, after, i);
    const double us =
        after.clock_hz == 0 ? 0 : 1e6 * static_cast<double>(link.replay_cycles) / static_cast<double>(after.clock_hz);
    table.add({std::to_string(link.chip), link_name(link.chip, link.port).substr(std::to_string(link.chip).size() + 1),
               std::to_string(*link.neighbor), link.state, std::to_string(link.downs), std::to_string(link.packets),
               bytes_text(link.wire_bytes), percent(use.ever), use.now ? percent(*use.now) : "-",
               std::to_string(link.frame_errors), fmt::format("{:.1f} us", us)});
  }
  return out + table.text("  ") + "  " + trouble_text(after) + "\n";
}

std::string links_json(const LinksSnapshot& before, const LinksSnapshot& after, int indent) {
  Json out = {{"place", after.place},
              {"preset", after.preset},
              {"chips", after.chips},
              {"size", after.size},
              {"wraps", after.wraps},
              {"twisted", after.twisted},
              {"link_bytes_per_second", after.link_bytes_per_second},
              {"clock_hz", after.clock_hz},
              {"cycle", after.cycle},
              {"links", Json::array()}};
  for (size_t i = 0; i < after.links.size(); i++) {
    const LinkSnapshot& link = after.links[i];
    const LinkUse use = link_use(before, after, i);
    out["links"].push_back({{"chip", link.chip},
                            {"port", link.port < runtime::kPortNames.size() ? runtime::kPortNames[link.port] : "?"},
                            {"neighbor", link.neighbor ? Json(*link.neighbor) : Json()},
                            {"state", link.state},
                            {"downs", link.downs},
                            {"packets", link.packets},
                            {"payload_bytes", link.payload_bytes},
                            {"wire_bytes", link.wire_bytes},
                            {"frame_errors", link.frame_errors},
                            {"busy_cycles", link.busy_cycles},
                            {"replay_cycles", link.replay_cycles},
                            {"use", use.ever},
                            {"use_now", use.now ? Json(*use.now) : Json()}});
  }
  return out.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft::tools
