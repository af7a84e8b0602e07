// Logic, shifts, unsigned numbers and their conversions as device programs.
#include "testbench/unit/compiler/partition/device_check.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::compiler::test_support;

namespace {

constexpr int64_t kMost = 4294967295;

/// Any words, and those at the ends of the range.
Numbers any_words(uint64_t seed, size_t count, bool is_signed) {
  const int64_t least = is_signed ? -2147483648 : 0;
  Numbers numbers = draw(seed, count, least, least + kMost);
  const Numbers ends{0, 1, 2147483647, is_signed ? -1.0 : 4294967295.0, is_signed ? -2147483648.0 : 2147483648.0};
  for (size_t i = 0; i < ends.size() && i < count; i++) numbers[(i * 7 + seed) % count] = ends[i];
  return numbers;
}

/// Why the device has not the last operator.
std::string reason(const std::string& text) {
  const auto module = ir::parse(text);
  if (!module.ok()) FAIL(module.error().message);
  return device_use(module.value(), module.value().ops().back()).reason;
}

}  // namespace

TEST_CASE("logic and shifts of words: of two tensors, of a tensor and a number, of a number and a tensor") {
  for (const char* type : {"i32", "u32"})
    for (const char* op : {"and", "or", "xor", "shift_left", "shift_right_logical", "shift_right_arithmetic"}) {
      const bool is_signed = type[0] == 'i', shifts = std::string(op).starts_with("shift");
      const Numbers a = any_words(1, 33, is_signed);
      const Numbers b = shifts ? draw(2, 33, 0, 40) : any_words(2, 33, is_signed);
      check(parameter(0, type, "[3, 11]") + parameter(1, type, "[3, 11]") +
                fmt::format("%2 = {0}(%0, %1) : {1}[3, 11]\n%3 = constant() [9] : {1}[]\n"
                            "%4 = broadcast_in_dim(%3) {{dimensions = [], dims = [3, 11]}} : {1}[3, 11]\n"
                            "%5 = {0}(%0, %4) : {1}[3, 11]\n%6 = {0}(%4, %1) : {1}[3, 11]\n"
                            "return \"x\" = %2\nreturn \"y\" = %5\nreturn \"z\" = %6\n",
                            op, type),
            {a, b});
    }
}

TEST_CASE("unsigned numbers: sums wrap, comparisons and extremes have no sign") {
  const std::string two = parameter(0, "u32", "[3, 11]") + parameter(1, "u32", "[3, 11]");
  const Numbers a = any_words(3, 33, false), b = any_words(4, 33, false);
  for (const char* op : {"add", "subtract", "multiply", "maximum", "minimum"})
    check(two + fmt::format("%2 = {0}(%0, %1) : u32[3, 11]\n%3 = constant() [3000000000] : u32[]\n"
                            "%4 = broadcast_in_dim(%3) {{dimensions = [], dims = [3, 11]}} : u32[3, 11]\n"
                            "%5 = {0}(%0, %4) : u32[3, 11]\n%6 = {0}(%4, %1) : u32[3, 11]\n"
                            "return \"x\" = %2\nreturn \"y\" = %5\nreturn \"z\" = %6\n",
                            op),
          {a, b});
  for (const char* direction : {"eq", "ne", "lt", "le", "gt", "ge"})
    check(two + fmt::format("%2 = compare(%0, %1) {{direction = {0}}} : pred[3, 11]\n"
                            "%3 = select(%2, %0, %1) : u32[3, 11]\n%4 = constant() [2147483648] : u32[]\n"
                            "%5 = broadcast_in_dim(%4) {{dimensions = [], dims = [3, 11]}} : u32[3, 11]\n"
                            "%6 = compare(%5, %1) {{direction = {0}}} : pred[3, 11]\n"
                            "return \"x\" = %2\nreturn \"y\" = %3\nreturn \"z\" = %6\n",
                            direction),
          {a, a});
  check(parameter(0, "u32", "[4, 9]") +
            "%1 = not(%0) : u32[4, 9]\n%2 = negate(%0) : u32[4, 9]\n"
            "%3 = reduce(%0) {dimensions = [1], kind = maximum} : u32[4]\n"
            "%4 = reduce(%0) {dimensions = [1], kind = minimum} : u32[4]\n"
            "%5 = reduce(%0) {dimensions = [0], kind = add} : u32[9]\n"
            "return \"v\" = %1\nreturn \"w\" = %2\nreturn \"x\" = %3\nreturn \"y\" = %4\nreturn \"z\" = %5\n",
        {any_words(5, 36, false)});
  check(parameter(0, "i32", "[4, 9]") + "%1 = not(%0) : i32[4, 9]\nreturn \"y\" = %1\n", {any_words(6, 36, true)});
}

