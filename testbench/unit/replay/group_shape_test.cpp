#include "model/replay/group_shape.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "testbench/unit/replay/jobs.hpp"

using namespace weft::replay;
using weft::replay::test::slice_of;

namespace {

struct Found {
  std::array<unsigned, 3> size;
  std::array<bool, 3> wrap;
  std::vector<uint32_t> chips;
};

Found found(const char* slice, const std::vector<uint32_t>& chips) {
  const auto shape = shape_of(slice_of(slice).topology(), chips);
  Found out{{}, {}, shape.chips};
  for (unsigned axis = 0; axis < 3; axis++) {
    out.size[axis] = shape.topology.size(axis);
    out.wrap[axis] = shape.topology.wraps(axis);
  }
  return out;
}

void check(const Found& is, std::array<unsigned, 3> size, std::array<bool, 3> wrap) {
  CHECK(is.size == size);
  CHECK(is.wrap == wrap);
}

}  // namespace

TEST_CASE("boxes are found whatever the order of ranks, and close where their axis does") {
  check(found("v5e-4x4", {0, 1, 2, 3}), {4, 1, 1}, {});
  check(found("v5e-4x4", {13, 5, 1, 9}), {1, 4, 1}, {});
  check(found("v5e-4x4", {5, 6, 9, 10}), {2, 2, 1}, {});
  check(found("v5e-1x16", {0, 4, 8, 12}), {1, 4, 1}, {false, true, false});
  check(found("v5e-1x16", {0, 1, 2, 3}), {1, 4, 1}, {});
  check(found("v5e-1x16", {0, 3, 6, 9, 12, 15}), {1, 6, 1}, {});
  check(found("v4-4x4x4", {0, 16, 32, 48}), {1, 1, 4}, {false, false, true});
  check(found("v4-4x4x4", {0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50, 51}), {4, 1, 4},
        {true, false, true});
  CHECK(found("v5e-4x4", {10, 5, 9, 6}).chips == std::vector<uint32_t>{5, 6, 9, 10});
  check(found("v5e-4x4", {7}), {1, 1, 1}, {});
}

TEST_CASE("a whole slice is its own shape, twisted or not") {
  const auto topology = slice_of("v4-4x4x8_twisted").topology();
  std::vector<uint32_t> all;
  for (uint32_t chip = topology.chips(); chip-- > 0;) all.push_back(chip);
  const auto shape = shape_of(topology, all);
  CHECK(shape.whole_slice);
  CHECK(shape.topology.twisted());
  CHECK(std::ranges::is_sorted(shape.chips));
}

TEST_CASE("a row of a twisted torus is no ring where its wrap leads to another row") {
  check(found("v4-4x4x8_twisted", {0, 1, 2, 3}), {4, 1, 1}, {});
  check(found("v4-4x4x8_twisted", {0, 16, 32, 48, 64, 80, 96, 112}), {1, 1, 8}, {false, false, true});
}

TEST_CASE("chips that are no box are a line by rank, or a ring of neighbours") {
  check(found("v5e-4x4", {3, 9, 14}), {3, 1, 1}, {});
  CHECK(found("v5e-4x4", {9, 3, 14}).chips == std::vector<uint32_t>{9, 3, 14});
  check(found("v5e-4x4", {0, 1, 2, 6, 10, 9, 8, 4}), {8, 1, 1}, {true, false, false});
}
