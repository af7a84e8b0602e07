/// Device cycles of the RTL and of the fast core on the 20 shapes that the system test gates on, through the whole
/// stack.
///
///   cycle_compare [--json]
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "testbench/system/cycle_shapes.hpp"

namespace {

using namespace weft;

struct Cores {
  runtime::Session rtl, fast;
};

Result<Cores> open_cores(const char* chip) {
  runtime::Target target;
  target.chip = chip;
  auto rtl = runtime::Session::open(target);
  if (!rtl.ok()) return rtl.error();
  target.core = "fast";
  auto fast = runtime::Session::open(target);
  if (!fast.ok()) return fast.error();
  return Cores{std::move(rtl.value()), std::move(fast.value())};
}

int fail(const Error& error) {
  fmt::print(stderr, "cycle_compare: {}\n", error.message);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Device cycles of the RTL and of the fast core on 20 shapes."};
  bool json = false;
  app.add_flag("--json", json, "print JSON");
  CLI11_PARSE(app, argc, argv);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  double worst = 0;
  std::map<std::string, Cores> open;
  if (!json)
    fmt::print("{:<10} {:<6} {:>14} {:>10} {:>10} {:>9}\n", "chip", "type", "shape", "RTL", "fast", "deviation");
  for (const auto& [chip, shape] : test::kCycleShapes) {
    if (open.count(chip) == 0) {
      auto cores = open_cores(chip);
      if (!cores.ok()) return fail(cores.error());
      open.emplace(chip, std::move(cores.value()));
    }
    const auto product = test::make_product(shape, test::Values::kFinite, 1);
    const auto rtl = test::run_product(open.at(chip).rtl, product);
    if (!rtl.ok()) return fail(rtl.error());
    const auto fast = test::run_product(open.at(chip).fast, product);
    if (!fast.ok()) return fail(fast.error());
    const double deviation = test::cycle_deviation(rtl.value().cycles(), fast.value().cycles());
    worst = std::max(worst, deviation);
    const auto name = fmt::format("{}x{}x{}", shape.m, shape.k, shape.n);
    const char* type = shape.dtype == WEFT_MXU_DTYPE_INT8 ? "int8" : "bf16";
    rows.push_back({{"chip", chip},
                    {"type", type},
                    {"shape", name},
                    {"rtl_cycles", rtl.value().cycles()},
                    {"fast_cycles", fast.value().cycles()},
                    {"deviation", deviation}});
    if (!json)
      fmt::print("{:<10} {:<6} {:>14} {:>10} {:>10} {:>7.3f} %\n", chip, type, name, rtl.value().cycles(),
                 fast.value().cycles(), 100 * deviation);
  }
  if (json)
    fmt::print("{}\n", nlohmann::ordered_json{{"largest_deviation", worst}, {"shapes", rows}}.dump(2));
  else
    fmt::print("largest deviation {:.3f} %\n", 100 * worst);
  return 0;
}
