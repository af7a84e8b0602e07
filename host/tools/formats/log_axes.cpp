// Decades are whole, with a little room beyond what is drawn.
#include "host/tools/formats/log_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace weft::tools {
namespace {

constexpr double kRoom = 0.05;  // decades

}  // namespace

std::string short_number(double value) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P"};
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); unit++) value /= 1000;
  const bool exact = value >= 99.5 || value == std::floor(value);
  return fmt::format("{:.{}f}{}{}", value,
                     exact           ? 0
                     : value >= 9.95 ? 1
                                     : 2,
                     *kUnits[unit] != 0 ? " " : "", kUnits[unit]);
}

void LogAxes::Range::add(double value) {
  if (value <= 0) return;
  least = std::min(least, value), most = std::max(most, value);
}

LogAxes::LogAxes(Box box, Range x, Range y)
    : box_(box),
      x0_(std::floor(std::log10(x.least) - kRoom)),
      x1_(std::ceil(std::log10(x.most) + kRoom)),
      y0_(std::floor(std::log10(y.least) - kRoom)),
      y1_(std::ceil(std::log10(y.most) + kRoom)) {}

double LogAxes::x(double value) const {
  return box_.left + (std::log10(value) - x0_) / (x1_ - x0_) * (box_.right - box_.left);
}
double LogAxes::y(double value) const {
  return box_.bottom - (std::log10(value) - y0_) / (y1_ - y0_) * (box_.bottom - box_.top);
}
double LogAxes::least_x() const { return std::pow(10, x0_); }
double LogAxes::least_y() const { return std::pow(10, y0_); }

std::string LogAxes::svg(const std::string& x_name, const std::string& y_name) const {
  std::string out;
  for (int i = 0; x0_ + i <= x1_; i++) {
    const double d = x0_ + i;
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/><text x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4:g}</text>\n",
        x(std::pow(10, d)), box_.top, box_.bottom, box_.bottom + 18, std::pow(10, d));
  }
  for (int i = 0; y0_ + i <= y1_; i++) {
    const double d = y0_ + i;
    out += fmt::format(
        "<line class=\"grid\" x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" y2=\"{0:.1f}\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>\n",
        y(std::pow(10, d)), box_.left, box_.right, box_.left - 8, y(std::pow(10, d)) + 4,
        d < 0 ? fmt::format("{:g}", std::pow(10, d)) : short_number(std::pow(10, d)));
  }
  out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text><text x=\"{}\" y=\"{}\">{}</text>\n",
                     (box_.left + box_.right) / 2, box_.bottom + 40, x_name, 4, box_.top - 22, y_name);
  return out;
}

}  // namespace weft::tools
