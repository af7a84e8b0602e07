#include "model/ici/slice.hpp"

#include <catch2/catch.hpp>
#include <iostream>
#include <random>
#include <set>

using namespace weft::ici;

namespace {

Slice slice(const char* name) {
  const auto parsed = parse_slice(name);
  INFO(name);
  if (const auto* error = std::get_if<std::string>(&parsed)) FAIL(*error);
  return std::get<Slice>(parsed);
}

std::string error(const std::string& name) {
  const auto parsed = parse_slice(name);
  INFO(name);
  REQUIRE(std::holds_alternative<std::string>(parsed));
  return std::get<std::string>(parsed);
}

constexpr std::array<bool, 3> kNone{false, false, false}, kAll{true, true, true};

}  // namespace

TEST_CASE("axes wrap by the rule of their generation") {
  CHECK(slice("v5e-4x4").wrap() == kNone);
  CHECK(slice("v5e-8x16").wrap() == std::array<bool, 3>{false, true, false});
  CHECK(slice("v5e-16x16").wrap() == std::array<bool, 3>{true, true, false});
  CHECK(slice("v3-16x16").wrap() == kNone);
  CHECK(slice("v3-32x32").wrap() == std::array<bool, 3>{true, true, false});
  CHECK(slice("v4-4x4x4").wrap() == kAll);
  CHECK(slice("v4-2x2x4").wrap() == kNone);
  CHECK(slice("v5p-16x20x28").wrap() == kAll);
}

TEST_CASE("a number in a name counts cores or chips") {
  CHECK(slice("v3-32").name() == "v3-4x4");
  CHECK(slice("v2-8").name() == "v2-2x2");
  CHECK(slice("v4-8").name() == "v4-2x2x1");
  CHECK(slice("v5p-128").name() == "v5p-4x4x4");
  CHECK(slice("v5p-256").name() == "v5p-4x4x8");
  CHECK(slice("v5e-16").name() == "v5e-4x4");
  CHECK(slice("v5e-32").name() == "v5e-4x8");
  CHECK(slice("v6e-1").chips() == 1);
}

TEST_CASE("a name that was made of a slice gives the slice again") {
  for (const auto* name : {"v5e-4x4", "v5e-8x4", "v4-4x4x8_twisted", "v5p-8x4x4", "nano-2x2", "v2-16x16"})
    CHECK(slice(name).name() == name);
  CHECK(slice("v4-4x4x8_twisted").topology().twisted());
}

TEST_CASE("an impossible slice is refused with the rule that it breaks") {
  CHECK_THAT(error("v5e-32x4"), Catch::Contains("larger than the largest slice of v5e, 16x16"));
  CHECK_THAT(error("v4-4x4x6"), Catch::Contains("whole cubes of 4x4x4"));
  CHECK_THAT(error("v4-4x4x4_twisted"), Catch::Contains("k x k x 2k"));
  CHECK_THAT(error("v5e-4x8_twisted"), Catch::Contains("can be twisted"));
  CHECK_THAT(error("v7x-4x4"), Catch::Contains("no such generation; there are v2, v3"));
  CHECK_THAT(error("v5e-4x4x4"), Catch::Contains("has 2 axes, not 3"));
  CHECK_THAT(error("v4-24"), Catch::Contains("power of two"));
  CHECK_THAT(error("v5e"), Catch::Contains("needs a generation and a size"));
  CHECK_THAT(error("v5e-0x4"), Catch::Contains("neither axes"));
  CHECK_THAT(error("v5e-4x"), Catch::Contains("neither axes"));
  CHECK_THAT(error("v5e-99999999999x1"), Catch::Contains("neither axes"));
}

TEST_CASE("no text makes the parser fail otherwise than with a message") {
  const unsigned seed = 11;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const std::string letters = "v5ep46nano-x0123456789_twisted \0\xff";
  for (int i = 0; i < 20000; i++) {
    std::string name = i % 2 == 0 ? "v5e-4x4" : "";
    for (auto n = random() % 12; n > 0; n--)
      name.insert(random() % (name.size() + 1), 1, letters[random() % letters.size()]);
    const auto parsed = parse_slice(name);
    if (const auto* slice = std::get_if<Slice>(&parsed))
      REQUIRE(slice->chips() >= 1);
    else
      REQUIRE_FALSE(std::get<std::string>(parsed).empty());
  }
}

TEST_CASE("a slice of cubes knows the chips of each, and every chip is in one") {
  for (const auto* name : {"v4-4x4x4", "v4-4x4x8", "v5p-8x8x12", "v4-4x8x8_twisted"}) {
    const auto slice = std::get<Slice>(parse_slice(name));
    const auto topology = slice.topology();
    INFO(name);
    REQUIRE(slice.cubes() == slice.chips() / 64);
    std::set<uint32_t> chips;
    for (uint32_t cube = 0; cube < slice.cubes(); cube++) {
      const auto all = slice.chips_of_cube(cube);
      CHECK(all.size() == 64);
      chips.insert(all.begin(), all.end());
      for (const auto chip : all)
        for (unsigned axis = 0; axis < kAxes; axis++)
          CHECK(topology.coordinates(chip)[axis] / 4 == topology.coordinates(all.front())[axis] / 4);
    }
    CHECK(chips.size() == slice.chips());
  }
  for (const auto* name : {"v5e-4x4", "v4-2x2x4", "nano-2x2"}) CHECK(std::get<Slice>(parse_slice(name)).cubes() == 0);
}
