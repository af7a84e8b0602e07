/// Two logarithmic axes over whole decades, as SVG.
#pragma once
#include <string>

namespace weft::tools {

/// Digits that matter and a prefix: "1.5 T", "34 G", "12".
[[nodiscard]] std::string short_number(double value);

/// From values to places in a drawing; y grows upwards.
class LogAxes {
 public:
  struct Box {
    double left, top, right, bottom;
  };
  struct Range {
    double least, most;      ///< above 0
    void add(double value);  ///< left out if it is not above 0
  };

  LogAxes(Box box, Range x, Range y);

  [[nodiscard]] double x(double value) const;
  [[nodiscard]] double y(double value) const;
  [[nodiscard]] double least_x() const;
  [[nodiscard]] double least_y() const;
  [[nodiscard]] const Box& box() const { return box_; }

  /// Lines of class grid at each decade, numbers, and the names of both axes.
  [[nodiscard]] std::string svg(const std::string& x_name, const std::string& y_name) const;

 private:
  Box box_;
  double x0_, x1_, y0_, y1_;  ///< decades
};

}  // namespace weft::tools
