// Where a collective's data travel beside work.
#include "host/compiler/sequence/hiding.hpp"

#include <catch2/catch.hpp>

using namespace weft::compiler;

TEST_CASE("a collective begins where the program works") {
  const auto found = hiding({{6400, 12'000}}, 12'800, {{100, 500}}, 600);
  CHECK(found.seen == 0);
  CHECK(found.delay + 100 >= 6400);
  CHECK(found.delay + 600 <= 12'000);
}

TEST_CASE("a collective begins at once beside work that never ends, and takes its time") {
  const auto found = hiding({{0, 12'800}}, 12'800, {{100, 500}, {100, 500}}, 600);
  CHECK(found.delay <= 12'800 * 3 / 16);  // the program may be as late
  CHECK(found.stretch == 4);
}

TEST_CASE("a collective that takes longer than the program begins at once") {
  const auto found = hiding({{0, 1000}}, 1000, {{0, 2000}}, 2000);
  CHECK(found.delay == 0);
  CHECK(found.stretch == 1);
  CHECK(found.seen >= 1000);
}

TEST_CASE("beside a program that does not work all is seen") {
  const auto found = hiding({}, 1000, {{0, 100}, {50, 150}}, 200);
  CHECK(found.delay == 0);
  CHECK(found.seen == 200);
}
