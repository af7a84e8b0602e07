// The drawings are SVG in the page itself; what a dot or a bar means stands in its title.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/tools/cost/profile.hpp"
#include "host/tools/formats/html_text.hpp"
#include "host/tools/formats/log_axes.hpp"

namespace weft::tools {
namespace {

constexpr double kNameWidth = 110, kNameHeight = 14;  // room for a dot's name

constexpr const char* kStyle = R"css(
:root{--mxu:#2f6db5;--vpu:#c8811a;--dma:#3a9468;--idle:#c9d1d8}
@media(prefers-color-scheme:dark){:root{--mxu:#5b95dc;--vpu:#dda147;--dma:#58b586;--idle:#4a545d}}
svg{display:block;width:100%;height:auto}svg text{fill:var(--soft);font:12px system-ui,sans-serif}
.grid{stroke:var(--line)}.roof{stroke:var(--ink);fill:none;stroke-width:1.5}.low{stroke-dasharray:5 4}
.dot{stroke:var(--paper);stroke-width:1}.mxu{fill:var(--mxu)}.vpu{fill:var(--vpu)}.dma{fill:var(--dma)}.idle{fill:var(--idle)}
.bound{stroke:var(--ink);stroke-width:2}svg .name{fill:var(--ink)}
.key{display:inline-block;width:.8rem;height:.8rem;margin:0 .3rem 0 1rem}td:first-child,th:first-child{text-align:left}
)css";

double clock_of(const spec::Chip& chip) { return static_cast<double>(chip.clock_hz); }
double per_second(const spec::Chip& chip, uint64_t operations, uint64_t cycles) {
  return cycles == 0 ? 0 : static_cast<double>(operations) * clock_of(chip) / static_cast<double>(cycles);
}

const char* class_of(const char* engine) {
  switch (engine[0]) {
    case 'M':
      return "mxu";
    case 'V':
      return "vpu";
    case 'H':
      return "dma";
    default:
      return "idle";
  }
}

std::string layer_title(const spec::Chip& chip, const ProfiledLayer& layer) {
  const auto bound = bound_of(chip, layer.work);
  const uint64_t cycles = layer.measured.cycles();
  const auto intensity = intensity_of(layer.work);
  return html_escaped(fmt::format(
      "{}: {} operations/s, {} operations a byte, {} cycles, {:.1f} % of the bound ({:.0f} cycles, {}), padding {:.1f} "
      "%",
      layer.name, short_number(per_second(chip, operations_of(layer.work), cycles)),
      intensity ? short_number(*intensity) : "no HBM, so no", cycles, 100 * achieved_share(chip, layer.work, cycles),
      bound.cycles(), bound.engine(), 100 * padded_share(chip, layer.work.macs, layer.costs.mxu_cycles)));
}

constexpr LogAxes::Box kBox{70, 34, 940, 420};

class Roofline {
 public:
  Roofline(const spec::Chip& chip, const Profile& profile)
      : chip_(chip),
        profile_(profile),
        bandwidth_(static_cast<double>(chip.hbm_bytes_per_second)),
        mxu_(2 * static_cast<double>(chip.peak_macs_per_cycle) * clock_of(chip)),
        vpu_(chip.n * clock_of(chip)),
        axes_(axes()) {}

  std::string svg() {
    out_ = "<svg id=\"roofline\" viewBox=\"0 0 1000 470\" role=\"img\" aria-label=\"roofline\">\n";
    out_ += axes_.svg("operations a byte of HBM", "operations a second");
    roof(mxu_, "roof", "MXU");
    roof(vpu_, "roof low", "VPU");
    for (const auto& layer : profile_.layers) dot(layer);
    return out_ + "</svg>\n";
  }

 private:
  /// Room for both roofs and all dots.
  [[nodiscard]] LogAxes axes() const {
    LogAxes::Range x{vpu_ / bandwidth_, mxu_ / bandwidth_}, y{vpu_, mxu_};
    for (const auto& layer : profile_.layers) {
      x.add(intensity_of(layer.work).value_or(0));
      y.add(per_second(chip_, operations_of(layer.work), layer.measured.cycles()));
    }
    return {kBox, x, y};
  }
  [[nodiscard]] double x(double intensity) const { return axes_.x(intensity); }
  [[nodiscard]] double y(double rate) const { return axes_.y(rate); }

  /// HBM's slope up to an engine's peak.
  void roof(double peak, const char* style, const char* engine) {
    const double ridge = peak / bandwidth_, least = std::max(axes_.least_x(), axes_.least_y() / bandwidth_);
    out_ += fmt::format(
        "<polyline class=\"{}\" points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\"><title>{} at most {} "
        "operations/s, "
        "from {:.1f} operations a byte on</title></polyline><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>\n",
        style, x(least), y(least * bandwidth_), x(ridge), y(peak), kBox.right, y(peak), engine, short_number(peak),
        ridge, kBox.right - 4, y(peak) - 5, engine);
  }

  /// A layer that needs no HBM is a square at the right.
  void dot(const ProfiledLayer& layer) {
    const double rate = per_second(chip_, operations_of(layer.work), layer.measured.cycles());
    if (rate <= 0) return;
    const auto intensity = intensity_of(layer.work);
    const char* style = class_of(bound_of(chip_, layer.work).engine());
    const std::string title = layer_title(chip_, layer);
    const double right = kBox.right + 26, at = intensity ? x(*intensity) : right;
    if (intensity)
      out_ += fmt::format("<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\"><title>{}</title></circle>\n",
                          style, at, y(rate), title);
    else
      out_ += fmt::format(
          "<rect class=\"dot {}\" x=\"{}\" y=\"{:.1f}\" width=\"11\" height=\"11\"><title>{}</title></rect>\n", style,
          at - 5.5, y(rate) - 5.5, title);
    // A name that would lie on another one is left to the title.
    const bool free = std::ranges::none_of(named_, [&](const auto& other) {
      return std::abs(other.first - at) < kNameWidth && std::abs(other.second - y(rate)) < kNameHeight;
    });
    if (!free) return;
    named_.emplace_back(at, y(rate));
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", at - 9, y(rate) + 4,
                        html_escaped(layer.name));
  }

  const spec::Chip& chip_;
  const Profile& profile_;
  const double bandwidth_, mxu_, vpu_;
  const LogAxes axes_;
  std::vector<std::pair<double, double>> named_;
  std::string out_;
};

/// A bar per layer: cycles by engine, and where the bound is.
std::string bars(const spec::Chip& chip, const Profile& profile) {
  constexpr double kNames = 210, kBars = 760, kRow = 24;
  uint64_t most = 1;
  for (const auto& layer : profile.layers) most = std::max(most, layer.measured.cycles());
  const double scale = kBars / static_cast<double>(most);
  std::string out =
      fmt::format("<svg id=\"bars\" viewBox=\"0 0 1000 {}\" role=\"img\" aria-label=\"cycles of each layer\">\n",
                  kRow * static_cast<double>(profile.layers.size()) + 4);
  double top = 2;
  for (const auto& layer : profile.layers) {
    const auto& m = layer.measured;
    std::string name = layer.name;
    if (name.size() > 30) name = "..." + name.substr(name.size() - 27);
    out += fmt::format("<g class=\"layer\"><text class=\"name\" x=\"0\" y=\"{:.1f}\">{}</text>", top + 15,
                       html_escaped(name));
    double left = kNames;
    const std::pair<const char*, uint64_t> pieces[] = {
        {"MXU", m.by_engine[0]}, {"VPU", m.by_engine[1]}, {"DMA", m.by_engine[2]}, {"idle", m.idle}};
    constexpr const char* kClasses[] = {"mxu", "vpu", "dma", "idle"};
    for (size_t i = 0; i < std::size(pieces); i++) {
      const auto [what, cycles] = pieces[i];
      if (cycles == 0) continue;
      const double width = scale * static_cast<double>(cycles);
      out += fmt::format(
          "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\"><title>{}: {} {} cycles of "
          "{}</title></rect>",
          kClasses[i], left, top, width, kRow - 5, html_escaped(layer.name), what, cycles, m.cycles());
      left += width;
    }
    const double bound = bound_of(chip, layer.work).cycles();
    if (bound > 0 && bound <= static_cast<double>(most))
      out += fmt::format(
          "<line class=\"bound\" x1=\"{0:.2f}\" y1=\"{1:.1f}\" x2=\"{0:.2f}\" y2=\"{2:.1f}\"><title>{3}</title></line>",
          kNames + scale * bound, top - 1, top + kRow - 3, layer_title(chip, layer));
    out += "</g>\n";
    top += kRow;
  }
  return out + "</svg>\n";
}

std::string row(const spec::Chip& chip, const std::string& name, const LayerWork& work, const CommandCosts& costs,
                uint64_t cycles, const LayerCycles* measured) {
  const auto bound = bound_of(chip, work);
  const auto intensity = intensity_of(work);
  std::string out =
      fmt::format("<tr><td>{}</td><td>{}</td><td>{:.0f}</td><td>{}</td><td>{:.1f} %</td><td>{:.1f} %</td>",
                  html_escaped(name), cycles, bound.cycles(), bound.engine(), 100 * achieved_share(chip, work, cycles),
                  100 * padded_share(chip, work.macs, costs.mxu_cycles));
  out += fmt::format("<td>{}</td><td>{}</td><td>{}</td>", work.macs, work.hbm_bytes,
                     intensity ? short_number(*intensity) : "-");
  for (size_t e = 0; e < kEngines; e++)
    out += measured != nullptr ? fmt::format("<td>{}</td>", measured->busy[e]) : std::string("<td></td>");
  return out + "</tr>\n";
}

}  // namespace

std::string profile_page(const spec::Chip& chip, const Profile& profile) {
  const std::string title = html_escaped(fmt::format("{} on {}", profile.title, profile.chip));
  const auto work = profile.work();
  const auto bound = bound_of(chip, work);
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>{0}</title><style>{1}{2}</style></head><body>\n<h1>{0}</"
      "h1>\n",
      title, kPageStyle, kStyle);
  out += fmt::format(
      "<p class=\"soft\">{} core, {} device cycles ({:.1f} us at {:g} GHz). The chip needs {:.0f} cycles at least "
      "({}): {:.1f} "
      "% of the bound is reached. {} MACs, {} bytes of HBM without padding{}.</p>\n",
      html_escaped(profile.core), profile.device_cycles,
      1e6 * static_cast<double>(profile.device_cycles) / clock_of(chip), clock_of(chip) / 1e9, bound.cycles(),
      bound.engine(), 100 * achieved_share(chip, work, profile.device_cycles), work.macs, work.hbm_bytes,
      profile.islands == 0
          ? std::string()
          : fmt::format("; {} parts more ran on the host, {:.3f} s", profile.islands, profile.host_seconds));
  out += "<h2>Roofline</h2>\n" + Roofline(chip, profile).svg();
  out +=
      "<p class=\"soft\">A dot is a layer, in the colour of what binds it: <span class=\"key\" "
      "style=\"background:var(--mxu)\"></span>MXU"
      "<span class=\"key\" style=\"background:var(--vpu)\"></span>VPU<span class=\"key\" "
      "style=\"background:var(--dma)\"></span>HBM. "
      "Operations: two for a multiply-accumulate, one for an element's pass through the vector unit, of the model, "
      "without padding. "
      "A square at the right needs no HBM.</p>\n";
  out += "<h2>Where the cycles went</h2>\n" + bars(chip, profile);
  out +=
      "<p class=\"soft\"><span class=\"key\" style=\"background:var(--mxu)\"></span>MXU"
      "<span class=\"key\" style=\"background:var(--vpu)\"></span>VPU alone"
      "<span class=\"key\" style=\"background:var(--dma)\"></span>DMA alone"
      "<span class=\"key\" style=\"background:var(--idle)\"></span>idle. A cycle belongs to the layer that the MXU "
      "works on, "
      "else the VPU, else the DMA; an idle one to the layer that comes next. A layer without a bar is hidden behind "
      "others. "
      "The upright line is the layer's bound.</p>\n";
  out +=
      "<h2>Layers</h2>\n<table id=\"layers\"><tr><th>layer</th><th>cycles</th><th>bound</th><th>by</th><th>of the "
      "bound</th><th>padding</th><th>MACs</th><th>HBM bytes</th><th>operations a byte</th><th>MXU busy</th><th>VPU "
      "busy</th><th>DMA busy</th></tr>\n";
  for (const auto& layer : profile.layers)
    out += row(chip, layer.name, layer.work, layer.costs, layer.measured.cycles(), &layer.measured);
  out += row(chip, "sum", work, profile.costs(), profile.device_cycles, nullptr);
  return out + "</table>\n</body></html>\n";
}

}  // namespace weft::tools
