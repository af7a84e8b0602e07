// Two panels over the batch: samples a second, and microseconds.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "host/tools/cost/bench.hpp"
#include "host/tools/formats/html_text.hpp"
#include "host/tools/formats/log_axes.hpp"

namespace weft::tools {
namespace {

constexpr const char* kStyle =
    ":root{--ink:#1d2329;--soft:#5d6873;--line:#d9dfe4;--paper:#fff;--mark:#2f6db5}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#98a3ad;--line:#39424a;--paper:#14181c;--mark:#"
    "5b95dc}}"
    "svg{background:var(--paper)}text{fill:var(--soft);font:12px "
    "system-ui,sans-serif}.title{fill:var(--ink);font-size:16px}"
    ".grid{stroke:var(--line)}.bound{stroke:var(--ink);fill:none;stroke-dasharray:5 4}"
    ".measured{stroke:var(--mark);fill:none;stroke-width:2}circle{fill:var(--mark)}";

using Value = std::function<double(const BenchRow&, uint64_t cycles)>;

std::string panel(const std::vector<BenchRow>& rows, LogAxes::Box box, const char* id, const char* name,
                  const char* unit, const Value& value) {
  const auto& first = rows.front();
  LogAxes::Range x{static_cast<double>(first.batch), static_cast<double>(first.batch)};
  LogAxes::Range y{value(first, first.device_cycles), value(first, first.device_cycles)};
  for (const BenchRow& row : rows) {
    x.add(static_cast<double>(row.batch));
    y.add(value(row, row.device_cycles));
    y.add(value(row, row.bound_cycles));
  }
  const LogAxes axes(box, x, y);
  std::string measured, bound, dots;
  for (const BenchRow& row : rows) {
    const double at = axes.x(static_cast<double>(row.batch));
    const double reached = value(row, row.device_cycles);
    measured += fmt::format("{:.1f},{:.1f} ", at, axes.y(reached));
    if (row.bound_cycles != 0) bound += fmt::format("{:.1f},{:.1f} ", at, axes.y(value(row, row.bound_cycles)));
    dots += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"><title>batch {}: {} {}, {} cycles, bound {} "
        "({})</title></circle>\n",
        at, axes.y(reached), row.batch, short_number(reached), unit, row.device_cycles, row.bound_cycles, row.bound_by);
  }
  return fmt::format(
      "<g id=\"{}\">\n{}<polyline class=\"bound\" points=\"{}\"><title>bound</title></polyline>\n"
      "<polyline class=\"measured\" points=\"{}\"/>\n{}</g>\n",
      id, axes.svg("batch", name), bound, measured, dots);
}

}  // namespace

std::string bench_picture(const spec::Chip& chip, const Bench& bench) {
  std::vector<BenchRow> rows;
  for (const BenchRow& row : bench.rows)
    if (row.device_cycles != 0) rows.push_back(row);
  std::ranges::sort(rows, {}, &BenchRow::batch);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 460\" "
      "role=\"img\">\n<title>{0}</title><style>{1}</style>\n"
      "<text class=\"title\" x=\"4\" y=\"22\">{0}</text>\n",
      html_escaped(fmt::format("{} on {}", bench.model, bench.chip)), kStyle);
  if (!rows.empty()) {
    out +=
        panel(rows, {60, 84, 480, 400}, "throughput", "samples a second of device time; dashed: the bound", "samples/s",
              [&](const BenchRow& row, uint64_t cycles) { return throughput_of(chip, row.batch, cycles); });
    // The names of the right panel begin where it does.
    out += "<g transform=\"translate(500 0)\">" +
           panel(rows, {60, 84, 480, 400}, "latency", "microseconds of device time; dashed: the bound", "us",
                 [&](const BenchRow&, uint64_t cycles) {
                   return 1e6 * static_cast<double>(cycles) / static_cast<double>(chip.clock_hz);
                 }) +
           "</g>\n";
  }
  return out + "</svg>\n";
}

}  // namespace weft::tools