TEST_CASE("conversions of u32 are rounded once to f32, and towards zero and into the range from there") {
  check(parameter(0, "u32", "[5, 40]") +
            "%1 = convert(%0) {element = f32} : f32[5, 40]\n%2 = convert(%0) {element = i32} : i32[5, 40]\n"
            "%3 = convert(%0) {element = pred} : pred[5, 40]\n%4 = convert(%2) {element = u32} : u32[5, 40]\n"
            "%5 = convert(%3) {element = u32} : u32[5, 40]\n"
            "return \"v\" = %1\nreturn \"w\" = %2\nreturn \"x\" = %3\nreturn \"y\" = %4\nreturn \"z\" = %5\n",
        {any_words(7, 200, false)});
  // Halves of the last place, on both sides of each power of two.
  Numbers ties;
  for (int bit = 24; bit < 32; bit++)
    for (const int64_t odd : {0, 1, 2, 3})
      for (const int64_t beside : {-1, 0, 1}) {
        const int64_t unit = int64_t{1} << (bit - 23);
        ties.push_back(static_cast<double>((int64_t{1} << bit) + odd * unit + unit / 2 + beside));
      }
  const auto count = ties.size();
  check(parameter(0, "u32", fmt::format("[{}]", count)) +
            fmt::format("%1 = convert(%0) {{element = f32}} : f32[{}]\nreturn \"y\" = %1\n", count),
        {ties});
  Numbers reals = draw(8, 60, 0, 4000, 1100000.37);
  const Numbers ends{-0.5, 0.5, -3, 2147483647, 2147483648, 2147483904, 4294967040, 4294967296, 1e20, -1e20, 0.999};
  std::copy(ends.begin(), ends.end(), reals.begin());
  reals[20] = std::numeric_limits<double>::infinity(), reals[21] = -reals[20];
  reals[22] = std::numeric_limits<double>::quiet_NaN();
  check(parameter(0, "f32", "[60]") + "%1 = convert(%0) {element = u32} : u32[60]\nreturn \"y\" = %1\n", {reals});
}

TEST_CASE("quotients and what is left are exact, of every size, by tensors and by numbers, and by 0") {
  for (const char* type : {"i32", "u32"}) {
    const bool is_signed = type[0] == 'i';
    Numbers x = any_words(12, 240, is_signed), y = any_words(13, 240, is_signed);
    for (size_t i = 0; i < y.size(); i++) {
      if (i % 3 == 1) y[i] = std::trunc(y[i] / std::exp2(static_cast<double>(i % 32)));
      if (i % 16 == 3) y[i] = 0;
      if (i % 16 == 7) y[i] = 1;
      if (i % 16 == 11 && is_signed) y[i] = -1;
      if (i % 8 == 5) x[i] = std::min(std::trunc(x[i] / 70000) * y[i], is_signed ? 2147483647.0 : 4294967295.0);
      if (is_signed && x[i] < -2147483648.0) x[i] = -2147483648.0;
    }
    x[11] = is_signed ? -2147483648.0 : 4294967295.0;
    const std::string two = parameter(0, type, "[12, 20]") + parameter(1, type, "[12, 20]");
    for (const char* op : {"divide", "remainder"}) {
      check(two + fmt::format("%2 = {0}(%0, %1) : {1}[12, 20]\nreturn \"y\" = %2\n", op, type), {x, y});
      for (const int64_t number :
           {int64_t{1}, int64_t{3}, int64_t{10}, int64_t{65536}, int64_t{2147483647}, is_signed ? -7 : kMost})
        check(two + fmt::format("%2 = constant() [{2}] : {1}[]\n"
                                "%3 = broadcast_in_dim(%2) {{dimensions = [], dims = [12, 20]}} : {1}[12, 20]\n"
                                "%4 = {0}(%0, %3) : {1}[12, 20]\n%5 = {0}(%3, %1) : {1}[12, 20]\n"
                                "return \"y\" = %4\nreturn \"z\" = %5\n",
                                op, type, number),
              {x, y});
    }
  }
  CHECK(reason(parameter(0, "f32", "[7]") + parameter(1, "f32", "[7]") + "%2 = remainder(%0, %1) : f32[7]\n") ==
        "no command for remainder");
}

