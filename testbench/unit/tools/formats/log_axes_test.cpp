// Places on logarithmic axes, and numbers as they stand beside them.
#include "host/tools/formats/log_axes.hpp"

#include <catch2/catch.hpp>

using namespace weft::tools;

TEST_CASE("a decade has the same length everywhere, and y grows upwards") {
  const LogAxes axes({100, 20, 400, 320}, {2, 300}, {20, 3000});
  CHECK(axes.least_x() == Approx(1));
  CHECK(axes.least_y() == Approx(10));
  CHECK(axes.x(1) == Approx(100));
  CHECK(axes.x(10) == Approx(200));
  CHECK(axes.x(1000) == Approx(400));
  CHECK(axes.y(10) == Approx(320));
  CHECK(axes.y(10000) == Approx(20));
}

TEST_CASE("a range grows by what is above zero") {
  LogAxes::Range range{5, 6};
  range.add(0);
  range.add(-1);
  range.add(40);
  range.add(0.5);
  CHECK(range.least == 0.5);
  CHECK(range.most == 40);
}

TEST_CASE("numbers are short") {
  CHECK(short_number(0) == "0");
  CHECK(short_number(12) == "12");
  CHECK(short_number(3.456) == "3.46");
  CHECK(short_number(34567) == "34.6 k");
  CHECK(short_number(999.6) == "1.00 k");
  CHECK(short_number(1e12) == "1 T");
  CHECK(short_number(2.5e18) == "2500 P");
}
