// A network on one chip, without running it.
#include "host/tools/run/one_chip.hpp"

#include <catch2/catch.hpp>

#include "host/compiler/ir/text.hpp"

using namespace weft;

namespace {

compiler::ir::Module product(const std::string& rows) {
  auto module = compiler::ir::parse(
      "%0 = parameter() {dims = [" + rows + ", 64], element = f32, name = \"x\"} : f32[" + rows +
      ", 64]\n%1 = parameter() {dims = [64, 64], element = f32, name = \"w\"} : f32[64, 64]\n"
      "%2 = dot_general(%0, %1) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]} : f32[" +
      rows + ", 64]\nreturn \"y\" = %2\n");
  if (!module.ok()) FAIL(module.error().message);
  return std::move(module.value());
}

}  // namespace

TEST_CASE("a network takes at least as long as its MXU, and its last rows as long as the first") {
  const auto& chip = *spec::find_chip("nano");
  const auto few = tools::cycles_of_one_chip(chip, product("64")),
             many = tools::cycles_of_one_chip(chip, product("640"));
  REQUIRE((few && many));
  CHECK(*few >= 64 * 64 * 64 / chip.peak_macs_per_cycle);
  CHECK(*few < 3 * 64 * 64 * 64 / chip.peak_macs_per_cycle);
  CHECK(*many > 5 * *few);
}

TEST_CASE("a sharding is said to be slower only if it is by more than the closed forms are off") {
  CHECK(tools::slower_than_one_chip(1190, 1000).empty());
  CHECK(tools::slower_than_one_chip(5000, {}).empty());
  CHECK(tools::slower_than_one_chip(1300, 1000) ==
        "about 1000 cycles: the barrier and what travels cost more than the chips save; larger batches gain more");
}