TEST_CASE("bits of a type are read as those of another one without a command") {
  check(parameter(0, "u32", "[6, 20]") + parameter(1, "f32", "[6, 20]") +
            "%2 = constant() [9] : u32[]\n"
            "%3 = broadcast_in_dim(%2) {dimensions = [], dims = [6, 20]} : u32[6, 20]\n"
            "%4 = shift_right_logical(%0, %3) : u32[6, 20]\n%5 = constant() [1065353216] : u32[]\n"
            "%6 = broadcast_in_dim(%5) {dimensions = [], dims = [6, 20]} : u32[6, 20]\n"
            "%7 = or(%4, %6) : u32[6, 20]\n%8 = bitcast_convert(%7) {element = f32} : f32[6, 20]\n"
            "%9 = subtract(%8, %1) : f32[6, 20]\n%10 = bitcast_convert(%1) {element = i32} : i32[6, 20]\n"
            "%11 = bitcast_convert(%10) {element = u32} : u32[6, 20]\n%12 = not(%11) : u32[6, 20]\n"
            "return \"v\" = %8\nreturn \"w\" = %9\nreturn \"x\" = %10\nreturn \"y\" = %11\nreturn \"z\" = %12\n",
        {any_words(9, 120, false), draw(10, 120, -9000, 9000, 0.01)});
  // Rows of a sum, whose columns are equal.
  check(parameter(0, "f32", "[5, 19]") +
            "%1 = reduce(%0) {dimensions = [1], kind = maximum} : f32[5]\n"
            "%2 = bitcast_convert(%1) {element = u32} : u32[5]\n"
            "%3 = broadcast_in_dim(%2) {dimensions = [0], dims = [5, 19]} : u32[5, 19]\n"
            "%4 = bitcast_convert(%0) {element = u32} : u32[5, 19]\n%5 = xor(%4, %3) : u32[5, 19]\n"
            "return \"y\" = %2\nreturn \"z\" = %5\n",
        {draw(11, 95, -900, 900, 0.25)});
}

TEST_CASE("what a device program does not have of words is refused by name") {
  const std::string words = parameter(0, "u32", "[4, 9]");
  for (const char* kind : {"and", "or"})
    CHECK(reason(words + fmt::format("%1 = reduce(%0) {{dimensions = [1], kind = {}}} : u32[4]\n", kind)) ==
          fmt::format("reduce by {} of integers", kind));
  CHECK(reason(words + "%1 = popcnt(%0) : u32[4, 9]\n") == "no command for popcnt");
  CHECK(reason(words + "%1 = bitcast_convert(%0) {element = u8} : u8[4, 9, 4]\n") == "bitcast_convert to u8[4, 9, 4]");
  CHECK(reason(parameter(0, "u8", "[7]") + parameter(1, "u8", "[7]") + "%2 = xor(%0, %1) : u8[7]\n") == "xor to u8[7]");
}
