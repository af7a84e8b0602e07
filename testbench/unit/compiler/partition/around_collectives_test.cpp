// Operators by the collectives before and behind them.
#include "host/compiler/partition/around_collectives.hpp"

#include <catch2/catch.hpp>

#include "host/compiler/ir/text.hpp"

using namespace weft::compiler;

namespace {

ir::Module parsed(const std::string& text) {
  auto module = ir::parse(text);
  if (!module.ok()) FAIL(module.error().message);
  return std::move(module.value());
}

const std::string kSum =
    "{combine = \"add\", group_size = 2, groups = [0, 1], kind = \"all_reduce\", together = 1} : f32[16]\n";

/// Two values, each through abs, a collective and negate; their sum.
ir::Module two_ways() {
  const auto parameter = [](const std::string& name) {
    return "parameter() {dims = [16], element = f32, name = \"" + name + "\"} : f32[16]\n";
  };
  return parsed(
      "%0 = " + parameter("x") + "%1 = " + parameter("y") +
      "%2 = abs(%0) : f32[16]\n%3 = abs(%1) : f32[16]\n%4 = collective(%2) " + kSum + "%5 = collective(%3) " + kSum +
      "%6 = negate(%4) : f32[16]\n%7 = negate(%5) : f32[16]\n%8 = add(%6, %7) : f32[16]\nreturn \"s\" = %8\n");
}

const auto all = [](uint32_t) { return true; };
const auto none = [](uint32_t) { return false; };

}  // namespace

TEST_CASE("operators before different collectives are groups of their own, and so are those behind them") {
  const auto module = two_ways();
  const AroundCollectives around(module, {4, 5});
  CHECK(around.groups({2, 3}, all, none) == std::vector<std::vector<uint32_t>>{{2}, {3}});
  CHECK(around.groups({6, 7, 8}, all, none) == std::vector<std::vector<uint32_t>>{{6}, {7}, {8}});
  // with one of them left out, what is around the other one alone is told apart
  const AroundCollectives first(module, {4});
  CHECK(first.groups({2, 3}, all, none) == std::vector<std::vector<uint32_t>>{{2}, {3}});
  CHECK(first.groups({3, 7}, all, none) == std::vector<std::vector<uint32_t>>{{3, 7}});
}

TEST_CASE("a group comes behind those that it reads, whatever the numbers of its operators") {
  // %4 is read by %6 of the group before the collective; %3 is before nothing
  const auto module = parsed(
      "%0 = parameter() {dims = [16], element = f32, name = \"x\"} : f32[16]\n"
      "%1 = parameter() {dims = [16], element = f32, name = \"y\"} : f32[16]\n"
      "%2 = abs(%1) : f32[16]\n%3 = abs(%0) : f32[16]\n%4 = negate(%3) : f32[16]\n%5 = collective(%4) " +
      kSum + "%6 = add(%2, %3) : f32[16]\nreturn \"a\" = %5\nreturn \"b\" = %6\n");
  const AroundCollectives around(module, {5});
  CHECK(around.groups({2, 3, 4, 6}, all, none) == std::vector<std::vector<uint32_t>>{{3, 4}, {2, 6}});
}

TEST_CASE("a group that is worth no program joins the one that alone reads it") {
  const auto module = two_ways();
  const AroundCollectives around(module, {4, 5});
  const auto last = [](uint32_t op) { return op == 8; };
  CHECK(around.groups({6, 7, 8}, last, none) == std::vector<std::vector<uint32_t>>{{6, 7, 8}});
  const auto one = [](uint32_t op) { return op == 8 || op == 7; };
  CHECK(around.groups({6, 7, 8}, one, none) == std::vector<std::vector<uint32_t>>{{7}, {6, 8}});
  CHECK(around.groups({2, 3}, last, none) == std::vector<std::vector<uint32_t>>{{2}, {3}});  // collectives read them
}

TEST_CASE("what only moves elements is with its reader, unless that is a collective") {
  const auto module = two_ways();
  const AroundCollectives around(module, {4, 5});
  const auto moves = [](uint32_t op) { return op == 2 || op == 6; };
  CHECK(around.groups({6, 7, 8}, all, moves) == std::vector<std::vector<uint32_t>>{{7}, {6, 8}});
  CHECK(around.groups({2, 3}, all, moves) == std::vector<std::vector<uint32_t>>{{2}, {3}});
}

TEST_CASE("without collectives there is nothing around") {
  CHECK(AroundCollectives(two_ways(), {}).empty());
  CHECK_FALSE(AroundCollectives(two_ways(), {4}).empty());
}
